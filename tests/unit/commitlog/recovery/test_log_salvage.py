"""What is left of a damaged log: no tablet that lost an acknowledged write is taken for whole; few others are not."""

import random
from collections.abc import Callable

import pytest

from hbtable.commitlog.records import decode_records
from hbtable.commitlog.recovery.gaps import Gap, decode_gaps, encode_gaps
from hbtable.commitlog.recovery.manifest import list_log
from hbtable.commitlog.recovery.reading import read_log, sound_groups
from hbtable.commitlog.recovery.salvage import SegmentSalvage, salvage
from hbtable.commitlog.segments.high_water import HighWater, decode_high_water, encode_high_water, high_water_path
from hbtable.errors import Corruption, UnsupportedFormat
from tests.harness.tiers import quick_first

TABLETS = range(1, 8)
Spoil = Callable[[bytearray, random.Random], None]


def written(bench, **options: object) -> dict[int, int]:
    """A log of several segments, groups of several records, never closed. The last acknowledged sequence by tablet."""
    last: dict[int, int] = dict.fromkeys(TABLETS, 0)
    chance = bench.runtime.random

    def main() -> None:
        log = bench.writer(**{"segment_bytes": 1500, **options})

        def client(tablet_id: int) -> None:
            for sequence in range(1, 4 + 3 * tablet_id):
                bench.commit(log, tablet_id, sequence, bytes(chance.randrange(1, 80)))
                last[tablet_id] = sequence
                bench.runtime.sleep(chance.random())

        for task in [bench.runtime.spawn(client, tablet_id) for tablet_id in TABLETS]:
            task.join()
        bench.runtime.sleep(5)

    bench.run(main)
    return last


def flip(content: bytearray, chance: random.Random) -> None:
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def zero(content: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(content))
    size = min(len(content) - start, chance.choice([1, 40, 300]))
    content[start : start + size] = bytes(size)


def cut(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(len(content)) :]


def empty(content: bytearray, chance: random.Random) -> None:
    del content[:]


SPOIL = pytest.mark.parametrize("spoil", [flip, zero, cut, empty])


def salvaged(bench) -> SegmentSalvage:
    found = bench.run(lambda: salvage(bench.fs, bench.folder, list_log(bench.fs, bench.folder), lambda: None))
    assert found is not None
    return found


def sequences(bench, found: SegmentSalvage) -> dict[int, set[int]]:
    by_tablet: dict[int, set[int]] = {tablet_id: set() for tablet_id in TABLETS}

    def read() -> None:
        for segment in found.stretches:
            buffer = bench.fs.read_file(segment.path)
            for group in sound_groups(buffer, segment):
                for record in decode_records(buffer, group.payload, group.end, segment.path):
                    by_tablet[record.tablet_id].add(record.sequence)

    bench.run(read)
    for place, _ in found.loose:
        by_tablet[place.tablet_id].add(place.sequence)
    return by_tablet


def is_damaged(bench) -> bool:
    try:
        bench.run(lambda: list(read_log(bench.fs, bench.folder)))
    except Corruption:
        return True
    return False


