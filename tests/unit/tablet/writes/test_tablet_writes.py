"""What a write is checked for, all or nothing, which time it gets, and when it has to wait."""

import pytest

from hbtable.errors import InvalidRequest, LimitExceeded, NoSuchFamily, OutOfSpace, StaleLocation, Unavailable
from hbtable.model.cell import MAX_TIMESTAMP, SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_VERSION, PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import EVERYTHING, ReadSpec
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord
from hbtable.tablet.options import TabletOptions
from hbtable.testing.faulty_fs import FaultPlan, FaultyFileSystem
from tests.harness.planted_bugs import is_found
from tests.harness.tablet_bench import Bench, OneRecord, delete, everything, put, values


@pytest.mark.parametrize(
    ("mutation", "error"),
    [
        (put(b"", b"f:a", b""), InvalidRequest),
        (put(bytes(32768), b"f:a", b""), LimitExceeded),
        (put(b"r", b"nope:a", b""), NoSuchFamily),
        (delete(b"r", b"nope"), NoSuchFamily),
        (put(b"r", b"f:a", b"", -7), InvalidRequest),
        (put(b"r", b"f:a", bytes(10 << 20)), LimitExceeded),
        (RowMutation(b"r", [(99, b"f", b"a", 1, b"")]), InvalidRequest),
        (put(b"zz", b"f:a", b""), StaleLocation),
    ],
)
def test_one_bad_mutation_refuses_the_whole_call(bench: Bench, mutation: RowMutation, error: type[Exception]) -> None:
    bench.records = OneRecord(TabletRecord(16, 20, RowRange(b"", b"z"), 1))

    def main() -> None:
        tablet = bench.open()
        with pytest.raises(error):
            tablet.mutate([put(b"good", b"f:a", b"1"), mutation])
        assert everything(tablet) == []
        assert tablet._state.sequence == 0
        tablet.mutate([put(b"good", b"f:a", b"1"), RowMutation(b"none", [])])
        assert len(everything(tablet)) == 1

    bench.run(main)


