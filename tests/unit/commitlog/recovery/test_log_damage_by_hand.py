"""What reading forgives and what it does not, one case each; the sweep is a property test."""

import logging

import pytest

from hbtable.commitlog.recovery.reading import log_segments, read_log
from hbtable.commitlog.segments.high_water import high_water_path, read_high_water
from hbtable.commitlog.segments.segment import header_bytes, incarnation_of
from hbtable.errors import Corruption, Unavailable
from hbtable.fs.memory_disk import MemoryContent
from tests.harness.planted_bugs import is_found


def _write(bench, count: int = 4, clean: bool = False, **options: object) -> None:
    def main() -> None:
        log = bench.writer(**options)
        for n in range(count):
            bench.commit(log, 1, n, b"some value %d" % n)
        if clean:
            log.close()

    bench.run(main)


def test_a_torn_last_group_is_dropped(bench) -> None:
    _write(bench)
    del bench.content(1)[-5:]
    assert bench.run(bench.written) == [(1, 0), (1, 1), (1, 2)]


def test_a_damaged_last_group_of_full_length_is_dropped_with_a_warning_that_names_the_bytes(bench, caplog) -> None:
    _write(bench)
    content = bench.content(1)
    content[-3] ^= 1
    with caplog.at_level(logging.WARNING):
        assert bench.run(bench.written) == [(1, 0), (1, 1), (1, 2)]
    assert f"to {len(content)}" in caplog.text
    assert "damaged group of full length" in caplog.text
    assert "nothing says up to where the log was synced" in caplog.text


def test_what_is_dropped_behind_the_mark_is_said_with_its_size_and_the_age_of_the_mark(bench) -> None:
    def main() -> None:
        log = bench.writer()
        bench.commit(log, 1, 1, b"v" * 80)
        bench.runtime.sleep(5)
        bench.commit(log, 1, 2, b"v" * 80)

    bench.run(main)
    content = bench.content(1)
    mark = bench.run(lambda: read_high_water(bench.fs, bench.folder))
    start = mark.length_bytes + 60
    content[start:] = b"\xaa" * (len(content) - start)
    told: list[tuple[int, str]] = []
    bench.run(lambda: list(read_log(bench.fs, bench.folder, tell=lambda *one: told.append(one))))
    ((level, reason),) = told
    assert level == logging.WARNING
    assert f"{len(content) - mark.length_bytes} bytes, {mark.length_bytes} to {len(content)}:" in reason
    assert f"byte {mark.length_bytes} of segment 1, as was noted last at 2023-11-14 22:13:2" in reason


def test_a_mark_that_cannot_be_read_is_said(bench) -> None:
    _write(bench, clean=True)
    bench.memory.disk.files[high_water_path(bench.folder)] = MemoryContent(b"x", 1, 0)
    told: list[str] = []
    bench.run(lambda: list(read_log(bench.fs, bench.folder, tell=lambda _, what: told.append(what))))
    assert len(told) == 1
    assert "nobody can tell by it whether the end of this log is missing" in told[0]


