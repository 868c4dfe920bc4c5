"""Read-modify-writes and plain writes of the same rows at the same time (bug class 12)."""

from collections.abc import Callable
from unittest.mock import patch

import pytest

from hbtable.commitlog.segments.appender import SegmentAppender
from hbtable.errors import InvalidRequest, NotACounter, OutOfSpace
from hbtable.model.cell import MAX_TIMESTAMP, SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_VERSION, PUT, RowMutation
from hbtable.model.read import ALL_VERSIONS, ReadSpec
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.state import TabletState
from hbtable.tablet.tablet import Tablet
from hbtable.tablet.writes import writing
from tests.harness.planted_bugs import is_found
from tests.harness.tablet_bench import Bench, VanishingFileSystem, delete, put, values

BOTH = pytest.mark.parametrize("durability", ["os", "sync"])


@pytest.fixture
def slow_syncs_bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Each sync of the log takes a second."""
    bench = Bench(0, "sync")
    sync = SegmentAppender.sync

    def slowly(self: SegmentAppender) -> None:
        bench.runtime.sleep(1)
        sync(self)

    monkeypatch.setattr(SegmentAppender, "sync", slowly)
    return bench


def number(value: int) -> bytes:
    return value.to_bytes(8, "big", signed=True)


@BOTH
@pytest.mark.parametrize("seed", range(5))
def test_no_increment_is_lost_among_tasks(seed: int, durability: str) -> None:
    bench = Bench(seed, durability)

    def main() -> None:
        tablet = bench.open()
        answers = []

        def client() -> None:
            for n in range(10):
                answers.append(tablet.increment(b"r%d" % (n % 2), b"f", b"n", 1))
                tablet.mutate([put(b"r%d" % (n % 3), b"f:x", b"1"), put(b"other", b"f:x", b"1")])
                bench.runtime.sleep(bench.runtime.random.random() * 0.01)

        tasks = [bench.runtime.spawn(client) for _ in range(10)]
        for _ in range(5):
            tablet.flush()
            bench.runtime.sleep(0.01)
        for task in tasks:
            task.join()
            assert task.error is None
        assert sorted(answers) == sorted([*range(1, 51), *range(1, 51)])
        assert values(tablet, b"r0")[b"f:n"] == number(50)

    bench.run(main)


def test_increments_of_one_counter_share_syncs_and_nobody_sees_them_before(slow_syncs_bench: Bench) -> None:
    bench = slow_syncs_bench

    def main() -> None:
        tablet = bench.open()
        tablet.increment(b"r", b"f", b"n", 1)
        answers: list[int] = []
        seen: list[tuple[int, int]] = []

        def client() -> None:
            answers.append(tablet.increment(b"r", b"f", b"n", 1))
            seen.append((answers[-1], int.from_bytes(values(tablet, b"r")[b"f:n"], "big")))

        def reader() -> None:
            while len(answers) < 20 and not any(task.error for task in clients):
                number_now = int.from_bytes(values(tablet, b"r")[b"f:n"], "big")
                assert number_now in (1, 2, 21), "what is not synced is seen"
                bench.runtime.sleep(0.01)

        started = bench.runtime.clock_seconds()
        clients = [bench.runtime.spawn(client) for _ in range(20)]
        for task in [*clients, bench.runtime.spawn(reader)]:
            task.join()
            assert task.error is None
        assert sorted(answers) == list(range(2, 22))
        assert all(mine <= there for mine, there in seen)
        assert bench.runtime.clock_seconds() - started < 2.5, "one sync for the first, one for the others"

    bench.run(main)


def test_an_increment_follows_no_cell_that_is_hidden(slow_syncs_bench: Bench) -> None:
    bench = slow_syncs_bench

    def main() -> None:
        tablet = bench.open()
        future = bench.runtime.wall_millis() + 1_000_000
        tablet.mutate([RowMutation(b"r", [(DELETE_COLUMN, b"f", b"n", future, b"")])])
        answers: list[int] = []
        tasks = [bench.runtime.spawn(lambda: answers.append(tablet.increment(b"r", b"f", b"n", 1))) for _ in range(5)]
        for task in tasks:
            task.join()
            assert task.error is None
        assert answers == [1] * 5

    bench.run(main)


def test_other_writes_of_the_row_come_between_increments_in_their_order(slow_syncs_bench: Bench) -> None:
    bench = slow_syncs_bench

    def main() -> None:
        tablet = bench.open()
        tablet.increment(b"r", b"f", b"n", 1)
        answers: list[int] = []

        def client() -> None:
            answers.append(tablet.increment(b"r", b"f", b"n", 1))

        first = bench.runtime.spawn(client)
        while not tablet._state.row_locks.in_flight:
            bench.runtime.sleep(0)
        plain = bench.runtime.spawn(tablet.mutate, [put(b"r", b"f:n", number(100))])
        while len(tablet._state.row_locks.in_flight) < 2:
            bench.runtime.sleep(0)
        tasks = [first, plain, *[bench.runtime.spawn(client) for _ in range(3)]]
        for task in tasks:
            task.join()
            assert task.error is None
        assert answers == [2, 101, 102, 103]

    bench.run(main)


@pytest.mark.parametrize("waits", ["in the log's queue", "at the gate"])
def test_an_increment_of_what_another_one_brings_that_is_refused_counts_nothing_of_it(waits: str) -> None:
    bench = Bench(0, "sync")
    append = SegmentAppender.append
    outcomes: list[object] = []

    def slowly(self: SegmentAppender, *arguments: bytes) -> None:
        bench.runtime.sleep(1)
        append(self, *arguments)

    def main() -> None:
        tablet = bench.open()
        tablet.increment(b"r", b"f", b"n", 1)
        state, disk = tablet._state, bench.memory.disk

        def client() -> None:
            try:
                outcomes.append(tablet.increment(b"r", b"f", b"n", 1))
            except OutOfSpace:
                outcomes.append("refused")

        with patch.object(SegmentAppender, "append", slowly):
            first = bench.runtime.spawn(client)
            while not state.row_locks.in_flight:
                bench.runtime.sleep(0)
            if waits == "at the gate":
                state.gate.hold()
            second = bench.runtime.spawn(client)
            bench.runtime.sleep(0.5)
            assert len(state.row_locks.in_flight) == (1 if waits == "at the gate" else 2)
            disk.capacity_bytes = disk.used_bytes
            first.join()
            disk.capacity_bytes = None
            if waits == "at the gate":
                state.gate.let_go()
            second.join()
        assert outcomes == (["refused", 2] if waits == "at the gate" else ["refused", "refused"])
        assert tablet.increment(b"r", b"f", b"n", 0) == len([one for one in outcomes if one != "refused"]) + 1

    bench.run(main)


@BOTH
@pytest.mark.parametrize("seed", range(5))
def test_of_many_check_and_puts_of_a_missing_cell_exactly_one_succeeds(seed: int, durability: str) -> None:
    bench = Bench(seed, durability)

    def main() -> None:
        tablet = bench.open()
        won = []

        def client(name: int) -> None:
            if tablet.check_and_mutate(b"r", b"f", b"lock", None, put(b"r", b"f:lock", b"%d" % name)):
                won.append(name)

        tasks = [bench.runtime.spawn(client, name) for name in range(20)]
        tablet.mutate([put(b"r", b"f:x", b"")])
        for task in tasks:
            task.join()
            assert task.error is None
        assert len(won) == 1
        assert values(tablet, b"r")[b"f:lock"] == b"%d" % won[0]

    bench.run(main)


@pytest.mark.parametrize("seed", range(10))
def test_batches_over_rows_that_are_counted_meanwhile_neither_hang_nor_lose(seed: int) -> None:
    bench = Bench(seed, "sync")

    def main() -> None:
        tablet = bench.open()
        rows = [b"%d" % n for n in range(6)]

        def counter(row: bytes) -> None:
            for _ in range(8):
                tablet.increment(row, b"f", b"n", 1)

        def batcher(order: list[bytes]) -> None:
            for _ in range(8):
                tablet.mutate([put(row, b"f:x", b"") for row in order])

        tasks = [bench.runtime.spawn(counter, row) for row in rows]
        tasks += [bench.runtime.spawn(batcher, order) for order in (rows, rows[::-1], rows[3:] + rows[:3])]
        for task in tasks:
            task.join()
            assert task.error is None
        assert [values(tablet, row)[b"f:n"] for row in rows] == [number(8)] * 6
        assert not tablet._state.row_locks.held
        assert not tablet._state.row_locks.in_flight

    bench.run(main)


Change = Callable[[Tablet], object]
READ_MODIFY_WRITES: list[tuple[Change, bytes]] = [
    (lambda tablet: tablet.increment(b"r", b"f", b"n", 1), number(101)),
    (lambda tablet: tablet.append(b"r", [(b"f", b"n", b"!")]), number(100) + b"!"),
    (lambda tablet: tablet.check_and_mutate(b"r", b"f", b"n", number(100), put(b"r", b"f:n", b"seen")), b"seen"),
]


@pytest.mark.parametrize(("change", "expected"), READ_MODIFY_WRITES)
def test_a_write_that_is_still_in_the_logs_queue_is_waited_for(change: Change, expected: bytes) -> None:
    bench = Bench(0, "sync")

    def main() -> None:
        tablet = bench.open()
        plain = bench.runtime.spawn(tablet.mutate, [put(b"r", b"f:n", number(100)), put(b"s", b"f:n", b"")])
        while not tablet._state.row_locks.in_flight:
            bench.runtime.sleep(0)
        change(tablet)
        plain.join()
        assert values(tablet, b"r") == {b"f:n": expected}

    bench.run(main)


@pytest.mark.parametrize(("change", "expected"), READ_MODIFY_WRITES)
@pytest.mark.parametrize("seed", range(3))
def test_no_write_slips_in_between_the_read_and_the_write(change: Change, expected: bytes, seed: int) -> None:
    bench = Bench(seed)
    bench.fs = VanishingFileSystem(bench.memory, lambda: bench.runtime.sleep(0.01))

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:n", number(100))])
        tablet.flush()
        bench.cache.drop_file(tablet.record.files[0][1][0].path)
        task = bench.runtime.spawn(change, tablet)
        while not tablet._state.row_locks.held:
            bench.runtime.sleep(0)
        late = [
            bench.runtime.spawn(tablet.mutate, [put(b"r", b"f:n", b"last"), put(b"s", b"f:n", b"")]) for _ in range(2)
        ]
        bench.runtime.sleep(0.005)
        assert values(tablet, b"s") == {}
        for one in [task, *late]:
            one.join()
            assert one.error is None
        assert values(tablet, b"r") == {b"f:n": b"last"}
        cells = tablet.read_rows([b"r"], ReadSpec(max_versions=3))[0][1]
        assert all(value in (b"last", expected, number(100)) for _, _, value in cells)

    bench.run(main)


@pytest.mark.parametrize(("change", "expected"), READ_MODIFY_WRITES)
def test_none_reads_a_row_of_a_batch_that_waits_at_the_gate(bench: Bench, change: Change, expected: bytes) -> None:
    """Another row of the batch was held before the gate was shut, as it is while a very large write is built."""

    def main() -> None:
        tablet = bench.open()
        state = tablet._state
        state.row_locks.acquire(b"s")
        plain = bench.runtime.spawn(tablet.mutate, [put(b"r", b"f:n", number(100)), put(b"s", b"f:n", b"")])
        eventually(bench, lambda: bool(state.row_locks.held[b"s"]))
        state.gate.hold()
        state.row_locks.release(b"s")
        stalls = state.shared.stalls.value
        eventually(bench, lambda: state.shared.stalls.value > stalls)
        task = bench.runtime.spawn(change, tablet)
        for _ in range(10):
            bench.runtime.sleep(0)
        state.gate.let_go()
        for one in (plain, task):
            one.join()
            assert one.error is None
        assert values(tablet, b"r") in ({b"f:n": number(100)}, {b"f:n": expected})
        assert not state.row_locks.held

    bench.run(main)


DELETES_NEWEST = (DELETE_VERSION, b"f", b"n", SERVER_TIME, b"")
PLAIN_WRITES: dict[str, Callable[[Tablet], object]] = {
    "very many cells": lambda tablet: tablet.mutate(
        [RowMutation(b"r", [(PUT, b"f", b"%d" % column, SERVER_TIME, b"") for column in range(30)])]
    ),
    "a delete of the newest": lambda tablet: tablet.mutate([RowMutation(b"r", [DELETES_NEWEST])]),
    "very many of them": lambda tablet: tablet.mutate([RowMutation(b"r", [DELETES_NEWEST] * 30)]),
    "a row that is held": lambda tablet: tablet.mutate([put(b"r", b"f:n", b""), put(b"s", b"f:n", b"")]),
    "very many rows": lambda tablet: tablet.mutate([put(b"r%02d" % row, b"f:n", b"") for row in range(30)]),
}


@pytest.mark.parametrize("waits_for", ["memory", "a compaction", "another write"])
@pytest.mark.parametrize("when", ["before", "while it waits for a row", "while it is resolved"])
@pytest.mark.parametrize("what", PLAIN_WRITES)
def test_no_row_is_held_by_a_write_that_waits_at_the_gate(
    bench: Bench, what: str, when: str, waits_for: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes and read-modify-writes of the row would wait as long, although there is room for them."""
    monkeypatch.setattr(writing, "_MOST_AT_ONCE", 20)

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:n", b"old")])
        state = tablet._state
        stalls = state.shared.stalls.value

        def stop(stops: bool = True) -> None:
            if waits_for == "memory":
                state.shared.memtable_limit_bytes = state.shared.admit_above_bytes = -1 if stops else 1 << 30
                state.shared.memory_freed.set()
            elif waits_for == "a compaction":
                state.gate.stall(99 if stops else 0)
            else:
                (state.gate.hold if stops else state.gate.let_go)()

        if when == "before":
            stop()
            task = bench.runtime.spawn(PLAIN_WRITES[what], tablet)
        elif when == "while it waits for a row":
            for row in (b"r", b"r07", b"s"):
                state.row_locks.acquire(row)
            task = bench.runtime.spawn(PLAIN_WRITES[what], tablet)
            eventually(bench, lambda: any(state.row_locks.held.values()))
            stop()
            state.row_locks.release_all((b"r", b"r07", b"s"))
        else:
            resolve = writing.with_times

            def resolved(of: TabletState, mutation: RowMutation, pause: Callable[[], None]) -> RowMutation:
                made = resolve(of, mutation, pause)
                if state.shared.stalls.value == stalls and not state.gate.stops():
                    stop()
                return made

            monkeypatch.setattr(writing, "with_times", resolved)
            task = bench.runtime.spawn(PLAIN_WRITES[what], tablet)
        eventually(bench, lambda: state.shared.stalls.value > stalls or task.join(0))
        assert not state.row_locks.held
        stop(False)
        task.join()
        assert task.error is None
        assert not state.row_locks.held

    bench.run(main)


