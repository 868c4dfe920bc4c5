"""Flushes and compactions that fail or crash half-way; records that belong to someone else; what the log may forget."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from hbtable.errors import Conflict, DataDamaged, OutcomeUnknown, OutOfSpace, StaleLocation, StorageFailed, Unavailable
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.tablet import NO_LOG, LogRef
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench, delete, everything, put


def filled(bench: Bench) -> Tablet:
    tablet = bench.open()
    for n in range(3):
        tablet.mutate([put(b"%d" % k, b"f:a", b"%d" % n) for k in range(n, 20)])
        tablet.mutate([delete(b"%d" % n, b"f"), put(b"x", b"g:%d" % n, b"")])
        if n < 2:
            tablet.flush()
    return tablet


def sstables(bench: Bench) -> set[str]:
    return {status.path for status in bench.fs.list_files("sstables")}


def named(bench: Bench) -> set[str]:
    return {ref.path for _, refs in bench.records.record.files for ref in refs}


WORK: list[Callable[[Tablet], None]] = [Tablet.flush, lambda tablet: tablet.compact(True)]


@pytest.mark.parametrize("work", WORK)
def test_without_room_it_goes_on_serving_leaves_no_stump_and_succeeds_later(
    bench: Bench, work: Callable[[Tablet], None]
) -> None:
    def main() -> None:
        tablet = filled(bench)
        before = everything(tablet)
        memory = bench.shared.memtable_bytes
        disk = bench.memory.disk
        disk.capacity_bytes = disk.used_bytes + 100
        with pytest.raises(OutOfSpace):
            work(tablet)
        assert everything(tablet) == before
        assert bench.shared.memtable_bytes == memory == tablet.memtable_bytes
        assert sstables(bench) == named(bench)
        assert tablet.memtable_age_seconds >= 0
        disk.capacity_bytes = None
        tablet.mutate([put(b"y", b"f:a", b"")])
        work(tablet)
        assert everything(tablet) == [*before, (b"y", everything(tablet)[-1][1])]
        assert bench.shared.memtable_bytes == tablet.memtable_bytes == 0
        assert not bench.shared.files_in_flight

    bench.run(main)


@pytest.mark.parametrize("work", WORK)
def test_a_crash_right_before_or_after_the_record_change_loses_nothing(
    bench: Bench, work: Callable[[Tablet], None]
) -> None:
    for before_change in (True, False):
        machine = Bench()

        def main(machine: Bench = machine, before_change: bool = before_change) -> None:
            tablet = filled(machine)
            before = everything(tablet)
            error = StorageFailed("the machine stops here")
            machine.records.errors.append((error, not before_change))
            with pytest.raises(StorageFailed):
                work(tablet)
            assert everything(tablet) == before
            machine.crash()
            tablet = machine.open()
            assert everything(tablet) == before
            tablet.compact(True)
            assert everything(tablet) == before

        machine.run(main)


def test_an_unknown_outcome_is_settled_before_anything_else(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        before = everything(tablet)
        unknown = OutcomeUnknown("no answer")
        bench.records.errors += [(unknown, False), (unknown, True), (Unavailable("not now"), False)]
        tablet.flush()
        assert bench.records.record == tablet.record
        assert tablet.memtable_bytes == 0
        assert everything(tablet) == before

    bench.run(main)


def test_a_change_that_may_come_back_from_a_full_log_is_insisted_on(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        full = OutOfSpace("METADATA's log has no room")
        bench.records.errors += [(full, False), (Unavailable("METADATA moves"), False), (full, True)]
        tablet.change_record(lambda record: replace(record, created_millis=77), insist=True)
        assert bench.records.record == tablet.record
        assert tablet.record.created_millis == 77
        bench.records.errors.append((full, False))
        with pytest.raises(OutOfSpace):
            tablet.change_record(lambda record: replace(record, created_millis=78))

    bench.run(main)


def test_a_change_that_was_refused_for_now_leaves_the_tablet_as_it_was(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        before = everything(tablet)
        bench.records.errors.append((Unavailable("METADATA moves"), False))
        with pytest.raises(Unavailable):
            tablet.flush()
        assert everything(tablet) == before
        assert sstables(bench) == named(bench)
        tablet.flush()
        assert everything(tablet) == before

    bench.run(main)


def test_a_tablet_whose_record_another_owner_has_changed_is_lost(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        bench.records.record = bench.assign(bench.records.record)
        for _ in range(2):
            with pytest.raises(StaleLocation):
                tablet.flush()
        assert tablet.lost
        assert not bench.shared.files_in_flight, "what it wrote is the collector's"

    bench.run(main)


def test_an_sstable_that_the_next_owners_record_names_is_not_removed_by_the_last_one(bench: Bench) -> None:
    """The change was made, its answer was lost, and when it was asked for again the tablet had another owner."""

    def main() -> None:
        tablet = filled(bench)
        before = everything(tablet)
        asked: list[int] = []

        def next_owner() -> None:
            asked.append(1)
            if len(asked) == 2:
                bench.start_server()
                bench.records.record = bench.assign(bench.records.record)

        bench.records.errors.append((OutcomeUnknown("no answer"), True))
        bench.records.before_change = next_owner
        old = bench.shared
        with pytest.raises(StaleLocation):
            tablet.flush()
        assert tablet.lost
        assert not old.files_in_flight, "METADATA says whether anybody needs it"
        assert everything(bench.load_as_it_is()) == before

    bench.run(main)


@pytest.mark.parametrize("work", WORK)
def test_an_sstable_that_a_full_log_may_bring_into_the_record_after_all_stays(
    bench: Bench, work: Callable[[Tablet], None]
) -> None:
    """METADATA's log had no room for the change; its server dies before it writes on, and recovery finds the bytes."""

    def main() -> None:
        tablet = filled(bench)
        before = everything(tablet)
        bench.records.errors.append((OutOfSpace("the log is full"), True))
        with pytest.raises(OutOfSpace):
            work(tablet)
        assert named(bench) == sstables(bench)
        bench.crash()
        assert everything(bench.open()) == before

    bench.run(main)


