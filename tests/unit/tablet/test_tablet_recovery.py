"""Loading: logs of several owners, the next sequence, the redo point, families regrouped, small memory."""

import dataclasses

import pytest

from hbtable.commitlog.records import LogRecord, encode_record
from hbtable.errors import Corruption, StaleLocation
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.tablet import LogRef
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.recovery import by_sequence
from hbtable.tablet.shared import SSTABLE_FOLDER
from tests.harness.planted_bugs import is_found
from tests.harness.tablet_bench import Bench, OneRecord, delete, everything, put, values


def test_records_of_several_logs_come_by_sequence_and_of_one_sequence_the_highest_generation() -> None:
    def record(sequence: int, generation: int) -> LogRecord:
        return LogRecord(20, generation, sequence, 0, [])

    first = [record(1, 1), record(3, 1), record(5, 1)]
    second = [record(2, 2), record(3, 2), record(6, 2)]
    expected = [(1, 1), (2, 2), (3, 2), (5, 1), (6, 2)]
    for logs in ([first, second], [second, first]):
        assert [(r.sequence, r.generation) for r in by_sequence(map(iter, logs))] == expected


def test_what_is_spread_over_the_logs_of_three_owners_is_recovered(bench: Bench) -> None:
    def main() -> None:
        for owner in range(3):
            tablet = bench.open()
            tablet.mutate([put(b"r%d" % owner, b"f:a", b""), put(b"r", b"f:a", b"%d" % owner)])
            tablet.increment(b"r", b"g", b"n", 1)
            before = everything(tablet)
            bench.crash()
        tablet = bench.open()
        assert everything(tablet) == before
        assert len(tablet.record.logs) == 4
        assert tablet.needs_old_logs
        tablet.flush()
        assert tablet.record.logs == (LogRef(bench.incarnation, tablet._state.sequence + 1),)
        assert not tablet.needs_old_logs
        assert everything(tablet) == before

    bench.run(main)


def test_sequences_and_time_go_on_even_when_nothing_is_left_of_the_cells(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"")])
        tablet.mutate([delete(b"r", b"f")])
        tablet.compact(True)
        assert tablet.record.files == ()
        sequence = tablet._state.sequence
        bench.crash()
        tablet = bench.open()
        assert tablet._state.sequence == sequence == 2
        tablet.mutate([put(b"r", b"f:a", b"back")])
        assert values(tablet, b"r") == {b"f:a": b"back"}

    bench.run(main)


def test_a_tablet_that_comes_back_to_a_server_does_not_bring_flushed_records_back(bench: Bench) -> None:
    """Bug class 3: the server's log still holds what was flushed, and deleted elsewhere, since the first stay."""

    def main() -> None:
        tablet = bench.open()
        first_server = (bench.incarnation, bench.log, bench.shared)
        tablet.mutate([put(b"r", b"f:a", b"deleted elsewhere")])

        def move() -> None:
            tablet.freeze_for_unload()
            floor = LogRef("", tablet._state.sequence + 1)
            bench.records.record = dataclasses.replace(tablet.record, owner="", logs=(floor,))
            tablet.close()

        move()
        tablet = bench.open()
        assert tablet.needs_old_logs
        tablet.mutate([delete(b"r", b"f")])
        tablet.compact(True)
        assert everything(tablet) == []
        move()
        bench.incarnation, bench.log, bench.shared = first_server
        tablet = bench.load()  # the bench's assign() names this server's log from sequence 0
        tablet.mutate([put(b"s", b"f:a", b"")])
        bench.crash()
        assert [row for row, _ in everything(bench.open())] == [b"s"]

    bench.run(main)


def test_a_record_that_does_not_name_the_new_owners_log_is_completed_before_the_first_write(bench: Bench) -> None:
    def main() -> None:
        bench.start_server()
        bench.records.record = dataclasses.replace(bench.assign(bench.records.record), logs=())
        tablet = bench.load_as_it_is()
        assert bench.records.record.logs == (LogRef(bench.incarnation, 1),)
        tablet.mutate([put(b"r", b"f:a", b"")])
        bench.crash()
        assert len(everything(bench.open())) == 1

    bench.run(main)


