"""Large answers are the same bytes as others, made in pieces between which others run."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from itertools import count, pairwise, takewhile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hbtable.hbase.admin.structs import AdminArrowPage
from hbtable.hbase.codec import answers, binary_answers, large_answers, thrift2_structs
from hbtable.hbase.codec.answers import BinaryDialect, CompactDialect, Objects
from hbtable.hbase.codec.binary_answers import SortedRows
from hbtable.hbase.codec.interface import ThriftInterface
from hbtable.hbase.codec.large_answers import LARGE_VALUE_BYTES, LargeAnswer, paced
from hbtable.model.cell import Cell, Row
from hbtable.runtime.slices import FREED_AT_ONCE, OwnList
from tests.harness.tiers import generated

HUGE = 80_000
CELLS = st.lists(
    st.tuples(
        st.one_of(st.binary(max_size=3), st.sampled_from([b"a", b"\x80", b"\xff\x00"])).map(lambda name: b"f:" + name),
        st.integers(0, 2**63 - 1),
        st.one_of(st.binary(max_size=5), st.sampled_from([bytes(LARGE_VALUE_BYTES + 1), bytes(HUGE)])),
    ),
    max_size=8,
    unique_by=lambda cell: cell[0],
)
ROWS = st.lists(st.tuples(st.binary(max_size=4), CELLS), max_size=4)


@pytest.fixture(scope="module")
def interface() -> ThriftInterface:
    return ThriftInterface()


@settings(max_examples=generated(150), deadline=None)
@given(ROWS)
def test_the_pieces_are_those_bytes_of_the_usual_answer(monkeypatched: Any, rows: list[Row]) -> None:
    """Of whatever size: here lists of cells are cut after two, answers after some nine parts."""
    interface: ThriftInterface = monkeypatched
    expected, objects = BinaryDialect(interface, True), Objects(interface)
    for name, value, pieces in (
        ("getRow", rows, binary_answers.rows),
        ("scannerGetList", SortedRows(rows), large_answers.sorted_rows),
        ("get", [cell for _, cells in rows for cell in cells], large_answers.cells),
    ):
        method = interface.methods[name.encode()]
        head = method.strict_head + (5).to_bytes(4, "big")
        whole = head + answers._binary(objects.result(method, value))
        answer = pieces(head, deepcopy(value))
        assert (answer if isinstance(answer, bytes) else b"".join(answer)) == whole
        assert expected.reply(method, 5, deepcopy(value)) == whole


@pytest.fixture(scope="module")
def monkeypatched(interface: ThriftInterface) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_answers, "_CELLS_AT_ONCE", 2)
        patch.setattr(binary_answers, "MANY_CELLS", 2)
        patch.setattr(binary_answers, "_PIECES_AT_ONCE", 9)
        yield interface


def many(cells: int) -> list[Cell]:
    return [(b"f:%07d" % n, 1, b"v") for n in range(cells)]


LARGE: list[tuple[str, Any]] = [
    ("getRow", [(b"r", many(20_000))]),
    ("getRow", [(b"r", [(b"f:\xff%07d" % n, 1, b"v") for n in range(20_000)])]),
    ("scannerGetList", SortedRows([(b"r", many(20_000))])),
    ("scannerGetList", [(b"r%d" % n, many(1)) for n in range(20_000)]),
    ("scannerGetList", [(b"r%d" % n, many(500)) for n in range(100)]),
    ("getVer", many(20_000)),
]


@pytest.mark.parametrize(("name", "value"), LARGE)
def test_others_run_while_a_large_answer_is_made(interface: ThriftInterface, name: str, value: Any) -> None:
    """On a clock that goes on by a millisecond with each look at it. So they do while its long rows are freed."""
    whole = BinaryDialect(interface, True).reply(interface.methods[name.encode()], 7, deepcopy(value))
    value = deepcopy(value)
    clock, pauses = count(), list[int]()
    collect = paced(lambda: next(clock) / 1000, lambda: pauses.append(1), lambda seconds: next(clock) / 1000 + seconds)
    dialect, method = BinaryDialect(interface, True, collect), interface.methods[name.encode()]
    answer = dialect.reply(method, 7, value)
    assert isinstance(answer, LargeAnswer)
    pieces = list(answer.take())
    assert sum(map(len, pieces)) == len(answer)
    assert max(map(len, pieces)) < 100_000
    assert len(pauses) >= 5
    assert b"".join(pieces) == whole
    assert name == "getVer" or all(len(cells) <= FREED_AT_ONCE for _, cells in value)


MIDDLING: list[list[tuple[bytes, list[Cell]]]] = [
    [(b"r%d" % n, many(1)) for n in range(1000)],
    [(b"r%d" % n, many(20)) for n in range(1000)],
    [(b"r%d" % n, many(2000 if n == 700 else 2)) for n in range(1000)],
    [(b"r%d" % n, [(b"f:a", 1, b"v" * (20_000 if n % 300 == 299 else 1))]) for n in range(1000)],
]


@pytest.mark.parametrize("rows", MIDDLING)
def test_some_hundred_rows_are_put_together_in_parts(
    interface: ThriftInterface, rows: list[tuple[bytes, list[Cell]]]
) -> None:
    """A thousand rows took more than a millisecond in one stretch, and those of many cells 7. What is in the answer is
    freed part by part: all at once, when it had been sent, took 20 ms."""
    rows, parts, most = deepcopy(rows), list[bytes](), 0

    def collect(pieces: Iterable[bytes]) -> bytes:
        nonlocal most
        left = sum(len(cells) for _, cells in rows)
        for piece in pieces:
            parts.append(piece)
            before, left = left, sum(len(cells) for _, cells in rows)
            most = max(most, before - left)
        assert left == 0
        return b"".join(parts)

    method = interface.methods[b"getRows"]
    whole = method.strict_head + (7).to_bytes(4, "big") + answers._binary(Objects(interface).result(method, rows))
    assert BinaryDialect(interface, True, collect).reply(method, 7, rows) == whole
    assert len(parts) >= 4
    assert max(map(len, parts)) < 70_000
    assert most <= max(2 * large_answers._CELLS_AT_ONCE, FREED_AT_ONCE)


COLUMN = thrift2_structs.TColumnValue
OBJECTS: list[tuple[str, Any]] = [
    (
        "get",
        thrift2_structs.TResult(b"r", OwnList(COLUMN(b"f", b"%d" % n, b"v", n) for n in range(5000)), partial=True),
    ),
    ("getScannerRows", OwnList(thrift2_structs.TResult(b"%d" % n, [COLUMN(b"f", b"q", b"v", 1)]) for n in range(5000))),
    (
        "getMultiple",
        OwnList(
            thrift2_structs.TResult(b"%d" % n, [COLUMN(b"f", b"q%d" % one, b"v", 1) for one in range(n % 7 * 100)])
            for n in range(50)
        ),
    ),
    ("getScannerRows", [thrift2_structs.TResult(b"%d" % n, [COLUMN(b"f", b"q", bytes(9 << 20), 1)]) for n in range(3)]),
]


@pytest.mark.parametrize(("name", "value"), OBJECTS, ids=["a long row", "many rows", "some long rows", "large values"])
def test_others_run_while_a_large_answer_of_objects_is_made(
    interface: ThriftInterface, name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thrift2's, on a clock that goes on by a millisecond with each look at it. thriftpy2 wrote 100,000 rows in one go
    of 190 ms, and from a thread that kept the hub waiting for the interpreter all the same. What the answer alone
    has is freed as it is written; what somebody else may have is left alone."""
    value = deepcopy(value)
    before, rows = deepcopy(value), value[1] if name == "get" else value
    method = interface.thrift2_methods[name.encode()]
    whole = method.strict_head + (7).to_bytes(4, "big") + answers._binary(Objects(interface).result(method, value))
    clock, pauses, written, left = count(), list[int](), list[int](), list[int]()
    binary = answers._binary

    def counted(value: Any) -> bytes:
        data = binary(value)
        written.append(len(data))
        return data

    def paused() -> None:
        pauses.append(1)
        left.append(len(rows) - rows.count(None))

    monkeypatch.setattr(answers, "_binary", counted)
    collect = paced(lambda: next(clock) / 1000, paused, lambda seconds: next(clock) / 1000 + seconds)
    answer = BinaryDialect(interface, True, collect).reply(method, 7, value)
    assert isinstance(answer, LargeAnswer)
    assert max(written) < 10 << 20
    assert sorted(written)[-4] < 10_000
    assert len(pauses) >= 5
    assert b"".join(answer.take()) == whole
    if type(rows) is OwnList:
        assert max(first - second for first, second in pairwise([len(rows), *left, 0])) <= 3 * answers._AT_ONCE
        assert rows == [None] * len(rows)
    else:
        assert value == before