@pytest.mark.parametrize("work", WORK)
def test_what_a_full_log_refused_goes_with_the_next_change(bench: Bench, work: Callable[[Tablet], None]) -> None:
    def main() -> None:
        tablet = filled(bench)
        for _ in range(2):
            bench.records.errors.append((OutOfSpace("the log is full"), False))
            with pytest.raises(OutOfSpace):
                work(tablet)
        assert named(bench) < sstables(bench)
        doubtful = set(bench.shared.files_in_flight)
        assert doubtful == sstables(bench) - named(bench)
        tablet.compact(True)
        assert not doubtful & sstables(bench)
        assert not bench.shared.files_in_flight

    bench.run(main)


def test_a_family_that_goes_while_its_table_is_regrouped_does_not_tear_record_and_version_apart(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        before = everything(tablet)
        f, g, h = (FamilySchema(name, locality_group=group) for name, group in ((b"f", "a"), (b"g", "a"), (b"h", "h")))
        tablet.schema = TableSchema(b"t", {b"f": f, b"g": g, b"h": h}, version=2)
        tablet.flush()
        bench.records.before_change = lambda: setattr(
            tablet, "schema", TableSchema(b"t", {b"f": f, b"g": g}, version=3)
        )
        tablet.compact(True)
        assert everything(tablet) == before
        read = {file.ref.path for stack in tablet._state.version.stacks for file in stack.files}
        assert read == named(bench)

    bench.run(main)


def test_the_log_may_forget_only_after_the_record_change_was_acknowledged(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        oldest_needed: list[LogRef] = []

        def look() -> None:
            # Bug class 2: while the change is under way the log must still hold everything.
            oldest_needed.append(bench.records.record.logs[0])
            survivor = bench.memory.crash_clone(bench.runtime.random)
            assert [path for path in survivor.disk.files if path.startswith("logs/")]

        bench.records.before_change = look
        first = tablet._state.sequence + 1
        tablet.flush()
        assert bench.records.record.logs == (LogRef(bench.incarnation, first),)
        assert oldest_needed[0].first_needed < first

    bench.run(main)


def test_flushed_sstables_lie_whole_on_the_medium_before_the_record_names_them(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)

        def look() -> None:
            for path in bench.shared.files_in_flight:
                content = bench.memory.disk.files[path]
                assert content.synced_bytes == len(content.content)

        bench.records.before_change = look
        tablet.flush()
        tablet.compact(True)

    bench.run(main)


def test_a_file_of_another_length_or_footer_is_not_read(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        tablet.flush()
        path = sorted(named(bench))[0]
        content = bench.memory.disk.files[path]
        whole = bytes(content.content)
        for damaged in (whole[:-1], whole[:-40] + b"\xff" + whole[-39:]):
            content.content[:] = damaged
            with pytest.raises(DataDamaged):
                everything(bench.load())
        content.content[:] = whole
        assert len(everything(bench.load())) > 3

    bench.run(main)


def test_compactions_are_cancelled_by_an_unload(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        tablet.flush()
        tablet.freeze_for_unload()
        with pytest.raises(Unavailable, match="cancelled"):
            tablet.compact(True)
        tablet.thaw()
        tablet.compact(True)

    bench.run(main)


def test_after_a_split_each_child_sees_its_own_rows_of_the_shared_files_and_trims_them_in_time(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        before = everything(tablet)
        row = tablet.split_row()
        assert row is not None
        tablet.freeze_for_unload()
        children = bench.split(tablet, row)
        tablet.close()
        assert [cells for child in children for cells in everything(child)] == before
        for child in children:
            assert not child.needs_split(1)
            child.compact(True)
            assert child.range.holds(everything(child)[0][0])
            assert child.sstable_bytes() == sum(ref.length_bytes for _, refs in child.record.files for ref in refs)
        assert [cells for child in children for cells in everything(child)] == before

    bench.run(main)


def test_a_tablet_of_one_row_does_not_split_and_a_large_first_row_splits_behind_it(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        assert tablet.split_row() is None
        tablet.mutate([put(b"a", b"f:%05d" % n, bytes(100)) for n in range(3000)])
        for flushed in (False, True):
            if flushed:
                tablet.flush()
            assert tablet.split_row() is None
        tablet.mutate([put(b"b", b"f:a", b"")])
        assert tablet.split_row() == b"b"
        tablet.flush()
        assert tablet.split_row() == b"b"

    bench.run(main)


def test_a_lost_record_change_is_not_taken_for_a_conflict(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        bench.records.errors.append((OutcomeUnknown("the answer was lost"), True))
        tablet.flush()
        assert not tablet.lost
        with pytest.raises(Conflict):
            bench.records.commit(bench.assign(tablet.record), tablet.record.__class__(1, 2, tablet.range, 3))

    bench.run(main)


def test_a_flush_that_waited_for_an_unload_leaves_the_last_record_alone(bench: Bench) -> None:
    """It would name this server's log again, which may be gone when the next owner asks for it."""

    def main() -> None:
        tablet = filled(bench)
        runtime = bench.runtime
        tasks = []

        def flush() -> None:
            tasks.append(runtime.spawn(tablet.flush, name="flush"))
            runtime.sleep(0.05)

        bench.records.before_change = flush
        tablet.freeze_for_unload()
        given_up = tablet.change_record(lambda record: replace(record, owner="", logs=(LogRef(NO_LOG, 9),)))
        tablet.close()
        with pytest.raises(StaleLocation):
            tablet.flush()
        for task in tasks:
            task.join()
        assert len(tasks) == 2
        assert bench.records.record == given_up

    bench.run(main)


def test_a_change_that_waits_while_the_tablet_is_closed_is_not_made(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        late = []

        def wait_for_a_lock() -> None:
            if not late:
                late.append(bench.runtime.spawn(tablet.change_record, lambda record: replace(record, logs=())))
            bench.runtime.sleep(0.05)

        bench.records.before_change = wait_for_a_lock
        given_up = tablet.change_record(lambda record: replace(record, owner=""))
        tablet.close()
        late[0].join()
        assert bench.records.record == given_up

    bench.run(main)
