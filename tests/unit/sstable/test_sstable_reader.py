"""The reader: ranges, rows, hints, caching, reading while reading."""

import random
import tracemalloc
from bisect import bisect_left

import pytest

from hbtable.encoding.cell_key import cell_key, column_prefix, row_prefix, row_stop
from hbtable.model.mutation import PUT
from hbtable.model.schema import COMPRESSIONS
from hbtable.sstable.cache import BlockCache
from hbtable.sstable.reader import SSTableReader


def expected_scan(pairs, start, stop):
    return [pair for pair in pairs if start <= pair[0] and (not stop or pair[0] < stop)]


@pytest.mark.parametrize("cache_blocks", [True, False])
@pytest.mark.parametrize("block_bytes", [1, 300, 5000, 1 << 20])
def test_scans_agree_with_a_list(build, pairs_of, block_bytes, cache_blocks) -> None:
    pairs = pairs_of(200)
    reader = build(pairs, block_bytes=block_bytes).open()
    chance = random.Random(2)
    bounds = [b"", b"a", b"z"] + [row_prefix(b"row%05d" % chance.randrange(210)) for _ in range(20)]
    bounds += [key for key, _ in chance.sample(pairs, 10)] + [key + b"\x00" for key, _ in chance.sample(pairs, 10)]
    for _ in range(300):
        start, stop = chance.choice(bounds), chance.choice(bounds)
        assert list(reader.scan(start, stop, cache_blocks)) == expected_scan(pairs, start, stop)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_every_compression(build, pairs_of, compression) -> None:
    pairs = pairs_of(300)
    built = build(pairs, compression=compression, block_bytes=4096)
    assert list(built.open().scan(b"", b"")) == pairs
    assert built.open().verify() == 900
    plain = build(pairs, block_bytes=4096)
    assert (len(built.content) < len(plain.content)) == (compression not in ("NONE", "LZO"))


def test_a_block_that_was_read_alone_and_is_not_compressed_is_not_copied(build, pairs_of) -> None:
    """A copy of 8 MB in fresh memory takes 0.3 to 7 ms, in which nobody else is served."""
    pairs = pairs_of(1, columns=1, value_bytes=100_000)
    built = build(pairs, compression="NONE")
    read = []

    def noted(offset: int, size: int) -> bytes:
        read.append(built.content[offset : offset + size])
        return read[-1]

    checksum = built.builder.footer_checksum
    reader = SSTableReader.open(noted, "t/x.sst", len(built.content), BlockCache(1 << 24), checksum)
    block = reader._load(0)
    assert block.raw is read[-1]
    assert list(zip(*block.decoded(), strict=True)) == list(block.between(b"", b"", False)) == pairs
    assert block.restarts_agree()


def test_a_file_without_cells(build) -> None:
    reader = build([]).open()
    assert list(reader.scan(b"", b"")) == list(reader.scan(b"a", b"b")) == []
    assert reader.reverse_hint(b"") is None
    assert reader.middle_key() is None
    assert reader.bytes_between(b"", b"") == 0
    assert not reader.may_hold_row(row_prefix(b"a"))
    assert reader.verify() == 0


def test_rows_that_begin_alike_are_told_apart(build) -> None:
    rows = sorted([b"a", b"a\x00", b"a\x00\x01", b"a\x01", b"ab", b"", b"\x00", b"\xff\xff", b"a\xff"])
    pairs = sorted((cell_key(row, b"f", b"q\x00", 5, PUT, 1), row) for row in rows)
    for block_bytes in (1, 100, 65536):
        reader = build(pairs, block_bytes=block_bytes).open()
        for row in rows:
            assert [value for _, value in reader.scan(row_prefix(row), row_stop(row))] == [row]


def test_a_point_read_touches_one_block(build, pairs_of) -> None:
    """Also of the row that begins a block: the separator says that the block before cannot hold it."""
    pairs = pairs_of(300)
    built = build(pairs, block_bytes=700)
    for row in range(300):
        reader = built.open()
        built.reads.clear()
        prefix = row_prefix(b"row%05d" % row)
        found = list(reader.scan(prefix, row_stop(b"row%05d" % row)))
        assert found == pairs[3 * row : 3 * row + 3]
        in_blocks = sum(key.startswith(prefix) for key in reader._index.first_keys[1:])
        assert len(built.reads) <= 1 + in_blocks


