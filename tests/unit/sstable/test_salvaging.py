"""What is left of a damaged SSTable: each block whose own checksum holds, wherever the damage is."""

import random
from itertools import pairwise

import pytest

from hbtable.encoding.cell_key import Pair, cell_key
from hbtable.model.mutation import PUT
from hbtable.sstable.builder import SSTableBuilder, SSTableOptions
from hbtable.sstable.index import decode_index
from hbtable.sstable.layout import FOOTER_BYTES, decode_footer, unseal
from hbtable.sstable.properties import SSTableIdentity
from hbtable.sstable.salvaging import salvage

IDENTITY = SSTableIdentity(16, 17, "f", 3)
PAIRS = [(cell_key(b"%04d" % n, b"f", b"q", 1000, PUT, n + 1), b"value %d" % n * 5) for n in range(400)]


def written(compression: str = "SNAPPY", pairs: list[Pair] = PAIRS) -> bytes:
    builder = SSTableBuilder(SSTableOptions(block_bytes=2000, compression=compression), IDENTITY)
    for key, value in pairs:
        builder.add(key, value)
    return builder.finish()


CONTENT = written()


def blocks(content: bytes) -> list[tuple[int, int]]:
    """(offset, end) of each."""
    footer = decode_footer("p", content[-FOOTER_BYTES:], len(content))
    part = footer.index_part
    raw = unseal("p", part, content[part.offset : part.offset + part.sealed_bytes])
    offsets = decode_index("p", part.offset, raw, footer.filter_part.offset).offsets
    return list(pairwise(offsets))


def flipped(content: bytes, offset: int) -> bytes:
    changed = bytearray(content)
    changed[offset] ^= 4
    return bytes(changed)


@pytest.mark.parametrize("compression", ["NONE", "GZ", "SNAPPY"])
def test_a_sound_file_gives_everything_with_and_without_its_tail(compression: str) -> None:
    content = written(compression)
    assert salvage("p", content).pairs == PAIRS
    headless = salvage("p", flipped(content, len(content) - 20))
    assert (headless.pairs, headless.lost) == (PAIRS, [])
    assert headless.properties is not None  # found behind the last block
    assert headless.properties.identity == IDENTITY


def test_a_damaged_block_costs_its_own_rows_and_says_which() -> None:
    spans = blocks(CONTENT)
    assert len(spans) > 5
    start, _ = spans[3]
    found = salvage("p", flipped(CONTENT, start + 10))
    missing = sorted(set(PAIRS) - set(found.pairs))
    assert missing
    ((first, stop),) = found.lost
    assert [pair for pair in PAIRS if first <= pair[0] < stop] == missing


def test_of_a_file_cut_short_the_beginning_is_left() -> None:
    spans = blocks(CONTENT)
    found = salvage("p", CONTENT[: spans[4][0] + 7])
    whole = salvage("p", CONTENT).pairs
    assert found.pairs == whole[: len(found.pairs)]
    assert len(found.pairs) >= 4 * 20
    assert found.properties is None
    assert found.lost == [(found.pairs[-1][0] + b"\x00", b"")]


def test_of_nothing_nothing_is_left() -> None:
    for content in (b"", b"\x00" * 5000, random.Random(1).randbytes(5000)):
        found = salvage("p", content)
        assert (found.pairs, found.properties) == ([], None)


def test_a_flipped_bit_anywhere_never_gives_a_wrong_pair() -> None:
    chance = random.Random(7)
    right = set(PAIRS)
    for _ in range(150):
        found = salvage("p", flipped(CONTENT, chance.randrange(len(CONTENT))))
        assert right.issuperset(found.pairs)
        missing = right - set(found.pairs)
        assert all(any(first <= key < stop or not stop for first, stop in found.lost) for key, _ in missing)
        assert len(missing) < 60
