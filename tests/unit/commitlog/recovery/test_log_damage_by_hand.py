"""What reading forgives and what it does not, one case each; the sweep is a property test."""

import logging

import pytest

from hbtable.errors import Corruption, Unavailable


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
