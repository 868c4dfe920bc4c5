"""What a write of very many cells was made of is freed in parts: between two pauses little of it goes."""

import tracemalloc

import pytest

from hbtable.errors import NoSuchFamily
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.runtime.slices import FREED_AT_ONCE
from hbtable.tablet.layout import LocalityGroupLayout
from hbtable.tablet.writes.apply import WriteBuilder
from hbtable.tablet.writes.checked_write import CheckedWrite
from hbtable.tablet.writes.clock import TabletClock

CELLS = 12 * FREED_AT_ONCE


class Memory:
    """What is traced of it at the last pause, and the most that was given back between two looks."""

    def __init__(self) -> None:
        self._last = 0
        self.freed = 0

    def look(self) -> None:
        now = tracemalloc.get_traced_memory()[0]
        self.freed = max(self.freed, self._last - now)
        self._last = now


def built(family_of_last: bytes, memory: Memory) -> CheckedWrite | None:
    """None: it was refused."""
    operations = [(PUT, b"f", b"%07d" % number, SERVER_TIME, b"v") for number in range(CELLS)]
    operations[-1] = (PUT, family_of_last, b"q", SERVER_TIME, b"v")
    layout = LocalityGroupLayout(TableSchema(b"t", {b"f": FamilySchema(b"f")}))
    builder = WriteBuilder(layout, RowRange(), 16, 3, TabletClock(lambda: 1000, lambda: 0.0), 10 << 20)
    tracemalloc.start()
    try:
        return builder.build_in_parts([RowMutation(b"wide", operations)], 7, memory.look)
    except NoSuchFamily:
        return None
    finally:
        memory.look()
        tracemalloc.stop()


@pytest.mark.parametrize(("family_of_last", "bytes_of_each"), [(b"f", 64), (b"none", 250)], ids=["written", "refused"])
def test_nothing_large_is_freed_in_one_stretch(family_of_last: bytes, bytes_of_each: int) -> None:
    """Of two million pairs, to free a list of them takes 15 ms, and to free the pairs of a refused write 100."""
    memory = Memory()
    write = built(family_of_last, memory)
    assert (write is None) == (family_of_last == b"none")
    assert memory.freed < FREED_AT_ONCE * bytes_of_each