def test_the_largest_row_and_cell_are_fine(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        row = b"\xff" * 32767
        tablet.mutate([put(row, b"f:", bytes((10 << 20) - 33_000))])
        assert len(values(tablet, row)[b"f:"]) == (10 << 20) - 33_000

    bench.run(main)


def test_the_message_for_an_unknown_family_names_table_and_family(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        with pytest.raises(NoSuchFamily, match="Column family nope does not exist in table t"):
            tablet.mutate([put(b"r", b"nope:a", b"")])
        with pytest.raises(NoSuchFamily, match="Column family nope does not exist in table t"):
            tablet.read_rows([b"r"], ReadSpec({b"nope": None}))
        with pytest.raises(NoSuchFamily):
            tablet.increment(b"r", b"nope", b"", 1)

    bench.run(main)


def test_within_a_mutation_a_put_survives_the_delete_before_it_and_not_the_one_behind(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        first = (DELETE_FAMILY, b"f", b"", SERVER_TIME, b"")
        last = (DELETE_COLUMN, b"f", b"b", MAX_TIMESTAMP, b"")
        puts = [(PUT, b"f", q, SERVER_TIME, b"new") for q in (b"a", b"b")]
        tablet.mutate([put(b"r", b"f:old", b"")])
        tablet.mutate([RowMutation(b"r", [first, *puts, last])])
        assert values(tablet, b"r") == {b"f:a": b"new"}

    bench.run(main)


def test_with_explicit_times_the_masking_rule_applies(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        operations = [(DELETE_COLUMN, b"f", b"a", 5, b""), (PUT, b"f", b"a", 5, b"")]
        tablet.mutate([RowMutation(b"r", operations)])
        assert values(tablet, b"r") == {}
        tablet.mutate([put(b"r", b"f:a", b"later", 6)])
        assert values(tablet, b"r") == {b"f:a": b"later"}

    bench.run(main)


def test_max_timestamp_means_now(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"", MAX_TIMESTAMP)])
        (row,) = tablet.read_rows([b"r"], EVERYTHING)
        assert row[1][0][1] == bench.runtime.wall_millis()

    bench.run(main)


def test_a_cells_own_time_to_live(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([RowMutation(b"r", [(PUT, b"f", b"a", SERVER_TIME, b"short")], ttl_millis=1000)])
        tablet.append(b"r", [(b"f", b"b", b"x")], 1000)
        assert values(tablet, b"r") == {b"f:a": b"short", b"f:b": b"x"}
        tablet.flush()
        bench.runtime.sleep(1.1)
        assert values(tablet, b"r") == {}

    bench.run(main)


def test_what_skips_the_log_is_lost_in_a_crash_unless_it_was_flushed(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        light = RowMutation(b"light", [(PUT, b"f", b"a", SERVER_TIME, b"")], skip_log=True)
        tablet.mutate([light, put(b"logged", b"f:a", b"")])
        assert len(everything(tablet)) == 2
        bench.crash()
        tablet = bench.open()
        assert [row for row, _ in everything(tablet)] == [b"logged"]
        tablet.mutate([light])
        tablet.flush()
        bench.crash()
        assert [row for row, _ in everything(bench.open())] == [b"light", b"logged"]

    bench.run(main)


def test_each_mutation_that_is_logged_counts_as_one_record(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        light = RowMutation(b"light", [(PUT, b"f", b"a", SERVER_TIME, b"")], skip_log=True)
        wide = RowMutation(b"wide", [(PUT, b"f", column, SERVER_TIME, b"") for column in (b"a", b"b")])
        tablet.mutate([light, put(b"a", b"f:a", b""), wide, RowMutation(b"empty", []), put(b"b", b"f:a", b"")])
        counts = {name: value for name, _, value in bench.registry.counters()}
        assert counts["hbtable_wal_records_total"] == 3

    bench.run(main)


@pytest.mark.parametrize("seed", range(5))
def test_a_write_that_skips_the_log_keeps_its_place_among_those_in_the_logs_queue(seed: int) -> None:
    bench = Bench(seed, "sync")

    def main() -> None:
        tablet = bench.open()
        logged = bench.runtime.spawn(tablet.mutate, [put(b"r", b"f:a", b"1")])
        while not tablet._state.sequence:
            bench.runtime.sleep(0)
        tablet.mutate([RowMutation(b"r", [(PUT, b"f", b"a", SERVER_TIME, b"2")], skip_log=True)])
        logged.join()
        assert values(tablet, b"r") == {b"f:a": b"2"}

    bench.run(main)


@pytest.mark.parametrize("seed", range(5))
def test_a_redo_point_never_runs_ahead_of_what_is_still_in_the_logs_queue(seed: int) -> None:
    bench = Bench(seed, "sync")

    def main() -> None:
        tablet = bench.open()
        logged = bench.runtime.spawn(tablet.mutate, [put(b"r", b"f:a", b"acknowledged")])
        while not tablet._state.sequence:
            bench.runtime.sleep(0)
        light = RowMutation(b"s", [(PUT, b"f", b"a", SERVER_TIME, b"2")], skip_log=True)
        unlogged = bench.runtime.spawn(tablet.mutate, [light])
        while tablet._state.sequence < 2:
            bench.runtime.sleep(0)
        tablet.flush()
        logged.join()
        unlogged.join()
        bench.crash()
        assert values(bench.open(), b"r") == {b"f:a": b"acknowledged"}

    bench.run(main)


def test_a_refused_write_is_not_seen_and_the_next_one_is(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        bench.memory.disk.capacity_bytes = bench.memory.disk.used_bytes
        with pytest.raises(OutOfSpace):
            tablet.mutate([put(b"r", b"f:a", b"refused")])
        assert values(tablet, b"r") == {}
        bench.memory.disk.capacity_bytes = None
        tablet.mutate([put(b"s", b"f:a", b"")])
        before = everything(tablet)
        bench.crash()
        assert everything(bench.open()) == before

    bench.run(main)


DELETION = RowMutation(b"r", [(DELETE_COLUMN, b"f", b"a", SERVER_TIME, b"")])
NEWEST = RowMutation(b"r", [(DELETE_VERSION, b"f", b"a", SERVER_TIME, b"")])


@pytest.mark.parametrize("earlier", [0, 1, 2])
@pytest.mark.parametrize("deletes", [1, 2, 3])
def test_deleting_newest_versions_comes_to_the_put_of_the_same_mutation_last(
    bench: Bench, earlier: int, deletes: int
) -> None:
    """As in HBase: those that were there before, then what the mutation puts; never what came before the mutation and
    another column or time."""

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"old", time) for time in range(1, earlier + 1)])
        operations = [(PUT, b"f", b"b", SERVER_TIME, b"b"), (PUT, b"f", b"a", SERVER_TIME, b"new")]
        tablet.mutate([RowMutation(b"r", [*operations, *NEWEST.operations * deletes])])
        assert (values(tablet, b"r").get(b"f:a") == b"new") == (deletes <= earlier)
        assert values(tablet, b"r")[b"f:b"] == b"b"
        tablet.mutate([RowMutation(b"s", [(PUT, b"f", b"a", 5, b"timed"), *NEWEST.operations])])
        assert values(tablet, b"s") == {b"f:a": b"timed"}
        tablet.mutate([put(b"r", b"f:a", b"later")])
        assert values(tablet, b"r")[b"f:a"] == b"later"

    bench.run(main)


@pytest.mark.parametrize(
    "delete",
    [
        lambda tablet: tablet.mutate([DELETION]),
        lambda tablet: tablet.mutate([NEWEST]),
        lambda tablet: tablet.check_and_mutate(b"r", b"f", b"a", b"1", DELETION),
        lambda tablet: tablet.check_and_mutate(b"r", b"f", b"a", b"1", NEWEST),
    ],
    ids=["delete", "newest version", "check and delete", "check and delete newest version"],
)
def test_a_delete_that_finds_the_disk_full_goes_on_in_the_room_that_is_given_up(bench: Bench, delete) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"1")])
        disk = bench.memory.disk

        def found_full() -> None:
            bench.shared.out_of_space = "the disk is full"
            bench.runtime.spawn(give_up, name="ballast")

        def give_up() -> None:
            bench.runtime.sleep(0.02)
            disk.capacity_bytes = None

        disk.capacity_bytes = disk.used_bytes
        bench.memory.when_full = found_full
        delete(tablet)
        assert values(tablet, b"r") == {}
        bench.crash()
        assert values(bench.open(), b"r") == {}

    bench.run(main)


