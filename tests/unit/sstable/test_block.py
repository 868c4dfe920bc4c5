"""One block: encoding, seeking, decoding, and nonsense with a right checksum."""

import random
import struct

import pytest

from hbtable.errors import Corruption
from hbtable.sstable.block import Block, encode_block, shared_length

KEYS = sorted({b"key%05d" % (number * number % 3001) for number in range(400)})
VALUES = [key[::-1] * (index % 5) for index, key in enumerate(KEYS)]


def block(interval: int = 16) -> Block:
    return Block("p", 0, encode_block(KEYS, VALUES, interval))


def test_shared_length() -> None:
    cases = [(b"", b"", 0), (b"a", b"", 0), (b"abc", b"abd", 2), (b"ab", b"abc", 2), (b"\x00\x00", b"\x00\x01", 1)]
    for left, right, expected in [*cases, (b"\x00", b"\x00", 1), (b"same", b"same", 4), (b"x", b"y", 0)]:
        assert shared_length(left, right) == shared_length(right, left) == expected


@pytest.mark.parametrize("interval", [1, 2, 16, 1000])
def test_round_trip(interval: int) -> None:
    assert block(interval).decoded() == (KEYS, VALUES)
    assert block(interval).restarts_agree()


def test_prefixes_are_not_repeated() -> None:
    keys = [b"a long common beginning %04d" % number for number in range(100)]
    assert len(encode_block(keys, [b""] * 100, 16)) < sum(map(len, keys)) / 2


@pytest.mark.parametrize("size", [255, 256, 65535, 65536, 70000])
def test_lengths_of_every_width(size: int) -> None:
    keys = [b"k" * size, b"k" * size + b"a", b"k" * size + b"b" * size]
    values = [b"v" * size, b"", b"w"]
    found = Block("p", 0, encode_block(keys, values, 16))
    assert found.decoded() == (keys, values)
    assert list(found.between(keys[1], b"", False)) == list(zip(keys, values, strict=True))[1:]


def test_no_pairs() -> None:
    empty = Block("p", 0, encode_block([], [], 16))
    assert empty.decoded() == ([], [])
    assert list(empty.between(b"", b"", True)) == []


@pytest.mark.parametrize("keep", [False, True])
def test_between_agrees_with_a_list_in_every_form(keep: bool) -> None:
    chance = random.Random(5)
    pairs = list(zip(KEYS, VALUES, strict=True))
    found = block(7)
    for _ in range(500):
        start = chance.choice([b"", b"key%05d" % chance.randrange(3100)])
        stop = chance.choice([b"", b"key%05d" % chance.randrange(3100), start + b"\x00"])
        expected = [pair for pair in pairs if start <= pair[0] and (not stop or pair[0] < stop)]
        assert list(found.between(start, stop, keep)) == expected
    assert found.is_decoded == keep


def test_a_block_decodes_itself_only_when_seeks_have_cost_as_much() -> None:
    found = block(16)
    restarts = -(-len(KEYS) // 16)
    for _ in range(restarts - 1):
        list(found.between(KEYS[20], KEYS[21], True))
    assert not found.is_decoded
    list(found.between(KEYS[20], KEYS[21], True))
    assert found.is_decoded
    assert found.raw == b""


def test_decoding_tells_its_memory() -> None:
    found = block()
    before = found.memory_bytes
    found.keep_decoded()
    assert found.memory_bytes > before + 50 * len(KEYS)


def test_damage_under_a_right_checksum_never_escapes_as_another_error() -> None:
    """Checksums do not protect against a writer's mistake: the structure is checked as well."""
    raw = encode_block(KEYS[:40], VALUES[:40], 4)
    chance = random.Random(11)
    refused = 0
    for _ in range(3000):
        damaged = bytearray(raw)
        for _ in range(chance.choice([1, 1, 4])):
            damaged[-chance.randrange(1, 60) if chance.random() < 0.5 else chance.randrange(len(raw))] ^= (
                chance.randrange(1, 256)
            )
        try:
            found = Block("p", 0, bytes(damaged))
            list(found.between(KEYS[5], KEYS[9], False))
            found.restarts_agree()
            found.decoded()
        except Corruption:
            refused += 1
    assert refused > 500


@pytest.mark.parametrize("raw", [b"", b"\x00" * 12, b"\xff" * 13, struct.pack(">IIHBBB", 0, 0, 0, 1, 1, 1)])
def test_not_a_block(raw: bytes) -> None:
    with pytest.raises(Corruption):
        Block("p", 0, raw)
