"""A group file: one group of a log written in whole files (WebHDFS), <folder>/<LSN, 10 digits>.<round>.<try>.grp

    "BtLgFile" (8)  version (2)  header bytes (2)  flags (4)  LSN (8)  round (4)  first LSN of the round (8)
    watermark (8)  oldest LSN (8)  created millis (8)  payload bytes (4)  incarnation bytes (2)  incarnation
    payload  zeros (any number)  crc32 of all before (4)

Big-endian. The payload is a concatenation of records (records.py). Magic, version and the checksum at the end stay in
every version, so that a newer file is told from a damaged one. Zeros were written by versions up to 2026-11-22, which
made a file larger at times; nobody writes them any more.

    LSN         counts groups through the whole log from 1 without a gap
    round       a group that was refused gives its LSN back, and that begins a new round: files of lower rounds with
                this LSN or a higher one are void once a file of the new round is there. Of one LSN and round all tries
                have the same content, but for zeros
    watermark   every group up to this LSN was acknowledged when this one was made: damage there is loss. Always < LSN
    oldest LSN  the first group that recovery must find; files before may be in the middle of being deleted
    flags       as in groups.py: 1 = marker, no records; 2 = clean end of the log
"""

import struct
from typing import Final, NamedTuple

from hbtable.commitlog.groups import KNOWN_FLAGS
from hbtable.crc32 import crc32
from hbtable.errors import UnsupportedFormat

MAGIC: Final = b"BtLgFile"
VERSION: Final = 1
SUFFIX: Final = ".grp"

_FIXED: Final = struct.Struct(">8sHHIQIQQQQIH")
_CHECKSUM: Final = struct.Struct(">I")
_LEAST_BYTES: Final = 16


class GroupFile(NamedTuple):
    """The head of a group file, in front of the payload."""

    incarnation: str
    lsn: int
    round: int
    round_first: int
    watermark: int
    oldest: int
    flags: int
    created_millis: int


class GroupName(NamedTuple):
    """The parts of a group file's name."""

    lsn: int
    round: int
    attempt: int


def group_path(folder: str, name: GroupName) -> str:
    return f"{folder}/{name.lsn:010d}.{name.round}.{name.attempt}{SUFFIX}"


def group_name(folder: str, path: str) -> GroupName | None:
    """None when `path` is not a group file directly in `folder`."""
    if not path.startswith(folder + "/") or not path.endswith(SUFFIX):
        return None
    parts = path[len(folder) + 1 : -len(SUFFIX)].split(".")
    if len(parts) != 3 or len(parts[0]) != 10 or not all(part.isdigit() for part in parts):
        return None
    return GroupName(int(parts[0]), int(parts[1]), int(parts[2]))


def encode_group_file(group: GroupFile, payload: bytes) -> bytes:
    name = group.incarnation.encode()
    fixed = _FIXED.pack(
        MAGIC,
        VERSION,
        payload_start(group.incarnation),
        group.flags,
        group.lsn,
        group.round,
        group.round_first,
        group.watermark,
        group.oldest,
        group.created_millis,
        len(payload),
        len(name),
    )
    checksum = crc32(payload, crc32(name, crc32(fixed)))
    return b"".join((fixed, name, payload, _CHECKSUM.pack(checksum)))


def payload_start(incarnation: str) -> int:
    """The offset of the payload."""
    return _FIXED.size + len(incarnation.encode())


def payload_span(buffer: bytes) -> tuple[int, int]:
    """First offset of a sound file's payload, and the one behind it."""
    start: int
    _, _, start, _, _, _, _, _, _, _, payload_bytes, _ = _FIXED.unpack_from(buffer)
    return start, start + payload_bytes


def least_bytes(incarnation: str) -> int:
    """The bytes of the shortest complete file that this log can have."""
    return payload_start(incarnation) + _CHECKSUM.size


def decode_group_file(buffer: bytes, path: str, incarnation: str, name: GroupName) -> GroupFile | None:
    """None unless `buffer` is the complete and sound file of this name in this very log. UnsupportedFormat: a sound
    file of a newer version."""
    if len(buffer) < _LEAST_BYTES or buffer[:8] != MAGIC:
        return None
    if _CHECKSUM.pack(crc32(memoryview(buffer)[:-4])) != buffer[-4:]:
        return None
    (version,) = struct.unpack_from(">H", buffer, 8)
    if version > VERSION:
        raise UnsupportedFormat(f"{path} is a log of format {version}; this hbtable reads up to {VERSION}")
    if version != VERSION or len(buffer) < least_bytes(incarnation):
        return None
    _, _, start, flags, lsn, turn, first, watermark, oldest, created, payload_bytes, name_bytes = _FIXED.unpack_from(
        buffer
    )
    whole = start + payload_bytes + _CHECKSUM.size <= len(buffer)
    if not whole or buffer[_FIXED.size : _FIXED.size + name_bytes] != incarnation.encode():
        return None
    # A file of another LSN or round under this name checks by itself and is still the wrong one.
    if (lsn, turn) != (name.lsn, name.round):
        return None
    if flags & ~KNOWN_FLAGS:
        raise UnsupportedFormat.unknown(path, "flags", flags, f"the bits {KNOWN_FLAGS}")
    return GroupFile(incarnation, lsn, turn, first, watermark, oldest, flags, created)