def test_others_run_while_the_order_of_a_long_row_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first of its cells is in the answer."""
    monkeypatch.setattr(large_answers, "_CELLS_AT_ONCE", 512)
    pieces = large_answers.some_rows([(b"r", many(20_000))])
    occasions = list(takewhile(lambda piece: not piece, pieces))
    assert len(occasions) == -(-20_000 // 512)


def test_a_large_value_is_not_copied(interface: ThriftInterface) -> None:
    """Nor are record batches: thriftpy2 copies what it writes three times, in one stretch of 28 ms for 12 MB."""
    value = bytes(10 * HUGE)
    dialect = BinaryDialect(interface, True, paced(lambda: 0.0, lambda: None, lambda seconds: seconds))
    for method, answered in (
        (interface.methods[b"get"], [(b"f:a", 1, value)]),
        (interface.admin_methods[b"adminScanArrow"], AdminArrowPage(value, None, 1, 1)),
    ):
        answer = dialect.reply(method, 1, answered)
        assert isinstance(answer, LargeAnswer)
        assert any(piece is value for piece in answer.take())


@pytest.mark.parametrize(("name", "value"), LARGE)
def test_large_compact_answers_are_made_off_the_hub(interface: ThriftInterface, name: str, value: Any) -> None:
    apart = []

    def offload(function: Any) -> bytes:
        apart.append(function)
        result: bytes = function()
        return result

    dialect, method = CompactDialect(interface, offload), interface.methods[name.encode()]
    assert dialect.reply(method, 7, []) == CompactDialect(interface).reply(method, 7, [])
    assert not apart
    small = value[:1] if name == "getVer" else type(value)([(b"r", many(2))])
    dialect.reply(method, 7, small)
    assert not apart
    assert dialect.reply(method, 7, value[:1000])
    assert len(apart) == 1


@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("protocol", ["binary", "loose", "compact"])
def test_large_answers_arrive_whole(gateway: Any, connect: Any, protocol: str, framed: bool) -> None:
    client = connect(gateway, protocol, framed)
    gateway.table.cells = {
        b"r": {b"f:%05d" % n: (1, b"%d" % n) for n in range(2_000)},
        b"s": {b"f:a": (1, bytes(HUGE))},
    }
    (row,) = client.call("getRow", tableName=b"t", row=b"r")
    assert {name: cell.value for name, cell in row.columns.items()} == {b"f:%05d" % n: b"%d" % n for n in range(2_000)}
    (row,) = client.call("getRow", tableName=b"t", row=b"s")
    assert row.columns[b"f:a"].value == bytes(HUGE)


def test_the_runtime_says_how_long_an_answer_may_go_on() -> None:
    """Others run behind each of its slices, however long that is."""
    now, pauses = 0.0, 0

    def pause() -> None:
        nonlocal pauses
        pauses += 1

    def pieces() -> Iterator[bytes]:
        nonlocal now
        for _ in range(100):
            now += 0.0001
            yield b"x"

    collect = paced(lambda: now, pause, lambda seconds: now + seconds / 4)
    assert len(collect(pieces())) == 100
    assert 25 <= pauses <= 50
