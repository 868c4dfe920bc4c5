"""Writes of very many cells, which are built in turns with other tasks of the tablet."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from hbtable.commitlog.records import encode_record, encode_record_in_parts
from hbtable.encoding.pairs_checksum import checksum_in_parts, checksum_of
from hbtable.errors import InvalidRequest, MemoryDamaged, NoSuchFamily, StaleLocation
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_VERSION, PUT, RowMutation
from hbtable.model.mutation import checksum_in_parts as checksum_of_mutation_in_parts
from hbtable.model.mutation import checksum_of as checksum_of_mutation
from hbtable.model.read import ReadSpec
from hbtable.runtime import joining
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.tablet import Tablet
from hbtable.tablet.writes import apply, prepared, writing
from tests.harness.tablet_bench import Bench, delete, everything, put, values

COLUMNS = 2000
"""More than are built between two pauses."""


@pytest.fixture(
    autouse=True,
    params=[(20, False), (20_000, False), (20_000, True)],
    ids=["in a memtable of their own", "in that of the tablet", "by their bytes"],
)
def _few_are_many(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    added_at_once, by_bytes = request.param
    monkeypatch.setattr(prepared, "ADDED_AT_ONCE", added_at_once)
    if by_bytes:  # it shows when the write is built
        monkeypatch.setattr(apply, "_LARGE_CELL_BYTES", 0)
        monkeypatch.setattr(apply, "HEAVY_BYTES", 2000)
        monkeypatch.setattr(joining, "_AT_ONCE_BYTES", 0)
    else:
        monkeypatch.setattr(writing, "_MOST_AT_ONCE", 20)


FEW = ReadSpec(columns={b"f": frozenset((b"00000", b"00001"))})


def bench_that_pauses(seed: int = 0) -> Bench:
    """At each chance there is."""
    bench = Bench(seed, "sync")
    bench.options = TabletOptions(slice_seconds=0.0)
    return bench


def wide(value: bytes, kind: int = PUT, row: bytes = b"wide") -> RowMutation:
    return RowMutation(row, [(kind, b"f", b"%05d" % number, SERVER_TIME, value) for number in range(COLUMNS)])


def whole(value: bytes) -> dict[bytes, bytes]:
    return {b"f:%05d" % number: value for number in range(COLUMNS)}


def while_built(bench: Bench, tablet: Tablet, mutation: RowMutation, then: Callable[[], object]) -> list[str]:
    """`then` in the middle of it; what became of the write: "done", or the error's class."""
    ended: list[str] = []

    def write() -> None:
        try:
            tablet.mutate([mutation])
        except Exception as error:
            ended.append(type(error).__name__)
        else:
            ended.append("done")

    task = bench.runtime.spawn(write)
    for _ in range(4):
        bench.runtime.sleep(0)
    assert not ended
    then()
    task.join()
    return ended


def test_reads_go_on_meanwhile() -> None:
    bench = bench_that_pauses()

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([wide(b"old")])
        seen: list[object] = []
        assert while_built(bench, tablet, wide(b"new"), lambda: seen.append(values(tablet, b"wide", FEW))) == ["done"]
        assert seen == [{b"f:00000": b"old", b"f:00001": b"old"}]
        assert values(tablet, b"wide") == whole(b"new")

    bench.run(main)


@pytest.mark.parametrize("row", [b"wide", b"other"])
def test_another_write_of_the_tablet_comes_after_it(row: bytes) -> None:
    bench = bench_that_pauses()

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([wide(b"old")])
        seen: list[object] = []

        def write() -> None:
            tablet.mutate([put(row, b"f:00000", b"newest")])
            seen.append(values(tablet, b"wide", FEW)[b"f:00001"])

        other = []
        while_built(bench, tablet, wide(b"new"), lambda: other.append(bench.runtime.spawn(write)))
        other[0].join()
        assert seen == [b"new"]
        expected = {**whole(b"new"), b"f:00000": b"newest"} if row == b"wide" else whole(b"new")
        assert values(tablet, b"wide") == expected
        bench.crash()
        assert values(bench.open(), b"wide") == expected

    bench.run(main)