def test_recovery_flushes_on_the_way_when_the_logs_hold_more_than_a_memtable(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        for n in range(400):
            tablet.mutate([put(b"%04d" % n, b"f:a", bytes(1000))])
        before = everything(tablet)
        bench.crash()
        bench.options = TabletOptions(memtable_bytes=100_000)
        bench.start_server()
        seen = []
        bench.records.before_change = lambda: seen.append(bench.records.record.logs)
        tablet = bench.load()
        assert everything(tablet) == before
        assert tablet.memtable_bytes < 200_000
        assert len(seen) >= 3
        assert tablet.record.logs[0].incarnation == "server-1"
        bench.crash()
        assert everything(bench.open()) == before

    bench.run(main)


def test_a_damaged_log_stops_the_load_and_gives_the_memory_back() -> None:
    bench = Bench(0, "sync")

    def main() -> None:
        tablet = bench.open()
        for n in range(10):
            tablet.mutate([put(b"%d" % n, b"f:a", b"")])
        bench.crash()
        path = "logs/server-1/0000000001.log"
        content = bench.memory.disk.files[path].content
        content[len(content) // 2] ^= 1
        bench.start_server()
        with pytest.raises(Corruption):
            bench.load()
        assert bench.shared.memtable_bytes == 0

    bench.run(main)


def test_records_of_families_that_the_table_lost_are_dropped(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b""), put(b"r", b"g:a", b"")])
        bench.crash()
        bench.schema = TableSchema(b"t", {b"f": FamilySchema(b"f")}, 2)
        tablet = bench.open()
        assert values(tablet, b"r") == {b"f:a": b""}
        tablet.compact(True)
        assert [key for key, _ in tablet.record.files] == ["f"]
        assert encode_record(1, 1, 1, 1, [])

    bench.run(main)


# ------------------------------------------------------------ schema changes


def schema(*groups: str, version: int) -> TableSchema:
    families = {
        name: FamilySchema(name, locality_group=group) for name, group in zip((b"f", b"g"), groups, strict=True)
    }
    return TableSchema(b"t", families, version)


@pytest.mark.parametrize("flushed", [False, True])
def test_regrouped_families_stay_readable_and_a_major_compaction_rewrites_them(bench: Bench, flushed: bool) -> None:
    def main() -> None:
        tablet = bench.open()
        expected = []
        for version, groups in enumerate((("", ""), ("one", "one"), ("", ""), ("x", "x")), 1):
            tablet.schema = schema(*groups, version=version)
            tablet.mutate([put(b"r%d" % version, b"f:a", b""), put(b"r%d" % version, b"g:a", b"")])
            tablet.mutate([delete(b"r1", b"f"), put(b"r1", b"f:v", b"%d" % version)])
            expected.append(b"r%d" % version)
            if flushed:
                tablet.flush()
            assert [row for row, _ in everything(tablet)] == expected
            assert values(tablet, b"r1") == {b"f:v": b"%d" % version, b"g:a": b""}
            assert values(tablet, b"r%d" % version)[b"g:a"] == b""
        before = everything(tablet)
        tablet.compact(False)
        assert everything(tablet) == before
        bench.schema = tablet.schema
        bench.crash()
        tablet = bench.open()
        assert everything(tablet) == before
        tablet.compact(True)
        assert everything(tablet) == before
        assert [key for key, _ in tablet.record.files] == ["f/g"]
        bench.crash()
        assert everything(bench.open()) == before

    bench.run(main)


def test_a_merge_of_all_files_of_a_new_group_keeps_markers_that_mask_cells_of_an_old_group(bench: Bench) -> None:
    bench.options = TabletOptions(merge_files=2)

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"old"), put(b"s", b"f:a", b"old")])
        tablet.flush()
        tablet.schema = schema("one", "one", version=2)
        for row in (b"r", b"s"):
            tablet.mutate([delete(row, b"f")])
            tablet.flush()
        tablet.compact(False)
        assert [len(refs) for _, refs in tablet.record.files] == [1, 1]
        assert everything(tablet) == []

    bench.run(main)


def test_a_schema_change_while_a_write_waits_for_the_log(bench: Bench) -> None:
    bench = Bench(3, "sync")

    def main() -> None:
        tablet = bench.open()
        writes = [bench.runtime.spawn(tablet.mutate, [put(b"r", b"g:a", b"1"), put(b"r", b"f:a", b"1")])]
        while not tablet._state.sequence:
            bench.runtime.sleep(0)
        tablet.schema = schema("both", "both", version=2)
        writes[0].join()
        assert values(tablet, b"r") == {b"f:a": b"1", b"g:a": b"1"}

    bench.run(main)


def test_a_tablet_that_metadata_does_not_know_is_not_loaded_and_leaves_nothing_behind(bench: Bench) -> None:
    """Its table was dropped while its server was dead (bug class 18)."""

    def main() -> None:
        bench.open().mutate([put(b"r", b"f:a", b"1")])
        bench.crash()
        bench.start_server()
        known = bench.records.record
        row = OneRecord(known)

        def drop() -> None:
            row.record = dataclasses.replace(known, tablet_id=known.tablet_id + 1)

        row.before_change = drop
        with pytest.raises(StaleLocation):
            bench.load_as_it_is(row).flush()
        assert bench.memory.list_files(SSTABLE_FOLDER) == []

    bench.run(main)


def test_the_bugs_planted_in_recovery_are_found() -> None:
    returning = test_a_tablet_that_comes_back_to_a_server_does_not_bring_flushed_records_back
    dropped = test_a_tablet_that_metadata_does_not_know_is_not_loaded_and_leaves_nothing_behind
    overtaken = test_a_schema_change_while_a_write_waits_for_the_log
    is_found("returned", lambda: returning(Bench()))
    is_found("dropped", lambda: dropped(Bench()))
    is_found("overtaken", lambda: overtaken(Bench()))