def test_damage_below_the_watermark_of_a_later_group_is_corruption(bench) -> None:
    _write(bench)
    content = bench.content(1)
    content[len(content) // 2] ^= 1
    with pytest.raises(Corruption, match="were durable"):
        bench.run(bench.written)


def test_damage_anywhere_below_the_end_of_a_cleanly_closed_log_is_corruption(bench) -> None:
    _write(bench, clean=True)
    bench.content(1)[-45] ^= 1  # the last byte of the last record: a last marker of 40 bytes follows
    with pytest.raises(Corruption):
        bench.run(bench.written)


def test_os_a_clean_close_covers_also_what_was_never_synced_before(bench) -> None:
    _write(bench, clean=True, durability="os")
    bench.content(1)[-45] ^= 1
    with pytest.raises(Corruption):
        bench.run(bench.written)


def test_os_damage_above_the_watermark_drops_everything_behind_it(bench, caplog) -> None:
    _write(bench, durability="os")
    content = bench.content(1)
    content[len(content) // 2] ^= 1
    with caplog.at_level(logging.WARNING):
        found = bench.run(bench.written)
    assert 0 < len(found) < 4
    assert found == [(1, n) for n in range(len(found))]
    assert "behind it dropped" in caplog.text


@pytest.mark.parametrize("durability", ["sync", "os"])
def test_damage_in_a_segment_with_a_successor_is_corruption(bench, durability: str) -> None:
    _write(bench, segment_bytes=150, durability=durability)
    content = bench.content(1)
    content[-1] ^= 1
    with pytest.raises(Corruption):
        bench.run(bench.written)
    content[-1] ^= 1
    del content[-1]
    with pytest.raises(Corruption, match="shorter"):
        bench.run(bench.written)


def test_a_missing_segment_in_the_middle_or_at_the_front_is_corruption(bench) -> None:
    _write(bench, segment_bytes=150)
    assert len(bench.segments()) >= 3
    for number in (1, 2):
        path = f"{bench.folder}/{number:010d}.log"
        kept = bench.memory.disk.files.pop(path)
        with pytest.raises(Corruption, match="missing"):
            bench.run(bench.written)
        bench.memory.disk.files[path] = kept


def test_two_segments_swapped_are_corruption(bench) -> None:
    _write(bench, segment_bytes=150)
    files = bench.memory.disk.files
    first, second = (f"{bench.folder}/{number:010d}.log" for number in (1, 2))
    files[first], files[second] = files[second], files[first]
    with pytest.raises(Corruption):
        bench.run(bench.written)


def test_a_last_segment_without_a_whole_header_is_fine(bench) -> None:
    _write(bench, segment_bytes=150)
    whole = bench.run(bench.written)
    number = len(bench.segments()) + 1
    path = f"{bench.folder}/{number:010d}.log"
    for content in (b"", b"BtLo", bytes(60)):
        bench.memory.disk.files[path] = type(bench.memory.disk.files[f"{bench.folder}/0000000001.log"])(content, 0, 0)
        assert bench.run(bench.written) == whole


def test_a_header_without_groups_is_told_and_with_a_warning_when_it_has_its_full_length(bench) -> None:
    """A crash while a header is written leaves a part of it, which is no reason for a warning."""
    _write(bench, segment_bytes=150)
    path = f"{bench.folder}/{len(bench.segments()) + 1:010d}.log"
    full = header_bytes(incarnation_of(bench.folder))
    damaged = f"{path}, {full} bytes: a damaged segment's header with nothing behind it was dropped"
    for content, expected in (
        (b"", []),
        (b"BtLo", [(logging.INFO, f"{path}, 4 bytes: too short for a segment's header, dropped")]),
        (bytes(full - 1), [(logging.INFO, f"{path}, {full - 1} bytes: too short for a segment's header, dropped")]),
        (bytes(full), [(logging.WARNING, damaged)]),
    ):
        bench.memory.disk.files[path] = type(bench.memory.disk.files[f"{bench.folder}/0000000001.log"])(content, 0, 0)
        told: list[tuple[int, str]] = []

        def read(told: list[tuple[int, str]] = told) -> None:
            log_segments(bench.memory, bench.folder, tell=lambda *one: told.append(one))

        bench.run(read)
        assert [(level, what.split(";")[0]) for level, what in told] == expected


def test_a_damaged_header_with_groups_behind_it_is_corruption(bench) -> None:
    _write(bench)
    bench.content(1)[9] ^= 1
    with pytest.raises(Corruption, match="header"):
        bench.run(bench.written)


def test_a_log_cut_off_at_birth_is_empty_and_a_log_without_files_is_lost(bench) -> None:
    _write(bench)
    del bench.content(1)[10:]
    assert bench.run(bench.written) == []
    bench.memory.disk.files.clear()
    with pytest.raises(Corruption, match="no segment"):
        bench.run(bench.written)


def test_an_error_while_listing_is_not_an_empty_log(bench) -> None:
    _write(bench)
    bench.fs.listing_error = Unavailable("network")
    with pytest.raises(Unavailable):
        bench.run(bench.written)


def test_old_groups_behind_the_end_of_the_file_are_not_replayed(bench) -> None:
    """A misdirected or repeated write: a sound group at a place that is not its own."""
    _write(bench)
    content = bench.content(1)
    content += content[-100:]
    found = bench.run(bench.written)
    assert found == [(1, n) for n in range(4)]


def test_the_planted_bug_is_found(bench_of) -> None:
    is_found("gap", lambda: test_a_missing_segment_in_the_middle_or_at_the_front_is_corruption(bench_of()))
