"""Blocks that end with a large value: read without a copy of it, and found out when damaged."""

import random
from collections.abc import Callable

import pytest

from hbtable.crc32 import crc32
from hbtable.encoding.cell_key import Pair, cell_key
from hbtable.errors import Corruption
from hbtable.model.mutation import PUT
from hbtable.sstable.cache import BlockCache
from hbtable.sstable.large_blocks import LARGE_BYTES, Checksum, read_large
from hbtable.sstable.reader import SSTableReader
from tests.unit.sstable.conftest import Built


def pairs_with_large(small: int, large_bytes: int = LARGE_BYTES + 1) -> list[Pair]:
    """Twice so many small values and a large one behind them."""
    pairs = []
    for row in range(2):
        for column in range(small):
            pairs.append((cell_key(b"row%d" % row, b"f", b"a%05d" % column, 1000, PUT, 1), b"small %d" % column))
        value = random.Random(row).randbytes(large_bytes)
        pairs.append((cell_key(b"row%d" % row, b"f", b"b", 1000, PUT, 1), value))
    return pairs


def opened(built: Built, read: list[bytes], of_large: Checksum | None = crc32) -> SSTableReader:
    def noted(offset: int, size: int) -> bytes:
        read.append(built.content[offset : offset + size])
        return read[-1]

    cache, checksum = BlockCache(1 << 26), built.builder.footer_checksum
    return SSTableReader.open(noted, "t/x.sst", len(built.content), cache, checksum, checksum=of_large)


@pytest.mark.parametrize("cache_blocks", [True, False])
@pytest.mark.parametrize("small", [0, 1, 40, 2000])
def test_a_large_value_is_the_very_bytes_that_were_read(
    build: Callable[..., Built], small: int, cache_blocks: bool
) -> None:
    """A copy of 8 MB in fresh memory takes 0.3 to 7 ms, in which nobody else is served."""
    pairs = pairs_with_large(small)
    read: list[bytes] = []
    found = list(opened(build(pairs), read).scan(b"", b"", cache_blocks))
    assert found == pairs
    large = [value for _, value in found if len(value) >= LARGE_BYTES]
    assert len(large) == 2
    assert all(any(value is piece for piece in read) for value in large)
    assert all(len(piece) <= LARGE_BYTES + 1 for piece in read), "the block was read as a whole, too"


def test_a_seek_into_such_a_block_finds_each_of_its_values(build: Callable[..., Built]) -> None:
    pairs = pairs_with_large(5)
    reader = opened(build(pairs), [])
    for cache_blocks in (False, True):
        for key, value in pairs:
            assert list(reader.scan(key, key + b"\0", cache_blocks)) == [(key, value)]
    assert reader.verify() == len(pairs)


def test_the_cache_counts_what_such_a_block_takes(build: Callable[..., Built]) -> None:
    pairs = pairs_with_large(3)
    reader = opened(build(pairs), [])
    list(reader.scan(b"", b""))
    assert 2 * LARGE_BYTES < reader._cache.used_bytes < 2 * LARGE_BYTES + 10_000


@pytest.mark.parametrize(
    ("pairs", "options"),
    [
        (pairs_with_large(6000, LARGE_BYTES), {"block_bytes": 1 << 20}),  # the lengths of its values are not at its end
        (pairs_with_large(3, LARGE_BYTES), {}),  # a value that is read in the hub, as it is not above a megabyte
        (pairs_with_large(3, LARGE_BYTES // 2), {"block_bytes": 4 * LARGE_BYTES}),  # large, without a large value
        ([(key, b"v" * len(value)) for key, value in pairs_with_large(1, 16 * LARGE_BYTES)], {"compression": "GZ"}),
    ],
)
def test_other_blocks_are_read_as_always(
    build: Callable[..., Built], pairs: list[Pair], options: dict[str, object]
) -> None:
    built = build(pairs, **options)
    near, far = list[bytes](), list[bytes]()
    assert list(opened(built, near).scan(b"", b"")) == pairs
    assert list(opened(built, far, None).scan(b"", b"")) == pairs
    assert set(map(len, far)) <= set(map(len, near))


def test_far_files_are_read_in_one_trip_a_block(build: Callable[..., Built]) -> None:
    read: list[bytes] = []
    reader = opened(build(pairs_with_large(0)), read, None)
    del read[:]
    list(reader.scan(b"", b""))
    assert len(read) == 2


def test_no_flipped_bit_goes_unnoticed(build: Callable[..., Built]) -> None:
    """Wherever in the block it is; what says where the value lies is used before it is checked."""
    built = build(pairs_with_large(20))
    sound = built.content
    handle = opened(built, [])._index.handle(0)
    end = handle.offset + handle.sealed_bytes
    places = [*range(end - 120, end), *range(80), *random.Random(1).sample(range(end), 40)]
    for place in places:
        damaged = bytearray(sound)
        damaged[place] ^= 1 << place % 8
        built.content = bytes(damaged)
        reader = opened(built, [])
        with pytest.raises(Corruption):
            list(reader.scan(b"", b"", False))


def test_an_end_that_makes_no_sense_is_none_of_such_a_block(build: Callable[..., Built]) -> None:
    chance = random.Random(3)
    built = build(pairs_with_large(2))
    handle = opened(built, [])._index.handle(0)
    for _ in range(300):
        content = bytearray(built.content)
        content[handle.sealed_bytes - 18 : handle.sealed_bytes - 5] = chance.randbytes(10) + bytes(
            chance.choice((1, 2, 4)) for _ in range(3)
        )
        try:
            block = read_large(lambda at, size, of=bytes(content): of[at : at + size], "t/x.sst", handle)  # type: ignore[misc]
        except Corruption:
            continue
        assert block is None
