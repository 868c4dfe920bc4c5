"""What a gateway makes of very long arguments of writes lets others run every few tenths of a millisecond.

Counted in calls of functions, as in tests/harness/stretches.py. A request of a healthy client comes during some stretch
of another's work, and waits for the rest of it: those of 2 ms made its slowest hundredth five times as slow.
"""

import sys
from collections.abc import Callable

import pytest

from hbtable.hbase import conversion
from hbtable.hbase.codec.thrift2_structs import TColumn, TColumnValue, TDelete, TPut
from hbtable.hbase.put_batches import put_batch
from hbtable.hbase.thrift2.conversion import delete_mutation, put_mutation
from hbtable.hbase.thrift2.put_columns import puts_in_columns
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation, keep_checksums_in_parts
from hbtable.runtime.slices import let_go, sorted_with_pauses, with_pauses
from tests.harness.stretches import LONGEST

COUNT = 20_000
CELL_BYTES = 1 << 20
Pause = Callable[[], None]

NAMES = [b"f:%07d" % number for number in range(COUNT)]
PUTS = [(False, name, b"v", True) for name in NAMES]
DELETES = [(True, name, None, True) for name in NAMES]
ROWS = [(name, b"f:q", b"v") for name in NAMES]
WIDE_PUT = TPut(b"row", [TColumnValue(b"f", name, b"v") for name in NAMES])
WIDE_DELETE = TDelete(b"row", [TColumn(b"f", name) for name in NAMES])
ROW_PUTS = [TPut(name, [TColumnValue(b"f", b"q", b"v")]) for name in NAMES]
OPERATIONS = [(PUT, b"f", name, SERVER_TIME, b"v") for name in NAMES]


def _row(mutations: object, pause: Pause) -> object:
    return conversion.row_mutation(b"row", mutations, SERVER_TIME, 0, CELL_BYTES, True, pause)  # type: ignore[arg-type]


CALLS: dict[str, Callable[[Pause], object]] = {
    "puts of a row": lambda pause: _row(PUTS, pause),
    "deletes of a row": lambda pause: _row(DELETES, pause),
    "puts of rows": lambda pause: put_batch(ROWS, SERVER_TIME, CELL_BYTES, pause),
    "a put of Thrift2": lambda pause: put_mutation(WIDE_PUT, CELL_BYTES, pause),
    "puts of Thrift2": lambda pause: puts_in_columns(ROW_PUTS, CELL_BYTES, pause),
    "a delete of Thrift2": lambda pause: delete_mutation(WIDE_DELETE, lambda: [b"f"], pause),
    "a look at each": lambda pause: list(with_pauses(map(len, NAMES), pause)),
    "sorting": lambda pause: sorted_with_pauses(NAMES[::-1], len, pause),
    "checksums": lambda pause: keep_checksums_in_parts((RowMutation(b"row", OPERATIONS),), pause),
    "freeing": lambda pause: let_go(list(OPERATIONS), pause),
}


def longest(call: Callable[[Pause], object]) -> tuple[int, int]:
    """(the most calls of functions between two pauses, the number of pauses)."""
    calls = most = pauses = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    def pause() -> None:
        nonlocal calls, most, pauses
        most, calls, pauses = max(most, calls), 0, pauses + 1

    sys.setprofile(count)
    try:
        call(pause)
    finally:
        sys.setprofile(None)
    pause()
    return most, pauses


@pytest.mark.parametrize("name", CALLS)
def test_others_run_every_few_tenths_of_a_millisecond(name: str) -> None:
    most, pauses = longest(CALLS[name])
    assert most <= LONGEST // 30
    assert pauses >= COUNT // 1024
