"""A segment: one file of the log, <folder>/<number, 10 digits>.log (paper, section 6: 64 MB segments).

A header, then groups until the end:

    "BtLogSeg" (8)  version (2)  header bytes (2)  durability (1: 0 sync, 1 os)  reserved (3)
    number (4)  previous (4)  previous good bytes (8)  first LSN (8)  watermark (8)  oldest segment (4)
    created millis (8)  incarnation bytes (2)  incarnation  crc32 of all before (4)

Big-endian. Magic, version, header length and a checksum at its end stay in every version, so that a newer header is
told from a damaged one.

`previous` and `previous good bytes` say how the log goes on: after that many bytes of that segment. What the old one
holds beyond was refused (no room, for instance) and must never be read again, although its checksums may hold;
segments with numbers in between were given up before their first group. The header is synced before the first group
is appended and after everything the old segment holds: a segment that has a successor is durable and complete up to
its good length, so any damage there is loss.
"""

import struct
from typing import Final, NamedTuple

from hbtable.crc32 import crc32
from hbtable.errors import UnsupportedFormat

MAGIC: Final = b"BtLogSeg"
VERSION: Final = 1
LOGS: Final = "logs"
"""The folder of all logs. fs.local knows the name, too: it syncs what lies there in threads of their own."""
SUFFIX: Final = ".log"
DURABILITIES: Final = ("sync", "os")

_FIXED: Final = struct.Struct(">8sHHB3sIIQQQIQH")
_CHECKSUM: Final = struct.Struct(">I")
_RESERVED: Final = bytes(3)


class SegmentHeader(NamedTuple):
    """The header of a segment. `previous` is 0 in the first segment of a log. `watermark` = first_lsn - 1: all before
    is durable."""

    incarnation: str
    durability: str
    number: int
    previous: int
    previous_bytes: int
    first_lsn: int
    watermark: int
    oldest_segment: int
    created_millis: int


class Segment(NamedTuple):
    """The part of one file of a log that counts: the groups in [start, end), numbered from first_lsn to last_lsn. A
    group file (group_file.py) is one, too, of one group: its `number` is its LSN, its `seed` its round."""

    path: str
    number: int
    seed: int
    start: int
    end: int
    first_lsn: int
    last_lsn: int


def header_bytes(incarnation: str) -> int:
    """The length of a header of this log; a file not longer than that holds no group."""
    return _FIXED.size + len(incarnation.encode()) + _CHECKSUM.size


def encode_header(header: SegmentHeader) -> bytes:
    name = header.incarnation.encode()
    fixed = _FIXED.pack(
        MAGIC,
        VERSION,
        header_bytes(header.incarnation),
        DURABILITIES.index(header.durability),
        _RESERVED,
        header.number,
        header.previous,
        header.previous_bytes,
        header.first_lsn,
        header.watermark,
        header.oldest_segment,
        header.created_millis,
        len(name),
    )
    return fixed + name + _CHECKSUM.pack(crc32(fixed + name))


def decode_header(buffer: bytes, path: str, incarnation: str, number: int) -> SegmentHeader | None:
    """None when the bytes at the start of `buffer` are not the sound header of this very segment of this very log.

    UnsupportedFormat: a sound header of a newer hbtable.
    """
    if len(buffer) < 12 or buffer[:8] != MAGIC:
        return None
    version, size = struct.unpack_from(">HH", buffer, 8)
    if size < 16 or size > len(buffer) or _CHECKSUM.pack(crc32(buffer[: size - 4])) != buffer[size - 4 : size]:
        return None
    if version > VERSION:
        raise UnsupportedFormat(f"{path} is a log of format {version}; this hbtable reads up to {VERSION}")
    if version != VERSION or size != header_bytes(incarnation):
        return None
    _, _, _, durability, reserved, *numbers, name_bytes = _FIXED.unpack_from(buffer)
    name = buffer[_FIXED.size : _FIXED.size + name_bytes]
    # A file of another log, or another segment under this name, checks by itself and is still the wrong one.
    if numbers[0] != number or name != incarnation.encode():
        return None
    if durability >= len(DURABILITIES) or reserved != _RESERVED:
        raise UnsupportedFormat.unknown(path, "durability", (durability, reserved.hex()), "0 and 1, then zeros")
    return SegmentHeader(incarnation, DURABILITIES[durability], *numbers)


def seed(incarnation: str, number: int) -> int:
    """Start value of the checksums of this segment's groups."""
    return crc32(f"{incarnation}/{number}".encode())


def segment_path(folder: str, number: int) -> str:
    return f"{folder}/{number:010d}{SUFFIX}"


def segment_number(folder: str, path: str) -> int | None:
    """None when `path` is not a segment directly in `folder`."""
    name = path[len(folder) + 1 :]
    digits = name.removesuffix(SUFFIX)
    if not path.startswith(folder + "/") or len(digits) != 10 or name == digits or not digits.isdigit():
        return None
    return int(digits)


def log_folder(incarnation: str) -> str:
    """The folder of a tablet server's log."""
    return f"{LOGS}/{incarnation}"


def incarnation_of(folder: str) -> str:
    """A log's folder is named after the incarnation of the tablet server that writes it."""
    return folder.rpartition("/")[2]