def test_ranges_beside_the_file_touch_nothing(build, pairs_of) -> None:
    built = build(pairs_of(50), block_bytes=500)
    reader = built.open()
    built.reads.clear()
    assert list(reader.scan(b"a", b"b")) == list(reader.scan(b"z", b"")) == []
    assert built.reads == []


def test_small_files_open_with_one_read(build, pairs_of) -> None:
    built = build(pairs_of(50))
    built.open()
    assert len(built.reads) == 1


def test_a_long_scan_reads_ahead(build, pairs_of) -> None:
    pairs = pairs_of(2000)
    built = build(pairs, block_bytes=1000)
    reader = built.open()
    built.reads.clear()
    assert list(reader.scan(b"", b"", False)) == pairs
    assert len(built.reads) < 15 < built.builder.properties.blocks


def test_a_bounded_scan_does_not_read_beyond_its_range(build, pairs_of) -> None:
    built = build(pairs_of(2000), block_bytes=1000)
    reader = built.open()
    built.reads.clear()
    stop = row_prefix(b"row00100")
    list(reader.scan(b"", stop))
    assert sum(size for _, size in built.reads) <= reader.bytes_between(b"", stop)


def test_no_present_row_or_column_is_denied(build, pairs_of) -> None:
    pairs = pairs_of(500)
    for kind in ("NONE", "ROW", "ROWCOL"):
        reader = build(pairs, bloom=kind, block_bytes=2000).open()
        assert all(reader.may_hold_row(key[: key.index(b"\x00\x01") + 2]) for key, _ in pairs)
        assert all(reader.may_hold_column(key[:-18]) for key, _ in pairs)


def test_most_absent_rows_and_columns_are_denied(build, pairs_of) -> None:
    reader = build(pairs_of(500), bloom="ROWCOL").open()
    assert sum(reader.may_hold_row(row_prefix(b"no%d" % number)) for number in range(1000)) < 30
    row = row_prefix(b"row00003")
    columns = [column_prefix(row, b"f", b"x%d" % number) for number in range(1000)]
    assert sum(reader.may_hold_column(column) for column in columns) < 30
    without = build(pairs_of(500), bloom="ROW").open()
    assert all(without.may_hold_column(column) for column in columns)


def test_a_qualifier_that_begins_like_the_one_before_is_in_the_filter(build) -> None:
    qualifiers = sorted([b"q", b"q\x00", b"q\x00\x01", b"q" + b"\x00\x01" + b"x" * 18, b"qq"])
    pairs = sorted((cell_key(b"r", b"f", qualifier, 5, PUT, 1), b"") for qualifier in qualifiers)
    reader = build(pairs, bloom="ROWCOL").open()
    assert all(reader.may_hold_column(column_prefix(row_prefix(b"r"), b"f", name)) for name in qualifiers)


def test_reverse_hint_begins_the_block_of_the_last_key_before(build, pairs_of) -> None:
    pairs = pairs_of(100)
    keys = [key for key, _ in pairs]
    reader = build(pairs, block_bytes=600).open()
    first_keys = reader._index.first_keys
    assert len(first_keys) > 10
    for stop in [b"", *keys, *[key + b"\x00" for key in keys], row_prefix(b"row00050")]:
        end = bisect_left(keys, stop) if stop else len(keys)
        expected = max((key for key in first_keys if key <= keys[end - 1]), default=None) if end else None
        assert reader.reverse_hint(stop) == expected


def test_middle_key_halves_the_bytes(build, pairs_of) -> None:
    pairs = pairs_of(1000)
    reader = build(pairs, block_bytes=1000).open()
    middle = reader.middle_key()
    assert middle is not None
    assert 0.45 < [key for key, _ in pairs].index(middle) / len(pairs) < 0.55
    assert build(pairs, block_bytes=65536).open().middle_key() is not None
    assert build(pairs[:5]).open().middle_key() is None


def test_middle_key_is_never_the_first(build) -> None:
    pairs = [(cell_key(b"r%d" % row, b"f", b"q", 1, PUT, 1), b"x" * size) for row, size in enumerate([9000, 10, 10])]
    assert build(pairs, block_bytes=15).open().middle_key() == pairs[1][0]


def test_bytes_between(build, pairs_of) -> None:
    reader = build(pairs_of(1000), block_bytes=1000).open()
    whole = reader.bytes_between(b"", b"")
    assert whole == reader.footer.filter_part.offset
    half = reader.bytes_between(b"", row_prefix(b"row00500"))
    assert 0.45 < half / whole < 0.55
    assert reader.bytes_between(b"z", b"") < 2000
    assert reader.bytes_between(b"", b"a") == 0


