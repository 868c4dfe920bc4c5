"""What a write of very many cells or rows has made is freed in parts, when it is written: to free 200,000 cells at the
end of the call keeps everybody waiting for 20 ms."""

from collections.abc import Sequence
from typing import Any

import pytest

from hbtable.errors import NoSuchFamily
from hbtable.hbase.calls.writes import WriteCalls
from hbtable.hbase.codec.thrift2_structs import TColumn, TColumnValue, TDelete, TGet, TMutation, TPut, TRowMutations
from hbtable.hbase.thrift2.reads import Thrift2ReadCalls
from hbtable.hbase.thrift2.writes import Thrift2WriteCalls
from hbtable.model.mutation import RowMutation
from hbtable.runtime.slices import FREED_AT_ONCE, let_go_inside

MANY = 3 * FREED_AT_ONCE


class _Table:
    """Takes all writes, or refuses them, and remembers the lists that they were in."""

    def __init__(self, refuses: bool) -> None:
        self.refuses = refuses
        self.operations: list[Any] = []
        self.sizes: list[int] = []
        self.found: list[Any] = []

    def named(self, _: bytes | None) -> "_Table":
        return self

    def canonical(self, name: bytes) -> bytes:
        return name

    def check_mutations(self, table: bytes, mutations: Sequence[RowMutation]) -> None: ...

    def mutate(self, mutations: Sequence[RowMutation]) -> None:
        self.operations += [mutation.operations for mutation in mutations]
        self.sizes += [len(mutation.operations) for mutation in mutations]
        if self.refuses:
            raise NoSuchFamily("f")

    def check_and_mutate(self, row: bytes, f: bytes, q: bytes, value: bytes | None, mutation: RowMutation) -> bool:
        self.mutate((mutation,))
        return True

    def mutate_if(self, row: bytes, spec: object, operator: str, value: bytes | None, mutation: RowMutation) -> bool:
        self.mutate((mutation,))
        return True

    def check_existence(self, table: bytes, columns: object) -> None: ...

    def read_rows(self, rows: Sequence[bytes], spec: object) -> list[tuple[bytes, list[Any]]]:
        self.found = [(b"f:%d" % number, 1, b"v") for number in range(MANY)]
        return [(rows[0], self.found)]


def _carried_out(table: _Table, call: Any, *arguments: Any) -> None:
    if table.refuses:
        with pytest.raises(NoSuchFamily):
            call(*arguments)
    else:
        call(*arguments)


REFUSED_OR_NOT = pytest.mark.parametrize("refused", [False, True])


@REFUSED_OR_NOT
@pytest.mark.parametrize("method", ["mutateRow", "mutateRows", "put"])
def test_the_cells_of_one_row(method: str, refused: bool) -> None:
    table: Any = _Table(refused)
    pauses: list[None] = []

    def pause() -> None:
        pauses.append(None)

    first = WriteCalls(table, lambda name: [b"f"], 1 << 20, pause)
    second = Thrift2WriteCalls(table, lambda name: [b"f"], 1 << 20, 1 << 20, pause)
    cells: list[Any] = [(False, b"f:%d" % number, b"v", True) for number in range(MANY)]
    if method == "mutateRow":
        _carried_out(table, first.mutateRow, b"t", b"row", cells, None)
    elif method == "mutateRows":
        small = [(b"row%d" % number, [(False, b"f:q", b"v", True)]) for number in range(10)]
        _carried_out(table, first.mutateRows, b"t", [*small, (b"row", cells)], None)
    else:
        cells = [TColumnValue(b"f", b"%d" % number, b"v") for number in range(MANY)]
        _carried_out(table, second.put, b"t", TPut(b"row", cells))
    assert table.sizes[-1] == MANY  # when it was written all was there
    assert len(cells) <= FREED_AT_ONCE
    assert len(table.operations[-1]) <= FREED_AT_ONCE
    assert pauses