@SPOIL
@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("seed", quick_first(range(25), 5, 5))
def test_a_tablet_that_lost_anything_is_never_called_whole(bench_of, seed: int, spoil: Spoil, marked: bool) -> None:
    bench = bench_of(seed)
    last = written(bench)
    chance = random.Random(seed)
    segments = bench.segments()
    number = int(chance.choice(segments)[:10])
    spoil(bench.content(number), chance)
    if not marked:
        bench.memory.disk.files.pop(high_water_path(bench.folder))
    if not is_damaged(bench):
        assert not marked or bench.run(lambda: len(list(read_log(bench.fs, bench.folder)))) == sum(last.values())
        return
    found = salvaged(bench)
    there = sequences(bench, found)
    for tablet_id, highest in last.items():
        assert max(there[tablet_id], default=0) <= highest
        for first_needed in (1, highest // 2, highest, highest + 1):
            missing = set(range(max(1, first_needed), highest + 1)) - there[tablet_id]
            called_whole = not any(gap.may_have_lost(tablet_id, first_needed) for gap in found.gaps)
            # Without a mark the end may be gone and nothing tells: only what lies before it can be vouched for.
            if not marked and spoil is not flip:
                continue
            assert not (missing and called_whole), (tablet_id, first_needed, missing)
        if marked:
            gaps = [gap for gap in found.gaps if not gap.hides_the_end]
            assert not any(gap.may_have_lost(tablet_id, highest + 1) for gap in gaps)
            assert not any(gap.may_have_lost(tablet_id, highest + 1, behind_the_mark=False) for gap in found.gaps)


def test_one_flipped_bit_concerns_one_tablet_or_none(bench_of) -> None:
    concerned = []
    for seed in range(60):
        bench = bench_of(seed)
        written(bench)
        chance = random.Random(seed)
        flip(bench.content(int(chance.choice(bench.segments())[:10])), chance)
        found = salvaged(bench)
        assert is_damaged(bench)
        concerned.append(sum(any(gap.may_have_lost(one, 1) for gap in found.gaps) for one in TABLETS))
    assert set(concerned) <= {0, 1}
    assert 0 in concerned
    assert 1 in concerned


@pytest.mark.parametrize("marked", [True, False])
def test_of_a_log_that_is_gone_nobody_is_called_whole_who_needs_it(bench, marked: bool) -> None:
    last = written(bench)
    for path in list(bench.memory.disk.files):
        if path.endswith(".log") or not marked:
            del bench.memory.disk.files[path]
    found = salvaged(bench)
    for tablet_id, highest in last.items():
        assert any(gap.may_have_lost(tablet_id, highest) for gap in found.gaps)
        assert any(gap.may_have_lost(tablet_id, highest + 1) for gap in found.gaps)
        assert any(gap.may_have_lost(tablet_id, highest + 1, behind_the_mark=False) for gap in found.gaps) != marked


def test_a_missing_segment_concerns_those_that_had_something_there(bench_of) -> None:
    for seed in range(10):
        bench = bench_of(seed)
        last = written(bench)
        chance = random.Random(seed)
        lost = chance.choice(bench.segments())
        del bench.memory.disk.files[f"{bench.folder}/{lost}"]
        found = salvaged(bench)
        there = sequences(bench, found)
        concerned = {one for one in TABLETS if any(gap.may_have_lost(one, 1) for gap in found.gaps)}
        assert concerned >= {one for one, highest in last.items() if there[one] != set(range(1, highest + 1))}


def test_a_cut_end_is_corruption_that_says_what_was_lost(bench) -> None:
    last = written(bench)
    content = bench.content(int(bench.segments()[-1][:10]))
    del content[len(content) // 2 :]
    with pytest.raises(Corruption, match=r"at least these are lost: .*tablet 7 sequences \d+ to 24"):
        bench.run(lambda: list(read_log(bench.fs, bench.folder)))
    assert last[7] == 24


def written_beyond_its_mark(bench) -> None:
    """Tablet 1 wrote before the mark, tablet 2 after it alone, tablet 3 both before and after."""

    def main() -> None:
        log = bench.writer()
        for sequence in range(1, 21):
            bench.commit(log, 1, sequence, b"v" * 80)
            bench.commit(log, 3, sequence, b"v" * 80)
        bench.runtime.sleep(5)
        for sequence in range(1, 21):
            bench.commit(log, 2, sequence, b"v" * 80)
            bench.commit(log, 3, 20 + sequence, b"v" * 80)

    bench.run(main)


def noise(size: int, chance: random.Random) -> bytes:
    return chance.randbytes(size)


def zeros(size: int, chance: random.Random) -> bytes:
    return bytes(size)


@pytest.mark.parametrize("filled", [noise, zeros])
@pytest.mark.parametrize("seed", quick_first(range(20), 5, 5))
def test_damage_from_before_the_mark_to_the_end_leaves_nobody_whole_who_wrote_after_it(
    bench_of, seed: int, filled: Callable[[int, random.Random], bytes]
) -> None:
    bench = bench_of(seed)
    written_beyond_its_mark(bench)
    content = bench.content(1)
    mark = decode_high_water(bytes(bench.memory.disk.files[high_water_path(bench.folder)].content), "m")
    assert 0 < mark.length_bytes < len(content)
    assert 2 not in mark.tablets
    chance = random.Random(seed)
    start = chance.randrange(mark.length_bytes // 3, mark.length_bytes)
    content[start:] = filled(len(content) - start, chance)
    assert is_damaged(bench)
    (gap,) = decode_gaps(encode_gaps(salvaged(bench).gaps), "g")
    # Tablet 9 may have been loaded, and have written its first rows, after the mark.
    assert all(gap.may_have_lost(tablet_id, 1) for tablet_id in (1, 2, 3, 9))
    assert gap.hides_the_end
    # By what the mark says alone: that is how METADATA's tablets are judged.
    assert not gap.may_have_lost(2, 1, behind_the_mark=False)
    assert not gap.may_have_lost(1, 21, behind_the_mark=False)
    assert gap.may_have_lost(3, 20, behind_the_mark=False)


def test_damage_to_the_last_marked_group_and_all_behind_it_leaves_nobody_whole(bench) -> None:
    """Its record can still be told; what came after it cannot."""
    written_beyond_its_mark(bench)
    content = bench.content(1)
    mark = decode_high_water(bytes(bench.memory.disk.files[high_water_path(bench.folder)].content), "m")
    content[mark.length_bytes - 1] ^= 1
    content[mark.length_bytes + 60 :] = bytes(len(content) - mark.length_bytes - 60)
    (gap,) = salvaged(bench).gaps
    assert all(gap.may_have_lost(tablet_id, 1) for tablet_id in (1, 2, 3))


def test_damage_behind_the_mark_alone_is_a_torn_end(bench) -> None:
    written_beyond_its_mark(bench)
    content = bench.content(1)
    mark = decode_high_water(bytes(bench.memory.disk.files[high_water_path(bench.folder)].content), "m")
    content[mark.length_bytes + 50 :] = bytes(len(content) - mark.length_bytes - 50)
    assert not is_damaged(bench)


def test_an_end_cut_off_before_the_mark_is_said_to_hide_what_followed(bench) -> None:
    written(bench)
    content = bench.content(int(bench.segments()[-1][:10]))
    del content[len(content) // 2 :]
    (gap,) = salvaged(bench).gaps
    assert gap.hides_the_end
    assert gap.marked is None
    assert gap.marked_part


@pytest.mark.parametrize("kept", [0.4, 0.7, 0.99])
def test_a_log_cut_off_before_its_mark_leaves_nobody_whole_who_wrote_after_it(bench, kept: float) -> None:
    """Tablet 2 wrote after the mark alone, and nothing is left of that."""
    written_beyond_its_mark(bench)
    content = bench.content(1)
    mark = decode_high_water(bytes(bench.memory.disk.files[high_water_path(bench.folder)].content), "m")
    del content[int(mark.length_bytes * kept) :]
    (gap,) = decode_gaps(encode_gaps(salvaged(bench).gaps), "g")
    assert all(gap.may_have_lost(tablet_id, 1) for tablet_id in (1, 2, 3, 9))
    assert gap.hides_the_end
    assert not gap.may_have_lost(2, 1, behind_the_mark=False)
    assert not gap.may_have_lost(1, 21, behind_the_mark=False)
    assert gap.may_have_lost(3, 20, behind_the_mark=False)


def test_unreadable_groups_up_to_the_very_byte_of_the_mark_were_the_last_ones(bench) -> None:
    written(bench)
    content = bench.content(int(bench.segments()[-1][:10]))
    mark = decode_high_water(bytes(bench.memory.disk.files[high_water_path(bench.folder)].content), "m")
    assert len(content) == mark.length_bytes
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    (gap,) = salvaged(bench).gaps
    assert not gap.may_have_lost(9, 1)
    assert not gap.hides_the_end


@pytest.mark.parametrize("durability", ["sync", "os"])
def test_the_mark_never_says_more_than_what_is_durable(bench_of, durability: str) -> None:
    """A loss of power at any moment is no damage."""
    for seed in range(20):
        bench = bench_of(seed)
        chance = random.Random(seed)

        def main(bench=bench, chance=chance) -> None:
            log = bench.writer(
                durability=durability, mark_seconds=0.01, sync_every_bytes=300, segment_bytes=chance.choice([900, 9000])
            )
            for sequence in range(1, chance.randrange(5, 60)):
                bench.commit(log, 1 + sequence % 3, sequence, bytes(chance.randrange(90)))
                bench.runtime.sleep(chance.choice([0, 0.005, 0.02]))

        bench.run(main)
        bench.fs.inner = bench.memory = bench.memory.crash_clone(chance)
        bench.run(lambda bench=bench: list(read_log(bench.fs, bench.folder)))


def test_an_older_hbtable_has_no_mark_and_no_gaps(bench) -> None:
    last = written(bench, mark_seconds=0.0)
    assert all(path.endswith(".log") for path in bench.memory.disk.files)
    assert len(bench.run(bench.written)) == sum(last.values())


def test_marks_and_gaps_come_back_as_they_were() -> None:
    mark = HighWater(7, 2, 900, 1_700_000_000_000, {16: 5, 17: 900})
    assert decode_high_water(encode_high_water(mark), "m") == mark
    newer = bytearray(encode_high_water(mark))
    newer[1] = 2
    with pytest.raises((Corruption, UnsupportedFormat)):
        decode_high_water(bytes(newer), "m")
    gaps = [
        Gap("logs/a/1", 3, 90, 4, 5, {16: 9}, {16: (7, 10), 17: (2, 0)}, None),
        Gap("logs/a/2", 3, 90, 0, 0, None, {}, {16: 1}),
        Gap("logs/a/3", 3, 90, 0, 0, None, {}, None, {16: 1}, True),
    ]
    assert decode_gaps(encode_gaps(gaps), "g") == gaps
    for wrong in (b"", b"{}x", b'[{"path":1}]'):
        with pytest.raises(Corruption):
            decode_gaps(wrong, "g")
