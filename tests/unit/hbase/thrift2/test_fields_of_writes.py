"""Each field of a write of Thrift2 is obeyed or refused; those that are passed over are listed here, with reasons."""

from collections.abc import Callable
from typing import Any

import pytest

from hbtable.errors import UnknownCall, UnsupportedFormat
from hbtable.hbase.codec.thrift2_structs import (
    TCellVisibility,
    TColumn,
    TColumnIncrement,
    TColumnValue,
    TDelete,
    Thrift2Append,
    Thrift2Increment,
    TMutation,
    TPut,
    TRowMutations,
)
from hbtable.hbase.errors import JavaError
from hbtable.hbase.thrift2.writes import Thrift2WriteCalls
from hbtable.model.additions import INCREMENT, counter_bytes
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import ReadSpec


class Recording:
    """A table that writes down what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def named(self, name: bytes) -> "Recording":
        return self

    def canonical(self, name: bytes) -> bytes:
        return name

    def check_counters(self, name: bytes, columns: Any) -> None:
        self.asked.append("checked")

    def mutate(self, mutations: Any) -> None:
        self.asked += [_parts(one) for one in mutations]

    def check_and_mutate(self, *asked: Any) -> bool:
        self.asked.append((*asked[:-1], _parts(asked[-1])))
        return True

    def mutate_if(self, *asked: Any) -> bool:
        return self.check_and_mutate(*asked)

    def append(self, *asked: Any) -> list[Any]:
        self.asked.append(asked)
        return [(family + b":" + qualifier, 1, value) for family, qualifier, value in asked[1]]

    def add_to_columns(self, mutation: RowMutation) -> list[Any]:
        self.asked.append(_parts(mutation))
        return [(family + b":" + qualifier, 1, value) for _, family, qualifier, _, value in mutation.operations]

    def increment(self, *asked: Any) -> int:
        self.asked.append(asked)
        return 1

    def read_rows(self, rows: Any, spec: Any) -> list[Any]:
        return []


def _parts(it: RowMutation) -> Any:
    return it.row, list(it.operations), it.skip_log, it.ttl_millis


def done(call: Callable[[Any], Any]) -> Any:
    """What the table was asked for, and the answer; or the refusal."""
    tables: Any = Recording()
    calls = Thrift2WriteCalls(tables, lambda name: [b"f"], 1 << 20, 1 << 20, lambda: None)
    try:
        answer = call(calls)
    except JavaError as error:
        assert not tables.asked
        return str(error)
    return tables.asked, answer


CELL = TColumnValue(b"f", b"q", b"v")
COLUMN = TColumn(b"f", b"q")
TTL = {b"_ttl": (60_000).to_bytes(8, "big")}
OTHERWISE: dict[str, Any] = {
    "timestamp": 7,
    "attributes": TTL,
    "durability": 1,
    "cell_visibility": TCellVisibility("secret"),
    "return_results": False,
    "delete_type": 0,
    "columns": [COLUMN],
}
WRITES: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
    "put": (TPut(b"r", [CELL]), lambda calls, it: calls.put(b"t", it)),
    "delete": (TDelete(b"r", [COLUMN]), lambda calls, it: calls.deleteSingle(b"t", it)),
    "increment": (
        Thrift2Increment(b"r", [TColumnIncrement(b"f", b"q", 1)]),
        lambda calls, it: calls.increment(b"t", it),
    ),
    "append": (Thrift2Append(b"r", [CELL]), lambda calls, it: calls.append(b"t", it)),
    "mutateRow": (
        TPut(b"r", [CELL]),
        lambda calls, it: calls.mutateRow(b"t", TRowMutations(b"r", [TMutation(it, None)])),
    ),
    "checkAndMutate": (
        TPut(b"r", [CELL]),
        lambda calls, it: calls.checkAndMutate(
            b"t", b"r", b"f", b"q", 2, b"x", TRowMutations(b"r", [TMutation(it, None)])
        ),
    ),
}
PASSED_OVER = {
    ("delete", "attributes"): "a marker does not expire (docs/deviations.md)",
    ("delete", "timestamp"): "as HBase: columns that are named have times of their own",
    ("increment", "durability"): "it is written to the log all the same",
    ("append", "durability"): "it is written to the log all the same",
}


@pytest.mark.parametrize(
    ("name", "field"),
    [(name, field) for name, (given, _) in WRITES.items() for field in given._fields if getattr(given, field) is None],
)
def test_each_field_is_obeyed_or_refused(name: str, field: str) -> None:
    given, call = WRITES[name]
    changed = given._replace(**{field: OTHERWISE[field]})
    same = done(lambda calls: call(calls, given)) == done(lambda calls: call(calls, changed))
    assert same is ((name, field) in PASSED_OVER)


def counters(*columns: tuple[bytes, int]) -> Thrift2Increment:
    return Thrift2Increment(b"r", [TColumnIncrement(b"f", qualifier, amount) for qualifier, amount in columns])


def test_several_counters_are_one_change_of_the_row() -> None:
    (asked,), answer = done(lambda calls: calls.increment(b"t", counters((b"b", 2), (b"a", -1))))
    amounts = ((b"b", 2), (b"a", -1))
    operations = [(INCREMENT, b"f", name, SERVER_TIME, counter_bytes(amount)) for name, amount in amounts]
    assert asked == (b"r", operations, False, 0)
    assert [(one.qualifier, one.value) for one in answer.column_values] == [
        (b"a", counter_bytes(-1)),
        (b"b", counter_bytes(2)),
    ]


@pytest.mark.parametrize("columns", [[(b"q", 5)], [(b"q", -(2**63)), (b"q", 2**63 - 1), (b"q", 1)]])
def test_a_single_counter_goes_the_short_way(columns: list[tuple[bytes, int]]) -> None:
    """Named several times, each amount is added to the old value; beyond 64 bits it goes on at the other end."""
    asked, answer = done(lambda calls: calls.increment(b"t", counters(*columns)))
    assert asked == [(b"r", b"f", b"q", columns[-1][1])]
    old = 1 - columns[-1][1]
    assert [one.value for one in answer.column_values] == [counter_bytes(old + amount) for _, amount in columns]


def test_a_tablet_server_that_does_not_know_the_call_adds_to_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(table: Recording, mutation: RowMutation) -> list[Any]:
        raise UnknownCall("nothing was done: upgrade the older one")

    monkeypatch.setattr(Recording, "add_to_columns", refuse)
    asked, answer = done(lambda calls: calls.increment(b"t", counters((b"b", 2), (b"a", -1))))
    assert asked == ["checked", (b"r", b"f", b"b", 2), (b"r", b"f", b"a", -1)]
    assert [one.value for one in answer.column_values] == [counter_bytes(1)] * 2


def test_a_file_of_a_newer_release_ends_an_increment_of_several_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, those that need no such file would be added to, and the others not."""

    def refuse(table: Recording, mutation: RowMutation) -> list[Any]:
        raise UnsupportedFormat("an SSTable was written by a newer hbtable")

    monkeypatch.setattr(Recording, "add_to_columns", refuse)
    with pytest.raises(UnsupportedFormat, match="newer hbtable"):
        done(lambda calls: calls.increment(b"t", counters((b"b", 2), (b"a", -1))))