def eventually(bench: Bench, reached: Callable[[], bool]) -> None:
    while not reached():
        bench.runtime.sleep(0)


def test_a_refused_increment_passes_its_row_lock_on(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.increment(b"r", b"f", b"n", 1)
        bench.memory.disk.capacity_bytes = bench.memory.disk.used_bytes
        with pytest.raises(OutOfSpace):
            tablet.increment(b"r", b"f", b"n", 1)
        bench.memory.disk.capacity_bytes = None
        assert tablet.increment(b"r", b"f", b"n", 1) == 2

    bench.run(main)


def test_counters_as_hbase_does_them(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        assert tablet.increment(b"r", b"f", b"n", 0) == 0
        assert values(tablet, b"r") == {b"f:n": number(0)}
        assert tablet.increment(b"r", b"f", b"n", -5) == -5
        tablet.mutate([put(b"r", b"f:n", number(2**63 - 1))])
        assert tablet.increment(b"r", b"f", b"n", 1) == -(2**63)
        tablet.mutate([put(b"r", b"f:n", b"text")])
        with pytest.raises(NotACounter, match="it's 4 bytes wide: column b'f:n' of row b'r' is no counter"):
            tablet.increment(b"r", b"f", b"n", 1)

    bench.run(main)


def test_over_a_cell_of_the_future_the_new_one_is_one_later(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        future = bench.runtime.wall_millis() + 1_000_000
        tablet.mutate([put(b"r", b"f:n", number(1), future), put(b"r", b"f:a", b"x", future)])
        assert tablet.increment(b"r", b"f", b"n", 1) == 2
        assert tablet.append(b"r", [(b"f", b"a", b"y")]) == [(b"f:a", future + 1, b"xy")]
        assert values(tablet, b"r") == {b"f:n": number(2), b"f:a": b"xy"}
        # explicit times never move the clock
        tablet.mutate([put(b"r", b"f:b", b"")])
        assert {c: t for c, t, _ in tablet.read_rows([b"r"], ReadSpec())[0][1]}[b"f:b"] < future

    bench.run(main)


def test_after_a_check_of_a_cell_of_the_future_the_mutation_has_that_time(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        future = bench.runtime.wall_millis() + 1_000_000
        tablet.mutate([put(b"r", b"f:lock", b"free", future)])
        both = RowMutation(b"r", [(PUT, b"f", b"lock", SERVER_TIME, b"mine"), (PUT, b"f", b"explicit", 5, b"stays")])
        assert tablet.check_and_mutate(b"r", b"f", b"lock", b"free", both)
        assert not tablet.check_and_mutate(b"r", b"f", b"lock", b"free", both)
        assert [cell[:2] for cell in tablet.read_rows([b"r"], ReadSpec())[0][1]] == [
            (b"f:explicit", 5),
            (b"f:lock", future),
        ]
        assert tablet.check_and_mutate(b"r", b"f", b"lock", b"mine", delete(b"r", b"f:lock"))
        assert values(tablet, b"r") == {b"f:explicit": b"stays"}
        # explicit times never move the clock
        tablet.mutate([put(b"r", b"f:b", b"")])
        assert {c: t for c, t, _ in tablet.read_rows([b"r"], ReadSpec())[0][1]}[b"f:b"] < future

    bench.run(main)


def test_after_a_check_of_a_cell_of_the_future_a_put_survives_the_delete_before_it(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"old", bench.runtime.wall_millis() + 1_000_000)])
        replace = RowMutation(
            b"r", [(DELETE_COLUMN, b"f", b"a", SERVER_TIME, b""), (PUT, b"f", b"a", SERVER_TIME, b"new")]
        )
        assert tablet.check_and_mutate(b"r", b"f", b"a", b"old", replace)
        assert values(tablet, b"r") == {b"f:a": b"new"}

    bench.run(main)


@pytest.mark.parametrize("flushed", [False, True])
@pytest.mark.parametrize("added_in", [0, 3])
def test_a_cells_own_time_to_live_goes_on_through_increment_and_append(flushed: bool, added_in: int) -> None:
    """Also in a family that was added later, whose name in cell keys is another one."""
    bench = Bench(schema=TableSchema(b"t", {b"f": FamilySchema(b"f", added_in=added_in)}, version=3))

    def main() -> None:
        tablet = bench.open()
        first = RowMutation(b"r", [(PUT, b"f", b"n", SERVER_TIME, number(1)), (PUT, b"f", b"a", SERVER_TIME, b"x")])
        first.ttl_millis = 10_000
        tablet.mutate([first, put(b"r", b"f:b", b"immortal")])
        if flushed:
            tablet.flush()
        bench.runtime.sleep(8)
        assert tablet.increment(b"r", b"f", b"n", 1) == 2
        tablet.append(b"r", [(b"f", b"a", b"y"), (b"f", b"b", b"!")])
        bench.runtime.sleep(8)  # the first cells have ended, the new ones have not
        assert values(tablet, b"r") == {b"f:a": b"xy", b"f:b": b"immortal!", b"f:n": number(2)}
        tablet.append(b"r", [(b"f", b"a", b"z")], 60_000)
        bench.runtime.sleep(8)
        assert values(tablet, b"r") == {b"f:a": b"xyz", b"f:b": b"immortal!"}
        bench.crash()
        tablet = bench.open()
        bench.runtime.sleep(60)
        assert values(tablet, b"r") == {b"f:b": b"immortal!"}

    bench.run(main)


def test_the_time_to_live_of_an_overwritten_cell_of_the_same_time_is_not_inherited(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        now = bench.runtime.wall_millis()
        tablet.mutate([RowMutation(b"r", [(PUT, b"f", b"a", now, b"short")], ttl_millis=1000)])
        tablet.mutate([put(b"r", b"f:a", b"plain", now)])
        tablet.append(b"r", [(b"f", b"a", b"!")])
        bench.runtime.sleep(2)
        assert values(tablet, b"r") == {b"f:a": b"plain!"}

    bench.run(main)


def test_a_column_appended_to_twice_gets_the_last_and_both_are_answered(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"0")])
        answer = tablet.append(b"r", [(b"g", b"z", b"1"), (b"f", b"a", b"1"), (b"f", b"a", b"2")])
        assert [(column, value) for column, _, value in answer] == [(b"g:z", b"1"), (b"f:a", b"01"), (b"f:a", b"02")]
        assert values(tablet, b"r") == {b"f:a": b"02", b"g:z": b"1"}
        assert answer[0][1] == tablet.read_rows([b"r"], ReadSpec())[0][1][0][1]

    bench.run(main)


@pytest.mark.parametrize(
    ("present", "expected", "passes"),
    [
        (None, None, True),
        (None, b"", True),
        (b"", None, True),
        (b"1", b"1", True),
        (b"1", None, False),
        (None, b"1", False),
    ],
)
def test_what_check_and_mutate_compares(
    bench: Bench, present: bytes | None, expected: bytes | None, passes: bool
) -> None:
    def main() -> None:
        tablet = bench.open()
        if present is not None:
            tablet.mutate([put(b"r", b"f:a", present)])
        assert tablet.check_and_mutate(b"r", b"f", b"a", expected, put(b"r", b"f:b", b"done")) is passes
        assert (b"f:b" in values(tablet, b"r")) is passes
        with pytest.raises(InvalidRequest):
            tablet.check_and_mutate(b"r", b"f", b"a", expected, put(b"s", b"f:b", b"done"))

    bench.run(main)


def test_a_server_timed_version_delete_masks_the_newest_version_only(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        for time in (10, 20, 30):
            tablet.mutate([put(b"r", b"f:a", b"%d" % time, time)])
        drop = (DELETE_VERSION, b"f", b"a", MAX_TIMESTAMP, b"")
        tablet.mutate([RowMutation(b"r", [drop, (PUT, b"f", b"b", -1, b"")]), RowMutation(b"none", [drop])])
        spec = ReadSpec({b"f": frozenset((b"a",))}, max_versions=ALL_VERSIONS)
        assert [cell[1] for cell in tablet.read_rows([b"r"], spec)[0][1]] == [20, 10]
        tablet.mutate([RowMutation(b"r", [drop, drop])])
        assert tablet.read_rows([b"r"], spec) == []

    bench.run(main)


def test_server_timed_operations_of_one_millisecond_keep_their_order(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        for n in range(50):
            tablet.mutate([delete(b"r", b"f:a"), put(b"r", b"f:a", b"%d" % n)])
            assert values(tablet, b"r") == {b"f:a": b"%d" % n}
            tablet.mutate([delete(b"r", b"f")])
            assert values(tablet, b"r") == {}

    bench.run(main)


@pytest.mark.parametrize(("change", "expected"), READ_MODIFY_WRITES)
def test_the_planted_bug_is_found(change: Change, expected: bytes) -> None:
    is_found("stale", lambda: test_a_write_that_is_still_in_the_logs_queue_is_waited_for(change, expected))
