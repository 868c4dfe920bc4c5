"""A memtable is left before its dict grows by hundreds of thousands of entries: that is one stretch of 20 ms."""

import random
import sys

import pytest

from hbtable.memtable.memtable import MOST_CELLS
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_VERSION, PUT, RowMutation
from hbtable.model.read import EVERYTHING, ReadSpec
from hbtable.tablet import state
from hbtable.tablet.reads.newest_write import newest_write
from hbtable.tablet.tablet import Tablet
from hbtable.tablet.version import Stack
from hbtable.tablet.writes.prepared import ADDED_AT_ONCE
from tests.harness.tablet_bench import Bench


def _put(number: int) -> RowMutation:
    return RowMutation(b"row%07d" % number, [(PUT, b"f", b"q", SERVER_TIME, b"%d" % number)])


def _used(tablet: Tablet) -> Stack:
    return max(tablet._state.version.stacks, key=lambda stack: len(stack.frozen) + len(stack.files))


def test_no_write_makes_the_dict_of_a_memtable_grow_beyond_a_few_milliseconds() -> None:
    """More than ADDED_AT_ONCE pairs of a call come with memtables of their own."""
    values: dict[int, int] = {}
    sizes = []
    for number in range(MOST_CELLS - 1 + ADDED_AT_ONCE):
        values[number] = number
        if number >= 100_000:
            sizes.append(sys.getsizeof(values))
    assert len(set(sizes)) == 1, "it grew for the last time before"


def test_puts_of_many_calls_go_into_memtables_that_stay_small(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "MOST_CELLS", 100)

    def main() -> None:
        tablet = bench.open()
        for number in range(1000):
            tablet.mutate([_put(number)])
        stack = _used(tablet)
        memtables = [*stack.frozen, stack.active]
        assert len(memtables) == 11
        assert all(memtable is not None and memtable.cells <= 100 for memtable in memtables)
        assert len(tablet.read_rows([b"row%07d" % number for number in range(1000)], EVERYTHING)) == 1000
        tablet.mutate([_put(5)])
        tablet.flush()
        stack = _used(tablet)
        assert (len(stack.files), stack.frozen) == (1, ())
        found = tablet.read_rows([b"row%07d" % number for number in range(1000)], EVERYTHING)
        assert [row[1][0][-1] for row in found] == [b"%d" % number for number in range(1000)]

    bench.run(main)


def test_memtables_that_were_left_are_flushed_as_soon_as_all_together_are_large(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each was looked at by itself: of many small ones none was ever large."""
    monkeypatch.setattr(state, "MOST_CELLS", 100)
    asked: list[int] = []

    def main() -> None:
        tablet = bench.open()
        tablet._state.attention_at = 100_000
        tablet._state.shared.attention = lambda: asked.append(1)
        number = 0
        while not asked and number < 10_000:
            tablet.mutate([_put(number)])
            number += 1
        assert tablet._state.version.memtable_bytes() < 150_000

    bench.run(main)
    assert asked


@pytest.mark.parametrize("seed", range(10))
def test_the_newest_write_is_told_beside_memtables_that_were_left(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """It was told by a read until the next flush, and increments of a hot counter waited for each other's sync. What is
    told is what a read finds, whatever times writes and markers have, and wherever they are."""
    monkeypatch.setattr(state, "MOST_CELLS", 20)
    choose = random.Random(seed)
    kinds = [PUT] * 150 + [DELETE_COLUMN, DELETE_VERSION] * 12 + [DELETE_FAMILY]

    def main() -> None:
        tablet = bench.open()
        told = 0
        for _ in range(600):
            row, qualifier = choose.choice((b"a", b"b")), choose.choice((b"p", b"q"))
            kind = choose.choice(kinds)
            column = b"" if kind == DELETE_FAMILY else qualifier
            time = choose.randrange(1, 400) if choose.random() < 0.3 else SERVER_TIME
            tablet.mutate([RowMutation(row, [(kind, b"f", column, time, b"v" if kind == PUT else b"")])])
            if choose.random() < 0.02:
                tablet.flush()
            cell = newest_write(tablet._state, row, b"f", qualifier)
            if cell is not None:
                told += bool(_used(tablet).frozen)
                found = tablet.read_rows([row], ReadSpec(columns={b"f": frozenset((qualifier,))}))
                assert found == [(row, [cell])]
        assert told >= 10

    bench.run(main)