def test_an_append_lives_as_long_as_it_says() -> None:
    asked, _ = done(lambda calls: calls.append(b"t", Thrift2Append(b"r", [CELL], TTL)))
    assert asked == [(b"r", [(b"f", b"q", b"v")], 60_000)]


@pytest.mark.parametrize("first", [TTL, None, {b"_ttl": bytes(7) + b"\x01"}])
def test_no_put_lives_as_long_as_another_one_of_its_call(first: Any) -> None:
    puts = [TPut(b"r", [CELL], attributes=first), TPut(b"r", [CELL], attributes=TTL)]
    mutations = TRowMutations(b"r", [TMutation(put, None) for put in puts])
    operation = (PUT, b"f", b"q", SERVER_TIME, b"v")
    found = done(lambda calls: calls.mutateRow(b"t", mutations))
    if first == TTL:
        assert found[0] == [(b"r", [operation, operation], False, 60_000)]
    else:
        assert "have different times to live" in found


@pytest.mark.parametrize(
    ("operator", "value", "asked"),
    [(0, b"v", ">"), (1, b"v", ">="), (3, b"v", "!="), (4, b"v", "<="), (5, b"v", "<"), (3, b"", ">"), (6, b"v", "")],
)
def test_a_condition_is_looked_at_and_the_change_made_in_one_step(operator: int, value: bytes, asked: str) -> None:
    """In two, an empty value that is deleted between them would be taken for one that is there."""
    table = Recording()
    changes = TRowMutations(b"r", [TMutation(TPut(b"r", [TColumnValue(b"f", b"q", b"1")]))])
    calls = Thrift2WriteCalls(table, lambda name: [b"f"], 1 << 20, 1 << 20, lambda: None)  # type: ignore[arg-type]
    assert calls.checkAndMutate(b"t", b"r", b"f", b"q", operator, value, changes)
    spec = ReadSpec({b"f": frozenset((b"q",))}, max_bytes=1 << 20)
    assert [call[:4] for call in table.asked] == [(b"r", spec, asked, value if asked else None)]