def test_blocks_are_read_once_while_they_are_cached(build, pairs_of) -> None:
    pairs = pairs_of(300)
    built = build(pairs, block_bytes=2000)
    cache = BlockCache(1 << 24)
    reader = built.open(cache)
    for _ in range(2):
        assert list(reader.scan(b"", b"")) == pairs
    reads = len(built.reads)
    for row in range(300):
        list(reader.scan(row_prefix(b"row%05d" % row), row_stop(b"row%05d" % row)))
    assert len(built.reads) == reads
    assert cache.hits.value >= 300


def test_scans_without_caching_leave_the_cache_as_it_was(build, pairs_of) -> None:
    cache = BlockCache(1 << 24)
    reader = build(pairs_of(300), block_bytes=2000).open(cache)
    list(reader.scan(row_prefix(b"row00100"), row_stop(b"row00100")))
    before = (len(cache), cache.used_bytes, cache.hits.value, cache.misses.value)
    list(reader.scan(b"", b"", False))
    for _ in range(50):
        list(reader.scan(row_prefix(b"row00200"), row_stop(b"row00200"), False))
        list(reader.scan(row_prefix(b"row00100"), row_stop(b"row00100"), False))
    assert (len(cache), cache.used_bytes, cache.hits.value, cache.misses.value) == before


def test_blocks_of_in_memory_families_are_protected(build, pairs_of) -> None:
    cache = BlockCache(1 << 24)
    list(build(pairs_of(50)).open(cache, in_memory=True).scan(b"", b""))
    assert cache.protected_bytes == cache.used_bytes > 0


def test_the_cache_counts_what_reading_makes_of_blocks(build, pairs_of) -> None:
    cache = BlockCache(1 << 24)
    reader = build(pairs_of(300), block_bytes=2000).open(cache)
    chance = random.Random(4)
    for _ in range(500):
        row = b"row%05d" % chance.randrange(300)
        list(reader.scan(row_prefix(row), row_stop(row)))
        kept = [*cache._blocks.values(), *cache._protected.values()]
        assert cache.used_bytes == sum(block.memory_bytes for block in kept)


def test_a_tiny_cache_changes_no_answer(build, pairs_of) -> None:
    pairs = pairs_of(300)
    for capacity in (0, 3000, 9000):
        reader = build(pairs, block_bytes=1000).open(BlockCache(capacity))
        for row in range(0, 300, 7):
            found = list(reader.scan(row_prefix(b"row%05d" % row), row_stop(b"row%05d" % row)))
            assert found == pairs[3 * row : 3 * row + 3]
        assert list(reader.scan(b"", b"")) == pairs


def test_a_block_that_two_tasks_load_at_once(build, pairs_of) -> None:
    """read_at switches: while one task waits for a block another reads, decodes and caches the same one."""
    pairs = pairs_of(100)
    built = build(pairs, block_bytes=1000)
    cache = BlockCache(1 << 24)
    waiting = [True]  # not while opening

    def read_at(offset: int, size: int) -> bytes:
        if not waiting:
            waiting.append(True)
            assert list(reader.scan(b"", b"")) == pairs
        return built.read_at(offset, size)

    reader = SSTableReader.open(read_at, "t/x", len(built.content), cache)
    waiting.clear()
    assert list(reader.scan(row_prefix(b"row00003"), row_stop(b"row00003"))) == pairs[9:12]
    assert waiting
    assert list(reader.scan(b"", b"")) == pairs
    assert cache.used_bytes == sum(block.memory_bytes for block in cache._blocks.values())


def test_evicting_under_a_running_scan(build, pairs_of) -> None:
    pairs = pairs_of(200)
    cache = BlockCache(1 << 24)
    reader = build(pairs, block_bytes=1000).open(cache)
    found = []
    for number, pair in enumerate(reader.scan(b"", b"")):
        found.append(pair)
        if number % 50 == 0:
            cache.drop_file(reader.path)
    assert found == pairs


def test_decoded_blocks_cost_what_the_cache_says(build, pairs_of) -> None:
    built = build(pairs_of(3000))
    cache = BlockCache(1 << 26)
    reader = built.open(cache)
    tracemalloc.start()
    for _ in reader.scan(b"", b""):
        pass
    real = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert 0.9 * real < cache.used_bytes < 1.3 * real
