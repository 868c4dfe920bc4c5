"""The Bloom filter: never a false no, rarely a false yes."""

import random
import struct
import zlib

import pytest

from hbtable.errors import Corruption
from hbtable.sstable.bloom import ROW, ROWCOL, BloomBuilder, BloomFilter, decode_bloom


def make(entries: list[bytes], kind: int = ROW) -> BloomFilter:
    builder = BloomBuilder(kind, 10)
    for entry in entries:
        builder.add(entry)
    found = decode_bloom("p", 0, builder.encode())
    assert found is not None
    return found


@pytest.mark.parametrize("pattern", [b"user%010d\x00\x01", b"%d\x00\x01", b"%08x\x00\x01"])
def test_about_one_in_a_hundred_absent_rows_passes(pattern: bytes) -> None:
    present = [pattern % (3 * number) for number in range(5000)]
    found = make(present)
    assert all(found.may_hold(row) for row in present)
    passed = sum(found.may_hold(pattern % (3 * number + 1)) for number in range(5000))
    assert passed < 5000 * 0.02


def test_an_empty_filter_says_no() -> None:
    assert not make([]).may_hold(b"a\x00\x01")


def test_the_kind_is_kept() -> None:
    assert make([b"x"], ROWCOL).kind == ROWCOL


def test_no_filter_at_all() -> None:
    assert decode_bloom("p", 0, b"") is None


@pytest.mark.parametrize("hashes", [1, 2, 4, 5, 6, 7, 64])
@pytest.mark.parametrize("size", [65, 1000, 4099])
def test_a_filter_is_asked_for_the_bits_that_the_format_names(hashes: int, size: int) -> None:
    """By the formula of bloom.py's head, of filters with any number of hashes: the first ones had seven."""
    chance = random.Random(1)
    entries = [b"user%d\x00\x01" % number for number in range(200)]
    held = {place for place in range(size) if chance.random() < 0.5 ** (1 / hashes)}  # half of the entries pass
    raw = bytearray((size + 7) // 8)
    for place in held:
        raw[place >> 3] |= 1 << (place & 7)
    found = decode_bloom("p", 0, struct.pack(">BBQ", ROW, hashes, size) + raw)
    assert found is not None
    answers = [found.may_hold(entry) for entry in entries]
    assert answers == [set(positions(entry, hashes, size)) <= held for entry in entries]
    assert True in answers
    assert False in answers


def positions(entry: bytes, hashes: int, size: int) -> list[int]:
    mixed = zlib.crc32(entry) * 0x9E3779B97F4A7C15 % 2**64
    return [(mixed // 2**32 + number * (mixed % 2**32 | 1)) % size for number in range(hashes)]


@pytest.mark.parametrize("raw", [b"\x01", b"\x01\x07" + bytes(7), b"\x01\x07" + bytes(7) + b"\x09\x00"])
def test_a_head_that_makes_no_sense(raw: bytes) -> None:
    with pytest.raises(Corruption):
        decode_bloom("p", 0, raw)
