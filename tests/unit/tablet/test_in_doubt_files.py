"""SSTables of refused changes that METADATA may yet make: they stay for as long, and no longer."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from hbtable.errors import (
    DataDamaged,
    HbtableError,
    LimitExceeded,
    OutcomeUnknown,
    OutOfSpace,
    StaleLocation,
    StorageFailed,
    Unavailable,
)
from hbtable.fs.interface import FileSystem
from hbtable.model.tablet import TabletRecord
from hbtable.runtime.interface import Event
from hbtable.tablet.tablet import Tablet
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.planted_bugs import is_found
from tests.harness.tablet_bench import Bench, put

FULL = OutOfSpace("METADATA's log has no room")


class HeldDelete(DelegatingFake):
    """A file system whose next delete waits."""

    OWN = ("begun", "go_on")

    def __init__(self, inner: FileSystem, begun: Event, go_on: Event) -> None:
        super().__init__(inner)
        self.begun = begun
        self.go_on = go_on

    def delete(self, path: str) -> None:
        self.begun.set()
        self.go_on.wait()
        self.inner.delete(path)


def sstables(bench: Bench) -> set[str]:
    return {status.path for status in bench.fs.list_files("sstables")}


def refused_while_an_earlier_file_is_removed() -> None:
    bench = Bench()
    bench.options = replace(bench.options, merge_files=2)
    begun, go_on = bench.runtime.event(), bench.runtime.event()

    def main() -> None:
        bench.fs = HeldDelete(bench.memory, begun, go_on)
        tablet = bench.open()
        for row in b"a", b"b", b"c":
            tablet.mutate([put(row, b"f:a", b"1")])
            tablet.flush()
        tablet.mutate([put(b"r", b"f:a", b"1")])
        bench.records.errors.append((FULL, False))
        with pytest.raises(OutOfSpace):
            tablet.flush()
        first = set(bench.shared.files_in_flight)
        assert len(first) == 1

        def flush_in_vain() -> None:
            with pytest.raises(Unavailable):
                tablet.flush()

        flush = bench.runtime.spawn(flush_in_vain)
        begun.wait()
        assert first & bench.shared.files_in_flight
        bench.records.errors.append((FULL, False))
        with pytest.raises(OutOfSpace):
            tablet.compact(False)
        second = bench.shared.files_in_flight - first
        assert len(second) == 1
        bench.records.errors.append((Unavailable("METADATA moves"), False))
        go_on.set()
        flush.join()
        assert bench.shared.files_in_flight == second
        assert all(map(bench.memory.exists, second)), "the change that names it can still come back"
        tablet.compact(False)
        assert not bench.shared.files_in_flight
        assert not any(map(bench.memory.exists, second))

    bench.run(main)


def test_a_change_settles_only_what_was_refused_before_it() -> None:
    is_found("early", refused_while_an_earlier_file_is_removed)


def refused(bench: Bench, error: HbtableError = FULL) -> tuple[Tablet, set[str]]:
    """A tablet, and the file of a compaction that METADATA refused."""
    tablet = bench.open()
    for row in b"a", b"m", b"z":
        tablet.mutate([put(row, b"f:a", b"1")])
        tablet.flush()
    bench.records.errors.append((error, False))
    with pytest.raises(type(error)):
        tablet.compact(True)
    assert len(bench.shared.files_in_flight) == 1
    return tablet, set(bench.shared.files_in_flight)


def given_up(record: TabletRecord) -> TabletRecord:
    return replace(record, owner="")


def test_an_unload_settles_what_was_refused_before(bench: Bench) -> None:
    def main() -> None:
        tablet, doubtful = refused(bench)
        tablet.freeze_for_unload()
        assert bench.shared.files_in_flight == doubtful
        tablet.change_record(given_up)
        tablet.close()
        assert not bench.shared.files_in_flight  # the collector may remove it

    bench.run(main)


def test_an_unload_that_is_refused_settles_nothing(bench: Bench) -> None:
    def main() -> None:
        tablet, doubtful = refused(bench)
        tablet.freeze_for_unload()
        bench.records.errors.append((FULL, False))
        with pytest.raises(OutOfSpace):
            tablet.change_record(given_up)
        tablet.close()
        assert bench.shared.files_in_flight == doubtful

    bench.run(main)


def test_a_split_settles_what_was_refused_before(bench: Bench) -> None:
    def main() -> None:
        tablet, _ = refused(bench)
        tablet.freeze_for_unload()
        tablet.change_record(lambda record: replace(record, tablet_id=210))  # the right child has the parent's row
        bench.split(tablet, b"m")
        tablet.close()
        assert not bench.shared.files_in_flight

    bench.run(main)


def test_another_owner_of_the_record_settles_what_was_refused_before(bench: Bench) -> None:
    def main() -> None:
        tablet, _ = refused(bench)
        bench.records.record = replace(bench.records.record, owner="another")
        tablet.mutate([put(b"r", b"f:a", b"2")])
        with pytest.raises(StaleLocation):
            tablet.flush()
        tablet.close()
        assert not bench.shared.files_in_flight

    bench.run(main)


@pytest.mark.parametrize("work", [Tablet.flush, lambda tablet: tablet.compact(True)])
@pytest.mark.parametrize(
    "error", [DataDamaged("metadata.sst", 0, "a block is damaged", b"", b""), LimitExceeded("the record is too long")]
)
def test_what_is_refused_before_the_log_is_asked_is_removed_at_once(
    bench: Bench, error: HbtableError, work: Callable[[Tablet], None]
) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"a", b"f:a", b"1")])
        tablet.flush()
        before = sstables(bench)
        tablet.mutate([put(b"b", b"f:a", b"1")])
        bench.records.errors.append((error, False))
        with pytest.raises(type(error)):
            work(tablet)
        assert sstables(bench) == before
        assert not bench.shared.files_in_flight

    bench.run(main)


def test_what_is_refused_after_an_unknown_outcome_stays_in_doubt(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"a", b"f:a", b"1")])
        damaged = DataDamaged("metadata.sst", 0, "a block is damaged", b"", b"")
        bench.records.errors += [(OutcomeUnknown("no answer"), True), (damaged, False)]
        with pytest.raises(DataDamaged):
            tablet.flush()
        assert len(bench.shared.files_in_flight) == 1
        assert all(map(bench.memory.exists, bench.shared.files_in_flight))

    bench.run(main)


@pytest.mark.parametrize("work", [Tablet.flush, lambda tablet: tablet.compact(False)])
@pytest.mark.parametrize("error", [FULL, StorageFailed("the disk failed a sync")])
def test_tries_in_vain_do_not_fill_the_disk(bench: Bench, error: HbtableError, work: Callable[[Tablet], None]) -> None:
    """The log of METADATA is full, or has broken: on a single server it is the only one."""
    bench.options = replace(bench.options, merge_files=2)

    def main() -> None:
        tablet = bench.open()
        for row in b"a", b"b", b"c":
            tablet.mutate([put(row, b"f:a", b"1")])
            if row != b"c":
                tablet.flush()
        before = sstables(bench)
        for _ in range(5):
            bench.records.errors.append((error, False))
            with pytest.raises(type(error)):
                work(tablet)
        assert len(sstables(bench) - before) == 1
        work(tablet)
        assert not bench.shared.files_in_flight

    bench.run(main)


def test_a_server_whose_log_broke_still_flushes_where_metadatas_is_another(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"a", b"f:a", b"1")])
        bench.log.stop_taking(StorageFailed("the disk failed a sync"))
        tablet.flush()
        assert tablet.memtable_bytes == 0

    bench.run(main)


def test_a_server_whose_log_broke_flushes_again_once_metadata_has_moved_away(bench: Bench) -> None:
    """Its own log was that of METADATA, too, and refused the first try."""
    broken = StorageFailed("the disk failed a sync")

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"a", b"f:a", b"1")])
        bench.log.stop_taking(broken)
        bench.records.errors.append((broken, False))
        with pytest.raises(StorageFailed):
            tablet.flush()
        tablet.flush()
        assert tablet.memtable_bytes == 0
        assert not bench.shared.files_in_flight

    bench.run(main)


def test_what_the_broken_log_of_metadata_refused_goes_with_the_next_change(bench: Bench) -> None:
    def main() -> None:
        tablet, doubtful = refused(bench, StorageFailed("METADATA's log has broken"))
        tablet.compact(True)
        assert not bench.shared.files_in_flight
        assert not any(map(bench.memory.exists, doubtful))

    bench.run(main)
