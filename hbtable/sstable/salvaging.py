"""Reads as much of a damaged SSTable as can be read: every block whose own checksum holds.

The footer, the index and the properties stand at the end, so a file cut short has none of them. Blocks stand without a
gap from the beginning of the file, and a part's checksum covers its offset: without the index the end of each block is
found by trying every length, up to the first block that does not check. With an index a damaged block hides nothing
behind it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from hbtable.crc32 import crc32
from hbtable.encoding.cell_key import SUFFIX_BYTES, TERMINATOR, Pair
from hbtable.errors import Corruption, UnsupportedFormat
from hbtable.sstable.block import Block
from hbtable.sstable.compression import decompress
from hbtable.sstable.index import Index, decode_index
from hbtable.sstable.layout import FOOTER_BYTES, TRAILER_BYTES, Handle, decode_footer, unseal
from hbtable.sstable.properties import Properties, decode_properties
from hbtable.switches import switches

_LONGEST_BLOCK_BYTES: Final = 1 << 20
"""Looked through for the end of a block when there is no index. Longer: more of a file with huge values is found, and
the search at the damaged block takes longer."""


@dataclass(slots=True)
class SSTableSalvage:
    """The readable part of a damaged SSTable. `lost`: ranges of cell keys, [start, stop), b"" without a bound, that
    stood in damaged blocks."""

    properties: Properties | None = None
    """None when they cannot be read."""
    pairs: list[Pair] = field(default_factory=list)
    lost: list[tuple[bytes, bytes]] = field(default_factory=list)


@switches
def salvage(path: str, content: bytes, pause: Callable[[], None] = lambda: None) -> SSTableSalvage:
    """`content`: the whole file. UnsupportedFormat when a newer hbtable wrote it; never Corruption."""
    found = SSTableSalvage()
    index, data_bytes = _read_tail(path, content, found)
    if index is None:
        _without_index(path, content[:data_bytes], found, pause)
    else:
        _by_index(path, content, index, found, pause)
    return found


def read_identity(path: str, content: bytes) -> Properties | None:
    """The properties alone, where they and the footer are sound."""
    found = SSTableSalvage()
    _read_tail(path, content, found)
    return found.properties


def _read_tail(path: str, content: bytes, found: SSTableSalvage) -> tuple[Index | None, int]:
    """(the index, how many bytes hold blocks as far as one knows)."""
    try:
        footer = decode_footer(path, content[-FOOTER_BYTES:], len(content))
    except Corruption:
        return None, len(content)
    parts = (footer.filter_part, footer.index_part, footer.properties_part)
    _, raw_index, raw_properties = [_part(path, content, handle) for handle in parts]
    if raw_properties is not None:
        try:
            found.properties = decode_properties(path, footer.properties_part.offset, raw_properties)
        except UnsupportedFormat:
            raise
        except Corruption:
            pass
    index = None
    if raw_index is not None:
        try:
            index = decode_index(path, footer.index_part.offset, raw_index, footer.filter_part.offset)
        except Corruption:
            pass
    return index, footer.filter_part.offset


def _part(path: str, content: bytes, handle: Handle) -> bytes | None:
    try:
        return unseal(path, handle, content[handle.offset : handle.offset + handle.sealed_bytes])
    except Corruption:
        return None


@switches
def _by_index(path: str, content: bytes, index: Index, found: SSTableSalvage, pause: Callable[[], None]) -> None:
    for number, first_key in enumerate(index.first_keys):
        handle = index.handle(number)
        raw = _part(path, content, handle)
        pairs = None if raw is None else _pairs(path, handle.offset, raw)
        if pairs is None or pairs[0][0] != first_key:
            following = index.first_keys[number + 1] if number + 1 < len(index.first_keys) else b""
            if not following and found.properties is not None:
                following = found.properties.last_key + b"\x00"
            found.lost.append((first_key, following))
        else:
            found.pairs += pairs
        pause()


@switches
def _without_index(path: str, content: bytes, found: SSTableSalvage, pause: Callable[[], None]) -> None:
    offset = 0
    last_key = b""
    part: tuple[int, bytes] | None = None
    while (part := _next_part(content, offset)) is not None:
        pairs = _pairs(path, offset, part[1])
        if pairs is None or pairs[0][0] <= last_key:
            break
        found.pairs += pairs
        last_key = pairs[-1][0]
        offset = part[0]
        pause()
    if found.properties is None and part is not None:
        found.properties = _properties_behind(path, content, part[0])
    properties = found.properties
    if properties is not None and last_key == properties.last_key:
        return
    stop = properties.last_key + b"\x00" if properties is not None else b""
    found.lost.append((last_key + b"\x00" if last_key else b"", stop))


def _properties_behind(path: str, content: bytes, filter_end: int) -> Properties | None:
    """Behind the filter come the index and the properties: they are found when only the footer is damaged."""
    index = _next_part(content, filter_end)
    properties = _next_part(content, index[0]) if index is not None else None
    if index is None or properties is None:
        return None
    try:
        return decode_properties(path, index[0], properties[1])
    except Corruption:
        return None


def _next_part(content: bytes, offset: int) -> tuple[int, bytes] | None:
    """(where it ends, its raw bytes) of the sealed part that begins here; None when none does."""
    place = offset.to_bytes(8, "big")
    checksum = 0
    view = memoryview(content)
    for end in range(offset + TRAILER_BYTES, min(len(content), offset + _LONGEST_BLOCK_BYTES) + 1):
        checksum = crc32(view[end - TRAILER_BYTES : end - 4], checksum)
        if crc32(place, checksum) != int.from_bytes(view[end - 4 : end], "big"):
            continue
        try:
            return end, decompress(content[end - 5], content[offset : end - 5])
        except ValueError:
            continue
    return None


def _pairs(path: str, offset: int, raw: bytes) -> list[Pair] | None:
    """None unless it is a block of ascending cell keys."""
    try:
        keys, values = Block(path, offset, raw).decoded()
    except Corruption:
        return None
    if not keys or any(left >= right for left, right in pairwise(keys)) or not all(map(_is_cell_key, keys)):
        return None
    return list(zip(keys, values, strict=True))


def _is_cell_key(key: bytes) -> bool:
    return len(key) > SUFFIX_BYTES and TERMINATOR in key[:-SUFFIX_BYTES]
