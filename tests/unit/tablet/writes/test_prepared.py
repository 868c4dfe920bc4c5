"""Writes of so many cells that they come with a memtable of their own."""

import gc
import sys

import pytest

from hbtable.crc32 import crc32
from hbtable.memtable.memtable import Memtable
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.tablet.compactions import planning
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.tablet import Tablet
from hbtable.tablet.writes import prepared, writing
from tests.harness.tablet_bench import Bench, delete, everything, put, values

COLUMNS = 300


@pytest.fixture(autouse=True, params=[1000, 120], ids=["one memtable", "several"])
def few_are_many(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> int:
    """The memtables that a wide row comes with."""
    monkeypatch.setattr(prepared, "_MOST", request.param)
    monkeypatch.setattr(writing, "_MOST_AT_ONCE", 20)
    monkeypatch.setattr(prepared, "ADDED_AT_ONCE", 50)
    monkeypatch.setattr(prepared, "_PART", 10)
    return -(-COLUMNS // int(request.param))


def wide(value: bytes, timestamp: int = SERVER_TIME, family: bytes = b"f", row: bytes = b"wide") -> RowMutation:
    return RowMutation(row, [(PUT, family, b"%05d" % number, timestamp, value) for number in range(COLUMNS)])


def whole(value: bytes, family: bytes = b"f") -> dict[bytes, bytes]:
    return {family + b":%05d" % number: value for number in range(COLUMNS)}


def frozen(tablet: Tablet) -> int:
    return max(len(stack.frozen) for stack in tablet._state.version.stacks)


def test_no_more_pairs_are_added_in_one_stretch_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    added: list[int] = []
    add = Memtable.add

    def noted(memtable: Memtable, pairs: list[tuple[bytes, bytes]], sequence: int, checksum: int) -> None:
        added.append(len(pairs))
        add(memtable, pairs, sequence, checksum)

    def main() -> None:
        tablet = bench.open()
        monkeypatch.setattr(Memtable, "add", noted)
        tablet.mutate([wide(b"v"), wide(b"w", family=b"g"), put(b"r", b"f:a", b"1")])
        assert sum(added) == 2 * COLUMNS + 1
        assert max(added) <= 50
        assert values(tablet, b"wide") == {**whole(b"v"), **whole(b"w", b"g")}
        assert values(tablet, b"r") == {b"f:a": b"1"}

    bench.run(main)


def test_no_memtable_of_it_is_so_large_that_it_grows_for_long(few_are_many: int) -> None:
    """A dict of a million pairs grew in one stretch of 70 ms."""
    pairs = [(b"%05d" % number, b"v") for number in range(COLUMNS)]
    found = prepared.prepared_memtables(pairs, 7, lambda: None)
    assert len(found) == few_are_many
    assert max(memtable.cells for memtable in found) < 1.5 * COLUMNS / few_are_many
    assert sorted(pair for memtable in found for pair in memtable.scan(b"", b"", 7)) == pairs
    assert not any(changed for memtable in found for changed in memtable.changed())


def test_a_client_cannot_choose_keys_that_all_come_into_one(few_are_many: int) -> None:
    """Keys with one CRC32, by the number of memtables, had one memtable together."""
    candidates = (b"%05d" % number for number in range(10 * COLUMNS))
    chosen = [key for key in candidates if crc32(key) % few_are_many == 0][:COLUMNS]
    found = prepared.prepared_memtables([(key, b"v") for key in chosen], 7, lambda: None)
    assert len(found) == few_are_many
    assert max(memtable.cells for memtable in found) < 1.5 * COLUMNS / few_are_many


def test_what_is_written_before_and_after_it_is_read_with_it_and_flushed_once(few_are_many: int) -> None:
    bench = Bench()

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"wide", b"f:00001", b"before"), put(b"wide", b"f:first", b"1")])
        tablet.mutate([wide(b"v")])
        tablet.mutate([put(b"wide", b"f:00002", b"after"), delete(b"wide", b"f:00003")])
        expected = {**whole(b"v"), b"f:first": b"1", b"f:00002": b"after"}
        del expected[b"f:00003"]
        assert frozen(tablet) == few_are_many
        assert values(tablet, b"wide") == expected
        used = tablet.memtable_bytes
        assert bench.shared.memtable_bytes == used > COLUMNS * 100
        tablet.flush()
        assert (tablet.memtable_bytes, bench.shared.memtable_bytes, frozen(tablet)) == (0, 0, 0)
        assert values(tablet, b"wide") == expected
        before = everything(tablet)
        bench.crash()
        assert everything(bench.open()) == before

    bench.run(main)


def test_a_cell_that_comes_twice_in_it_is_no_damage() -> None:
    bench = Bench()

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([RowMutation(b"wide", [*wide(b"old", 7).operations, *wide(b"new", 7).operations])])
        assert values(tablet, b"wide") == whole(b"new")
        tablet.flush()
        assert values(tablet, b"wide") == whole(b"new")

    bench.run(main)


def test_a_cell_that_comes_twice_is_left_out_in_parts() -> None:
    """All pairs were made once more in one stretch: 12 to 19 ms for 145,000."""
    pairs = [(b"%05d" % number, b"v") for number in range(10 * COLUMNS)]
    gc.collect()
    gc.disable()
    blocks, most = sys.getallocatedblocks(), 0

    def pause() -> None:
        nonlocal blocks, most
        before, blocks = blocks, sys.getallocatedblocks()
        most = max(most, abs(blocks - before))

    found = prepared.prepared_memtables([*pairs, (pairs[0][0], b"later")], 1, pause)
    gc.enable()
    assert most < COLUMNS
    assert sum(memtable.cells for memtable in found) == len(pairs)
    assert sorted(pair for memtable in found for pair in memtable.scan(b"", b"", 1))[0] == (pairs[0][0], b"later")


def test_many_of_them_are_flushed_before_reads_look_into_too_many_memtables(few_are_many: int) -> None:
    bench = Bench()

    def main() -> None:
        tablet = bench.open()
        written = 0
        while not tablet.needs_flush():
            tablet.mutate([wide(b"%d" % written)])
            written += 1
        assert planning.MANY_FROZEN <= frozen(tablet) < planning.MANY_FROZEN + few_are_many
        tablet.flush()
        assert not tablet.needs_flush()
        assert values(tablet, b"wide") == whole(b"%d" % (written - 1))

    bench.run(main)


@pytest.mark.parametrize("seed", range(20))
def test_flushes_and_crashes_among_them_lose_nothing(seed: int) -> None:
    bench = Bench(seed, "sync")
    bench.options = TabletOptions(slice_seconds=0.0)

    def main() -> None:
        tablet = bench.open()
        flushing = bench.runtime.spawn(lambda: [tablet.flush() for _ in range(4)])
        others = bench.runtime.spawn(
            lambda: [tablet.mutate([put(b"other", b"f:%d" % number, b"%d" % number)]) for number in range(20)]
        )
        for number in range(4):
            tablet.mutate([wide(b"%d" % number, row=b"wide%d" % number)])
        others.join()
        acknowledged = everything(tablet)
        assert len(acknowledged) == 5
        assert values(tablet, b"other") == {b"f:%d" % number: b"%d" % number for number in range(20)}
        if seed % 2:
            flushing.join()
        bench.crash()
        again = bench.open()
        assert everything(again) == acknowledged
        again.flush()
        again.compact(True)
        assert everything(again) == acknowledged

    bench.run(main)
