"""A group: what one append writes, one or many records, or none (a marker). Paper, section 5.3: group commit.

    "BtLg" (4)  header crc (4)  payload crc (4)  payload bytes (4)  flags (4)  oldest segment (4)
    LSN (8)  watermark (8)  payload

Big-endian. The header crc covers the 32 bytes after it; its start value is (segment seed + offset of the group) mod
2^32, so a group is valid only at the place it was written for: old blocks, misdirected writes, and log bytes that a
user stored in a value are not taken for groups. The payload is a concatenation of records.

    LSN             counts groups through the whole log from 1 without a gap. A refused group's LSN is used again, by
                    the first group of the next segment, whose header says where the good part of the old one ends
    watermark       every group up to this LSN was durable when this one was written: damage there is loss, never a
                    torn tail (docs/faults.md: fencing). Always < LSN
    oldest segment  the first segment that recovery must find; older files may be in the middle of being deleted
    flags           1 = marker, no records; 2 = clean end of the log: nothing follows
"""

import struct
from typing import Final, NamedTuple

from hbtable.crc32 import crc32
from hbtable.errors import MemoryDamaged, UnsupportedFormat

MAGIC: Final = b"BtLg"
MARKER: Final = 1
CLEAN_END: Final = 2
KNOWN_FLAGS: Final = MARKER | CLEAN_END
HEADER_BYTES: Final = 40

_LEAD: Final = struct.Struct(">4sI")
_TAIL: Final = struct.Struct(">IIIIQQ")
_LEAD_BYTES: Final = _LEAD.size
_MASK: Final = 0xFFFFFFFF


class CommitGroup(NamedTuple):
    """A group whose checksums hold. `start` is its header's offset, its payload is [payload, end)."""

    start: int
    payload: int
    end: int
    lsn: int
    watermark: int
    oldest_segment: int
    flags: int


def frame(
    seed: int,
    offset: int,
    lsn: int,
    watermark: int,
    oldest_segment: int,
    payload: bytes,
    flags: int = 0,
    expected: int | None = None,
) -> bytes:
    """The bytes to append at `offset` of the segment with `seed` (segment.seed). `expected`: the CRC32 that the payload
    had when it was handed to the log. MemoryDamaged: it has another one now."""
    return header(seed, offset, lsn, watermark, oldest_segment, payload, flags, expected) + payload


def header(
    seed: int,
    offset: int,
    lsn: int,
    watermark: int,
    oldest_segment: int,
    payload: bytes,
    flags: int = 0,
    expected: int | None = None,
    found: int | None = None,
) -> bytes:
    """The beginning of what frame() makes, without the payload. `found`: the CRC32 that was computed of it just now."""
    checksum = checked(payload, expected, found)
    tail = _TAIL.pack(checksum, len(payload), flags, oldest_segment, lsn, watermark)
    return _LEAD.pack(MAGIC, crc32(tail, (seed + offset) & _MASK)) + tail


def checked(payload: bytes, expected: int | None, found: int | None = None) -> int:
    """The payload's CRC32, or what was `found` as that. MemoryDamaged: it was `expected` to be another one."""
    checksum = crc32(payload) if found is None else found
    if expected is not None and checksum != expected:
        raise MemoryDamaged(
            f"{len(payload)} bytes of records changed in memory while they waited for the commit log: none of them was "
            "written; send them again, and have this machine's memory tested"
        )
    return checksum


def group_at(buffer: bytes, offset: int, seed: int) -> CommitGroup | None:
    """The group that begins exactly at `offset`; None when there is none or it is damaged or cut short.
    UnsupportedFormat: a sound group with flags of a newer hbtable."""
    if offset + HEADER_BYTES > len(buffer):
        return None
    magic, checksum = _LEAD.unpack_from(buffer, offset)
    payload = offset + HEADER_BYTES
    if magic != MAGIC or crc32(buffer[offset + _LEAD_BYTES : payload], (seed + offset) & _MASK) != checksum:
        return None
    payload_crc, size, flags, oldest_segment, lsn, watermark = _TAIL.unpack_from(buffer, offset + _LEAD_BYTES)
    end = payload + size
    # A memoryview: a slice past the end would hide that the payload is cut short, and a copy of 4 MiB is not free.
    if end > len(buffer) or crc32(memoryview(buffer)[payload:end]) != payload_crc:
        return None
    if flags & ~KNOWN_FLAGS:
        raise UnsupportedFormat.unknown(f"group {lsn} of a log", "flags", flags, f"the bits {KNOWN_FLAGS}")
    return CommitGroup(offset, payload, end, lsn, watermark, oldest_segment, flags)


def next_group(buffer: bytes, offset: int, seed: int) -> CommitGroup | None:
    """The first valid group that begins at `offset` or later: what comes after a damaged stretch."""
    while True:
        offset = buffer.find(MAGIC, offset)
        if offset < 0:
            return None
        group = group_at(buffer, offset, seed)
        if group is not None:
            return group
        offset += 1


def cut_short(buffer: bytes, offset: int) -> bool:
    """Whether the bytes from `offset` to the end look like an append that never got all its bytes out.

    Only words the warning: an append cut short, or one whose last blocks were allocated but read as zeros. False: bytes
    are there in full length and wrong.
    """
    left = len(buffer) - offset
    if left < HEADER_BYTES:
        return True
    (size,) = struct.unpack_from(">I", buffer, offset + 12)
    if buffer[offset : offset + 4] == MAGIC and size > left - HEADER_BYTES:
        return True
    return buffer.count(0, max(offset, len(buffer) - 64)) == min(left, 64)