def test_an_increment_reads_before_it_or_after_it() -> None:
    bench = bench_that_pauses()

    def main() -> None:
        tablet = bench.open()
        thousand = (PUT, b"f", b"n", SERVER_TIME, (1000).to_bytes(8, "big"))
        answers: list[int] = []
        counting = []

        def count() -> None:
            counting.append(bench.runtime.spawn(lambda: answers.append(tablet.increment(b"wide", b"f", b"n", 1))))

        mutation = RowMutation(b"wide", [thousand, *wide(b"v").operations])
        assert while_built(bench, tablet, mutation, count) == ["done"]
        counting[0].join()
        last = int.from_bytes(values(tablet, b"wide")[b"f:n"], "big")
        assert (answers[0], last) in ((1, 1000), (1001, 1001))

    bench.run(main)


@pytest.mark.parametrize("seed", range(10))
def test_no_increment_is_lost_beside_many(seed: int) -> None:
    bench = bench_that_pauses(seed)

    def main() -> None:
        tablet = bench.open()
        answers: list[int] = []

        def count() -> None:
            for _ in range(10):
                answers.append(tablet.increment(b"wide", b"f", b"n", 1))
                bench.runtime.sleep(0)

        tasks = [bench.runtime.spawn(count) for _ in range(3)]
        tasks += [bench.runtime.spawn(lambda: tablet.mutate([wide(b"v")])) for _ in range(3)]
        for task in tasks:
            task.join()
            assert task.error is None
        assert sorted(answers) == list(range(1, 31))
        assert values(tablet, b"wide") == {**whole(b"v"), b"f:n": (30).to_bytes(8, "big")}

    bench.run(main)


@pytest.mark.parametrize("seed", range(10))
def test_no_increment_is_lost_beside_many_in_several_rows(seed: int) -> None:
    """Of which the increments hold one, the other or none when it comes."""
    bench = bench_that_pauses(seed)
    rows = (b"other", b"wide")

    def main() -> None:
        tablet = bench.open()
        answers: dict[bytes, list[int]] = {row: [] for row in rows}

        def count(row: bytes) -> None:
            for _ in range(10):
                answers[row].append(tablet.increment(row, b"f", b"n", 1))
                bench.runtime.sleep(0)

        tasks = [bench.runtime.spawn(count, row) for row in rows]
        for _ in range(2):
            tasks.append(bench.runtime.spawn(lambda: tablet.mutate([wide(b"v", row=row) for row in rows])))
        for task in tasks:
            task.join()
            assert task.error is None
        for row in rows:
            assert sorted(answers[row]) == list(range(1, 11))
            assert values(tablet, row) == {**whole(b"v"), b"f:n": (10).to_bytes(8, "big")}

    bench.run(main)


def test_a_tablet_that_is_about_to_leave_does_not_take_it() -> None:
    bench = bench_that_pauses()

    def main() -> None:
        tablet = bench.open()

        def leave() -> None:
            tablet.freeze_for_unload()
            assert not tablet.memtable_bytes
            tablet.close()

        assert while_built(bench, tablet, wide(b"v"), leave) == [StaleLocation.__name__]
        assert everything(bench.open()) == []

    bench.run(main)


def test_it_waits_while_the_tablet_is_frozen_and_goes_on_after() -> None:
    bench = bench_that_pauses()

    def main() -> None:
        tablet = bench.open()

        def freeze() -> None:
            tablet.freeze_for_unload()
            bench.runtime.sleep(1.0)
            assert not tablet.memtable_bytes
            tablet.thaw()

        assert while_built(bench, tablet, wide(b"v"), freeze) == ["done"]
        assert values(tablet, b"wide") == whole(b"v")
        bench.crash()
        assert values(bench.open(), b"wide") == whole(b"v")

    bench.run(main)


def test_a_family_that_is_dropped_meanwhile_is_not_written() -> None:
    bench = bench_that_pauses()

    def main() -> None:
        tablet = bench.open()
        schema = tablet.schema

        def drop() -> None:
            tablet.schema = replace(schema, version=2, families={b"g": schema.families[b"g"]})

        assert while_built(bench, tablet, wide(b"v"), drop) == [NoSuchFamily.__name__]
        assert everything(tablet) == []

    bench.run(main)


