r"""The cell key: one `bytes` whose plain comparison is the sort order (paper, section 2).

    row', 00 01, family', 00, qualifier', 00 01, ~timestamp (8), kind (1), ~sequence (8), flags (1)

row' and qualifier' have each byte 00 written as 00 ff, so that the terminator 00 01 sorts before any continuation and
rows and qualifiers may hold any byte. family' is the family's name, which holds no control character (model.names);
of a family that was added to an existing table 01 and the schema version that added it (decimal digits) follow, so that
cells of a family that was dropped are never taken for those of its successor, wherever they lie. Names sort as they do
without it. ~x is 2^64-1-x big-endian: newest timestamp first, then markers before puts (kinds, model.mutation), then
newest sequence first. The last 18 bytes are the suffix; what comes before is the column prefix, equal for all versions
of a column.

flags: bit 0 = the value begins with the time to live of this cell, 8 bytes of milliseconds, big-endian.
"""

import struct
from typing import Final

from hbtable.errors import UnsupportedFormat
from hbtable.model.mutation import KINDS

SUFFIX: Final = struct.Struct(">QBQB")
_SUFFIX_START: Final = struct.Struct(">QB")
SUFFIX_BYTES: Final = 18
TERMINATOR: Final = b"\x00\x01"
FLAG_TTL: Final = 1
INVERT: Final = 2**64 - 1
"""~x in a key is INVERT - x."""

KNOWN_FLAGS: Final = FLAG_TTL
"""All bits there are. Others are of a later version, and may change what the value's bytes mean."""

_ADDED_IN: Final = b"\x01"

Pair = tuple[bytes, bytes]
"""(cell key, value): what memtables, SSTables and log records hold."""


def row_prefix(row: bytes) -> bytes:
    """The prefix that all cell keys of `row`, and of no other row, begin with."""
    if b"\x00" in row:
        row = row.replace(b"\x00", b"\x00\xff")
    return row + b"\x00\x01"


def row_stop(row: bytes) -> bytes:
    """The smallest key greater than every cell key of `row`."""
    return row_prefix(row)[:-1] + b"\x02"


def range_key(row: bytes) -> bytes:
    """The smallest key of `row` or any later row: turns a row bound into a key bound. b"" stays b""."""
    return row_prefix(row) if row else b""


def stored_family(name: bytes, added_in: int) -> bytes:
    """A family's name in cell keys, and in the names of what holds them. `added_in` is FamilySchema's."""
    return b"%b\x01%d" % (name, added_in) if added_in else name


def family_name(stored: bytes) -> bytes:
    return stored.partition(_ADDED_IN)[0]


def stored_column(family: bytes, qualifier: bytes) -> bytes:
    """The part of a cell key between row and suffix. `family` as it stands in cell keys."""
    if b"\x00" in qualifier:
        qualifier = qualifier.replace(b"\x00", b"\x00\xff")
    return family + b"\x00" + qualifier + b"\x00\x01"


def column_prefix(row_start: bytes, family: bytes, qualifier: bytes) -> bytes:
    """`row_start` is row_prefix(row). The prefix of all versions of one column."""
    if b"\x00" in qualifier:
        qualifier = qualifier.replace(b"\x00", b"\x00\xff")
    return row_start + family + b"\x00" + qualifier + b"\x00\x01"


def suffix(timestamp: int, kind: int, sequence: int, flags: int = 0) -> bytes:
    return SUFFIX.pack(INVERT - timestamp, kind, INVERT - sequence, flags)


def suffix_start(timestamp: int, kind: int) -> bytes:
    """The bytes that begin the suffix of this timestamp and kind, whatever the sequence."""
    return _SUFFIX_START.pack(INVERT - timestamp, kind)


def cell_key(
    row: bytes, family: bytes, qualifier: bytes, timestamp: int, kind: int, sequence: int, flags: int = 0
) -> bytes:
    """0 <= timestamp < 2^63, 0 <= sequence < 2^63."""
    return column_prefix(row_prefix(row), family, qualifier) + suffix(timestamp, kind, sequence, flags)


def row_of(key: bytes) -> bytes:
    row = key[: key.index(b"\x00\x01")]
    return row.replace(b"\x00\xff", b"\x00") if b"\x00" in row else row


def column_of(column_part: bytes) -> bytes:
    """b"family':qualifier" from the part of a key between the row's terminator and the suffix."""
    family, _, qualifier = column_part[:-2].partition(b"\x00")
    if b"\x00" in qualifier:
        qualifier = qualifier.replace(b"\x00\xff", b"\x00")
    return family + b":" + qualifier


def check_known(key: bytes, path: str = "a cell") -> None:
    """UnsupportedFormat when the cell is of a kind, or has flags, that only a later version knows."""
    kind, flags = key[-10], key[-1]
    if kind not in KINDS:
        raise UnsupportedFormat.unknown(path, "cell kind", kind, sorted(KINDS))
    if flags & ~KNOWN_FLAGS:
        raise UnsupportedFormat.unknown(path, "cell flags", flags, f"the bits {KNOWN_FLAGS}")


def parse_suffix(key: bytes) -> tuple[int, int, int, int]:
    """(timestamp, kind, sequence, flags)."""
    inverted_timestamp, kind, inverted_sequence, flags = SUFFIX.unpack(key[-18:])
    return INVERT - inverted_timestamp, kind, INVERT - inverted_sequence, flags


def parse(key: bytes) -> tuple[bytes, bytes, bytes, int, int, int, int]:
    """(row, family', qualifier, timestamp, kind, sequence, flags)."""
    end = key.index(b"\x00\x01")
    column = column_of(key[end + 2 : -18])
    family, _, qualifier = column.partition(b":")
    timestamp, kind, sequence, flags = parse_suffix(key)
    row = key[:end]
    return row.replace(b"\x00\xff", b"\x00"), family, qualifier, timestamp, kind, sequence, flags
