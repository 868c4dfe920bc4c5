"""Whatever happens to the bytes: the true cells, or Corruption; never other cells."""

import zlib

import pytest

from hbtable.encoding.cell_key import row_prefix, row_stop
from hbtable.errors import Corruption, UnsupportedFormat
from hbtable.sstable.cache import BlockCache
from hbtable.sstable.reader import SSTableReader

ROWS = 12


@pytest.fixture(params=["NONE", "SNAPPY"])
def table(request, build, pairs_of):
    """About 1.5 KB in several blocks, with everything a file can have."""
    return build(pairs_of(ROWS, 2, 25), block_bytes=260, restart_interval=3, bloom="ROWCOL", compression=request.param)


def open_bytes(content: bytes, checksum: int | None = None, length: int | None = None) -> SSTableReader:
    def read_at(offset: int, size: int) -> bytes:
        return content[offset : offset + size]

    return SSTableReader.open(read_at, "t/x", len(content) if length is None else length, BlockCache(1 << 20), checksum)


def read_all(content: bytes, pairs, checksum: int | None = None) -> bool:
    """Reads in every way; False when all of it answered with the truth, True when something said Corruption."""
    refused = False
    try:
        reader = open_bytes(content, checksum)
    except Corruption:
        return True
    found = []
    try:
        for pair in reader.scan(b"", b""):
            found.append(pair)
    except Corruption:
        refused = True
    assert found == pairs[: len(found)]
    assert refused or len(found) == len(pairs)
    for row in range(ROWS):
        name = b"row%05d" % row
        assert reader.may_hold_row(row_prefix(name))
        try:
            assert list(reader.scan(row_prefix(name), row_stop(name))) == pairs[2 * row : 2 * row + 2]
        except Corruption:
            refused = True
    try:
        assert reader.verify() == len(pairs)
    except Corruption:
        return True
    assert not refused
    return False


def test_the_whole_file_reads(table, pairs_of) -> None:
    assert table.builder.properties.blocks > 3
    assert not read_all(table.content, pairs_of(ROWS, 2, 25), table.builder.footer_checksum)


def test_no_flipped_bit_goes_unnoticed(table, pairs_of) -> None:
    pairs = pairs_of(ROWS, 2, 25)
    unnoticed = []
    for place in range(len(table.content)):
        for bit in (place % 8, (place + 3) % 8):
            damaged = bytearray(table.content)
            damaged[place] ^= 1 << bit
            if not read_all(bytes(damaged), pairs):
                unnoticed.append((place, bit))
    assert unnoticed == []


def test_no_zeroed_stretch_goes_unnoticed(table, pairs_of) -> None:
    pairs = pairs_of(ROWS, 2, 25)
    for begin in range(0, len(table.content) - 16, 16):
        damaged = table.content[:begin] + bytes(16) + table.content[begin + 16 :]
        assert damaged == table.content or read_all(damaged, pairs)


def test_truncated_at_any_length(table) -> None:
    checksum = table.builder.footer_checksum
    for length in range(len(table.content)):
        with pytest.raises(Corruption):
            open_bytes(table.content[:length])
        with pytest.raises(Corruption):
            open_bytes(table.content[:length], checksum, len(table.content))


def test_bytes_after_the_end(table) -> None:
    for tail in (b"\x00", b"\x00" * 64, table.content):
        with pytest.raises(Corruption):
            open_bytes(table.content + tail, None).verify()


def test_a_truncated_file_names_itself_and_the_place(table) -> None:
    with pytest.raises(Corruption, match=r"t/x is damaged at byte \d+: it does not end as an SSTable ends"):
        open_bytes(table.content[:-1])


def test_blocks_that_changed_places(build, pairs_of) -> None:
    pairs = pairs_of(ROWS, 2, 25)
    built = build(pairs, block_bytes=260)
    index = built.open()._index
    (a, b, c) = index.offsets[1:4]
    assert b - a == c - b
    swapped = built.content[:a] + built.content[b:c] + built.content[a:b] + built.content[c:]
    assert read_all(swapped, pairs)


def test_a_block_of_another_file_at_the_same_place(build, pairs_of) -> None:
    """Its own checksum is right, its place is right, only the index knows that it does not belong here."""
    pairs = pairs_of(ROWS, 2, 25)
    other = [(key, value.replace(b"v", b"w")) for key, value in pairs]
    one, two = build(pairs, block_bytes=260), build(other, block_bytes=260)
    end = one.open()._index.offsets[1]
    assert two.open()._index.offsets[1] == end
    mixed = two.content[:end] + one.content[end:]
    with pytest.raises(Corruption, match="not the one that belongs here"):
        list(open_bytes(mixed).scan(b"", b""))
    assert read_all(mixed, pairs)


def test_another_file_in_place_of_this_one(build, pairs_of) -> None:
    one, two = build(pairs_of(5)), build(pairs_of(6))
    with pytest.raises(Corruption, match="METADATA"):
        open_bytes(two.content, one.builder.footer_checksum)


def test_a_reader_that_returns_too_little(build, pairs_of) -> None:
    built = build(pairs_of(100), block_bytes=500)
    short = [0]
    reader = SSTableReader.open(
        lambda offset, size: built.content[offset : offset + size - short[0]], "t/x", len(built.content), BlockCache(0)
    )
    short[0] = 1
    with pytest.raises(Corruption):
        list(reader.scan(b"", b""))


def test_verify_sees_damage_that_the_cache_hides(build, pairs_of) -> None:
    built = build(pairs_of(100), block_bytes=500)
    reader = built.open()
    list(reader.scan(b"", b""))
    built.content = built.content[:700] + b"\x55" + built.content[701:]
    list(reader.scan(b"", b""))
    with pytest.raises(Corruption):
        reader.verify()


def test_a_newer_format_is_refused_with_a_message(table) -> None:
    head = table.content[-64:-14] + (2).to_bytes(2, "big")
    footer = head + zlib.crc32(head).to_bytes(4, "big") + table.content[-8:]
    with pytest.raises(UnsupportedFormat, match=r"t/x has SSTable format 2, .* newer hbtable"):
        open_bytes(table.content[:-64] + footer)


def test_a_newer_format_with_a_longer_footer_is_refused_too(table) -> None:
    head = b"new things" + table.content[-64:-16] + (74).to_bytes(2, "big") + (2).to_bytes(2, "big")
    footer = head + zlib.crc32(head).to_bytes(4, "big") + table.content[-8:]
    with pytest.raises(UnsupportedFormat):
        open_bytes(table.content[:-64] + footer)
