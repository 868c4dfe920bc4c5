"""The memory of a flushed memtable goes in parts, but not under a read that still takes from it."""

from collections.abc import Iterator
from typing import Any

import pytest

from hbtable.memtable.memtable import Memtable
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import EVERYTHING, ScanRequest
from hbtable.tablet.compactions.freeing import free_unread
from hbtable.tablet.compactions.writing import CompactionWriter
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.version import LoadedFile
from tests.harness.tablet_bench import Bench, everything

MANY = 30_000


def rows() -> list[RowMutation]:
    return [RowMutation(b"row%07d" % n, [(PUT, b"f", b"q", SERVER_TIME, b"v%d" % n)]) for n in range(MANY)]


def filled() -> Memtable:
    memtable = Memtable()
    memtable.add([(b"row%07d\x00\x01" % n + bytes(18), b"v") for n in range(MANY)], 1, 0)
    return memtable


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The steps in which memtables were freed, one number for each."""
    original, steps = Memtable.taken_apart, []

    def counted(memtable: Memtable) -> Iterator[None]:
        steps.append(0)
        for _ in original(memtable):
            steps[-1] += 1
            yield

    monkeypatch.setattr(Memtable, "taken_apart", counted)
    return steps


def test_a_flush_frees_its_memtable_in_parts(bench: Bench, taken: list[int]) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate(rows()[: MANY // 2])
        tablet.mutate(rows()[MANY // 2 :])
        tablet.read_rows([b"row0000001"], EVERYTHING)
        tablet.flush()
        assert sum(taken) >= 2 * (MANY // 4096)  # its pairs, then its keys
        assert len(everything(tablet)) == MANY

    bench.run(main)


def test_what_maintenance_remembers_of_a_tablet_keeps_no_memtable(
    bench: Bench, taken: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks several times a second, also while a memtable is flushed."""
    stamps: list[object] = []

    def main() -> None:
        tablet = bench.open()
        write = CompactionWriter.write

        def looked_at(*arguments: Any) -> LoadedFile | None:
            stamps.append(tablet.stamp_at_rest())
            return write(*arguments)

        monkeypatch.setattr(CompactionWriter, "write", looked_at)
        tablet.mutate(rows()[: MANY // 2])
        stamps.append(tablet.stamp_at_rest())
        tablet.flush()
        assert len(stamps) == 2
        assert sum(taken) >= 2 * (MANY // 2 // 4096)

    bench.run(main)


@pytest.mark.slow
def test_a_scan_that_began_before_the_flush_reads_on(bench: Bench, taken: list[int]) -> None:
    """Its snapshot holds the memtable while it pauses between two lists."""

    def main() -> None:
        bench.options = TabletOptions(slice_seconds=0.0)
        tablet = bench.open()
        tablet.mutate(rows())
        request = ScanRequest(max_rows=1 << 40, max_bytes=1 << 40)
        pages = []
        scan = bench.runtime.spawn(lambda: pages.append(tablet.scan(request)), name="scan")
        while not tablet._state.tally.examined:  # it stands in the middle
            bench.runtime.sleep(0)
        assert not pages
        tablet.flush()
        scan.join()
        assert len(pages[0].rows) == MANY

    bench.run(main)


def test_what_a_scan_has_still_to_give_stays() -> None:
    memtable = filled()
    memtables = [memtable]
    pairs = memtable.scan(b"", b"row0000020", 1)  # few: only the values are looked up later
    del memtable
    free_unread(memtables, lambda: None)
    assert not memtables
    assert len(list(pairs)) == 20


def test_one_that_others_hold_is_left_to_them() -> None:
    memtable = filled()
    free_unread([memtable], lambda: None)
    assert len(list(memtable.scan(b"", b"", 1))) == MANY


def test_one_that_nobody_holds_is_taken_apart(taken: list[int]) -> None:
    free_unread([filled()], lambda: None)
    assert len(taken) == 1