def test_a_checked_put_that_finds_the_disk_full_is_refused(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        bench.memory.disk.capacity_bytes = bench.memory.disk.used_bytes
        bench.memory.when_full = lambda: setattr(bench.shared, "out_of_space", "the disk is full")
        for _ in range(2):
            with pytest.raises(OutOfSpace):
                tablet.check_and_mutate(b"r", b"f", b"a", None, put(b"r", b"f:a", b"1"))
        assert values(tablet, b"r") == {}

    bench.run(main)


# ------------------------------------------------------------ waiting


def test_writers_wait_for_memory_and_a_flush_lets_them_go_on(bench: Bench) -> None:
    bench.memtable_limit_bytes = 1000

    def main() -> None:
        tablet = bench.open()
        rung = []
        bench.shared.attention = lambda: rung.append(True)
        tablet.mutate([put(b"r", b"f:a", bytes(1000))])
        waiting = bench.runtime.spawn(tablet.mutate, [put(b"s", b"f:a", b"")])
        bench.runtime.sleep(1)
        assert values(tablet, b"s") == {}
        assert rung
        tablet.flush()
        waiting.join()
        assert waiting.error is None
        assert b"s" in [row for row, _ in everything(tablet)]
        assert 0 < bench.shared.memtable_bytes < 1000

    bench.run(main)


def test_without_a_flush_they_are_told_unavailable_and_nothing_is_applied(bench: Bench) -> None:
    bench.memtable_limit_bytes = 1000

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", bytes(1000))])
        with pytest.raises(Unavailable, match="wait for a flush"):
            tablet.mutate([put(b"s", b"f:a", b"")])
        assert len(everything(tablet)) == 1

    bench.run(main)


def test_large_writes_wait_for_memory_before_others_do(bench: Bench) -> None:
    """Whoever sends them would fill all of it, and every other client would wait with them."""
    bench.memtable_limit_bytes = 200_000

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", bytes(110_000))])
        cells = [(PUT, b"f", b"%05d" % number, SERVER_TIME, b"") for number in range(5001)]
        large = bench.runtime.spawn(tablet.mutate, [RowMutation(b"l", cells)])
        bench.runtime.sleep(1)
        tablet.mutate([put(b"s", b"f:a", b"")])
        assert values(tablet, b"s") == {b"f:a": b""}
        assert values(tablet, b"l") == {}
        tablet.flush()
        large.join()
        assert large.error is None
        assert len(values(tablet, b"l")) == 5001

    bench.run(main)


def test_metadata_never_waits_for_memory(bench: Bench) -> None:
    bench.memtable_limit_bytes = 1000
    bench.records = OneRecord(TabletRecord(METADATA_TABLE_ID, 2, RowRange(), 1))

    def main() -> None:
        tablet = bench.open()
        for n in range(3):
            tablet.mutate([put(b"%d" % n, b"f:a", bytes(1000))])
            assert tablet.increment(b"r", b"f", b"n", 1) == n + 1

    bench.run(main)


def test_too_many_sstables_stall_writers_until_a_compaction(bench: Bench) -> None:
    bench.options = TabletOptions(stall_files=3)

    def main() -> None:
        tablet = bench.open()
        for n in range(3):
            tablet.mutate([put(b"%d" % n, b"f:a", b"")])
            tablet.flush()
        with pytest.raises(Unavailable, match="3 SSTables"):
            tablet.mutate([put(b"s", b"f:a", b"")])
        waiting = bench.runtime.spawn(tablet.mutate, [put(b"s", b"f:a", b"")])
        bench.runtime.sleep(1)
        tablet.compact(True)
        waiting.join()
        assert waiting.error is None

    bench.run(main)


def test_who_waits_for_work_that_cannot_come_hears_why(bench: Bench) -> None:
    bench.options = TabletOptions(stall_files=3, write_wait_seconds=1.0)
    bench.memtable_limit_bytes = 1000
    plan = FaultPlan()
    bench.fs = FaultyFileSystem(bench.memory, plan, bench.runtime)

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", bytes(1000))])
        plan.fail("create", Unavailable("no DataNode"), path="sstables/", times=-1)
        with pytest.raises(Unavailable, match="no DataNode"):
            tablet.flush()
        with pytest.raises(Unavailable, match=r"wait for a flush; the last one failed: no DataNode; nothing was app"):
            tablet.mutate([put(b"s", b"f:a", b"")])
        plan.clear()
        for n in range(3):
            tablet.flush()
            if n < 2:
                tablet.mutate([put(b"%d" % n, b"f:a", b"")])
        bench.shared.compactions_on = False
        with pytest.raises(Unavailable, match=r"waits for a compaction; compactions are switched off .*tion_switch"):
            tablet.mutate([put(b"s", b"f:a", b"")])
        bench.shared.compactions_on = True
        plan.fail("create", Unavailable("no DataNode"), path="sstables/", times=-1)
        with pytest.raises(Unavailable, match="no DataNode"):
            tablet.compact(True)
        with pytest.raises(Unavailable, match=r"waits for a compaction; the last one failed: no DataNode; nothing"):
            tablet.mutate([put(b"s", b"f:a", b"")])
        bench.shared.set_out_of_space("the disk is full; make room")
        with pytest.raises(Unavailable, match=r"waits for a compaction; the disk is full; make room; nothing"):
            tablet.mutate([delete(b"s", b"f:a")])
        bench.shared.set_out_of_space("")
        plan.clear()
        tablet.flush()
        tablet.compact(True)
        tablet.mutate([put(b"s", b"f:a", b"")])

    bench.run(main)


@pytest.mark.parametrize("durability", ["os", "sync"])
def test_frozen_for_an_unload_writers_wait_and_nothing_is_in_memory_alone(durability: str) -> None:
    bench = Bench(0, durability)

    def main() -> None:
        tablet = bench.open()
        writers = [bench.runtime.spawn(tablet.mutate, [put(b"%d" % n, b"f:a", b"")]) for n in range(20)]
        counter = bench.runtime.spawn(tablet.increment, b"c", b"f", b"n", 1)
        bench.runtime.sleep(0)
        tablet.freeze_for_unload()
        assert tablet.memtable_bytes == 0
        late = bench.runtime.spawn(tablet.mutate, [put(b"late", b"f:a", b"")])
        bench.runtime.sleep(1)
        frozen = everything(tablet)
        assert tablet.memtable_bytes == 0
        bench.crash()
        assert everything(bench.open()) == frozen
        tablet.close()
        for task in [*writers, counter, late]:
            task.join()
            assert task.error is None or isinstance(task.error, StaleLocation)
        assert isinstance(late.error, StaleLocation)

    bench.run(main)


def test_thawed_it_goes_on(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.freeze_for_unload()
        waiting = bench.runtime.spawn(tablet.mutate, [put(b"r", b"f:a", b"")])
        bench.runtime.sleep(1)
        tablet.thaw()
        waiting.join()
        assert waiting.error is None
        assert len(everything(tablet)) == 1

    bench.run(main)


def test_a_closed_tablet_answers_stale_location_and_gives_its_memory_back(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"")])
        assert bench.shared.memtable_bytes > 0
        tablet.close()
        tablet.close()
        assert bench.shared.memtable_bytes == 0
        for call in (
            lambda: tablet.mutate([put(b"r", b"f:a", b"")]),
            lambda: tablet.read_rows([b"r"], EVERYTHING),
            lambda: everything(tablet),
            lambda: tablet.increment(b"r", b"f", b"n", 1),
        ):
            with pytest.raises(StaleLocation):
                call()

    bench.run(main)


def test_the_planted_bug_is_found() -> None:
    refused = put(b"r", b"nope:a", b"")
    is_found("halfway", lambda: test_one_bad_mutation_refuses_the_whole_call(Bench(), refused, NoSuchFamily))