@REFUSED_OR_NOT
@pytest.mark.parametrize(
    "method",
    ["mutateRow", "deleteSingle", "checkAndPut", "checkAndDelete", "checkAndMutate", "checkAndMutate by order"],
)
def test_the_cells_of_one_row_of_thrift2(method: str, refused: bool) -> None:
    table: Any = _Table(refused)
    pauses: list[None] = []
    calls = Thrift2WriteCalls(table, lambda name: [b"f"], 1 << 20, 1 << 20, lambda: pauses.append(None))
    put = TPut(b"row", [TColumnValue(b"f", b"%d" % number, b"v") for number in range(MANY)])
    delete = TDelete(b"row", [TColumn(b"f", b"%d" % number) for number in range(MANY)])
    both = TRowMutations(b"row", [TMutation(put), TMutation(None, TDelete(b"row", [TColumn(b"f", b"more")]))])
    column = b"t", b"row", b"f", b"q"
    match method:
        case "mutateRow":
            _carried_out(table, calls.mutateRow, b"t", both)
        case "deleteSingle":
            _carried_out(table, calls.deleteSingle, b"t", delete)
        case "checkAndPut":
            _carried_out(table, calls.checkAndPut, *column, b"v", put)
        case "checkAndDelete":
            _carried_out(table, calls.checkAndDelete, *column, b"v", delete)
        case _:
            less, equal = 0, 2
            operator = less if method.endswith("order") else equal
            _carried_out(table, calls.checkAndMutate, *column, operator, b"a", both)
    assert table.sizes[-1] >= MANY
    assert len(table.operations[-1]) <= FREED_AT_ONCE
    assert pauses


@pytest.mark.parametrize("method", ["get", "getMultiple", "exists", "existsAll", "get of existence"])
def test_the_cells_of_a_row_that_was_read(method: str) -> None:
    table: Any = _Table(False)
    pauses: list[int] = []
    calls = Thrift2ReadCalls(table, 64 << 20, lambda: pauses.append(len(table.found)))
    get = TGet(b"row", existence_only=method == "get of existence" or None)
    asked = [get] if method in ("getMultiple", "existsAll") else get
    answer: Any = getattr(calls, method.partition(" ")[0])(b"t", asked)
    answer = answer[0] if isinstance(answer, list) else answer
    if method.startswith("exists"):
        assert answer is True
    else:
        assert len(answer.column_values) == (0 if get.existence_only else MANY)
    assert len(table.found) <= FREED_AT_ONCE
    assert len(pauses) >= MANY // FREED_AT_ONCE - 1


@REFUSED_OR_NOT
@pytest.mark.parametrize("method", ["putMultiple", "deleteMultiple"])
def test_the_rows_of_one_call(method: str, refused: bool) -> None:
    table: Any = _Table(refused)
    calls = Thrift2WriteCalls(table, lambda name: [b"f"], 1 << 20, 1 << 20, lambda: None)
    rows: list[Any] = [TPut(b"%d" % number, [TColumnValue(b"f", b"q", b"v")]) for number in range(MANY)]
    if method == "deleteMultiple":
        rows = [TDelete(b"%d" % number) for number in range(MANY)]
    _carried_out(table, getattr(calls, method), b"t", rows)
    assert len(table.sizes) >= MANY
    assert len(rows) <= FREED_AT_ONCE


@pytest.mark.parametrize("inner", [1, 50, MANY])
def test_what_a_request_holds_at_any_depth(inner: int) -> None:
    pauses: list[None] = []
    kept_columns: list[TColumn] = [TColumn(b"f")] * MANY
    kept = TGet(b"row", [TColumn(b"f", b"q")] * 3)
    columns = [[TColumn(b"f", b"%d" % number) for number in range(inner)] for _ in range(MANY // inner)]
    values: list[Any] = [
        b"t",
        [TDelete(b"row", columns.pop()) for _ in range(len(columns))],
        {b"%d" % number: b"" for number in range(MANY)},
        [TGet(b"row", kept_columns), kept],
    ]
    inside = values[1][0].columns
    let_go_inside(values, lambda: pauses.append(None))
    assert values == [b"t", [], {}, []]
    assert len(pauses) >= 3
    assert len(inside) == inner  # somebody has it: this test
    assert (len(kept_columns), kept) == (MANY, TGet(b"row", [TColumn(b"f", b"q")] * 3))


def test_a_request_of_one_long_list_is_not_looked_through_in_one_stretch() -> None:
    looked: list[int] = []

    class Looked(list[Any]):
        """Notes how many of its elements were looked at between two pauses."""

        def __getitem__(self, place: Any) -> Any:
            if isinstance(place, int):
                looked[-1] += 1
            return super().__getitem__(place)

    looked.append(0)
    let_go_inside(Looked([b"row"] * (10 * FREED_AT_ONCE)), lambda: looked.append(0))
    assert sum(looked) >= 10 * FREED_AT_ONCE
    assert max(looked) <= 2 * FREED_AT_ONCE