def test_what_is_refused_leaves_no_trace_and_lets_the_next_in() -> None:
    bench = bench_that_pauses()

    def main() -> None:
        tablet = bench.open()
        wrong = RowMutation(b"r", [*wide(b"v").operations, (PUT, b"f", b"q", -7, b"v")])
        with pytest.raises(InvalidRequest, match="Timestamp cannot be negative"):
            tablet.mutate([put(b"a", b"f:q", b"v"), wrong])
        changed = wide(b"v")
        changed.checksum = 1
        with pytest.raises(MemoryDamaged):
            tablet.mutate([changed])
        assert everything(tablet) == []
        tablet.mutate([put(b"r", b"f:q", b"v")])
        assert values(tablet, b"r") == {b"f:q": b"v"}

    bench.run(main)


@pytest.mark.parametrize("row", ["text", bytearray(b"r"), 7, None, b"", b"r" * 40_000])
def test_a_row_that_is_none_is_refused_as_in_a_small_write(row: bytes) -> None:
    bench = bench_that_pauses()

    def main() -> None:
        tablet = bench.open()
        with pytest.raises(InvalidRequest) as small:
            tablet.mutate([RowMutation(row, wide(b"v").operations[:2])])
        with pytest.raises(InvalidRequest) as many:
            tablet.mutate([put(b"a", b"f:q", b"v"), wide(b"v", row=row)])
        assert str(many.value) == str(small.value)
        assert everything(tablet) == []

    bench.run(main)


def test_a_writer_that_is_killed_lets_the_next_in() -> None:
    bench = bench_that_pauses()

    def main() -> None:
        tablet = bench.open()
        task = bench.runtime.spawn(lambda: tablet.mutate([wide(b"v")]))
        for _ in range(4):
            bench.runtime.sleep(0)
        task.kill()
        tablet.mutate([put(b"wide", b"f:q", b"v")])
        assert values(tablet, b"wide") == {b"f:q": b"v"}

    bench.run(main)


def test_deletes_of_the_newest_version_and_rows_of_many_kinds() -> None:
    bench = bench_that_pauses()

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([wide(b"old")])
        newest = wide(b"", DELETE_VERSION)
        tablet.mutate([newest, wide(b"v", row=b"other"), delete(b"third", b"f")])
        assert values(tablet, b"wide") == {}
        assert values(tablet, b"other") == whole(b"v")
        tablet.mutate([wide(b"", DELETE_COLUMN, b"other")])
        assert everything(tablet) == []
        tablet.flush()
        bench.crash()
        assert everything(bench.open()) == []

    bench.run(main)


def test_puts_and_deletes_of_the_newest_version_of_very_many_columns() -> None:
    """Each takes back its own put; in steps that grow with their number, and others have their turn."""
    bench = bench_that_pauses()

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"wide", b"f:kept", b"v")])
        deletes = [(DELETE_VERSION, *operation[1:4], b"") for operation in wide(b"v").operations]
        turns: list[None] = []

        def others() -> None:
            while True:
                turns.append(None)
                bench.runtime.sleep(0)

        beside = bench.runtime.spawn(others)
        tablet.mutate([RowMutation(b"wide", [*wide(b"v").operations, *deletes])])
        beside.kill()
        assert len(turns) > COLUMNS
        assert values(tablet, b"wide") == {b"f:kept": b"v"}

    bench.run(main)


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 511, 512, 513, 1500])
def test_parts_make_the_same_bytes(count: int) -> None:
    pairs = [(b"key%d" % number, b"v" * (number % 50)) for number in range(count)]
    pauses: list[None] = []
    pause = lambda: pauses.append(None)  # noqa: E731
    assert b"".join(encode_record_in_parts(1, 2, 3, 4, pairs, pause)) == encode_record(1, 2, 3, 4, pairs)
    assert checksum_in_parts(pairs, pause) == checksum_of(pairs)
    mutation = RowMutation(b"r", [(PUT, b"f", key, SERVER_TIME, value) for key, value in pairs], True, 5)
    assert checksum_of_mutation_in_parts(mutation, pause) == checksum_of_mutation(mutation)
    assert len(pauses) >= count // 512
