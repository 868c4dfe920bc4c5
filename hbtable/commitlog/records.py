"""One log record: one row mutation of one tablet, as the memtable will hold it (paper, section 5.3: redo records).

    crc32 (4)  body length (4)  body
    body: tablet id (8)  generation (4)  sequence (8)  clock millis (8)  pairs (4), then per pair:
          key length (4)  value length (4)  key  value

Big-endian. The checksum is CRC-32 of the body with the body's length as start value, so it covers the length too. It
is made when the mutation is admitted, and checked at recovery: whatever happened to the bytes in between (memory, disk,
sorting) shows (bug class 7; the writer only ever holds immutable `bytes`, so no buffer can be reused under it).
Every record names tablet, generation and sequence, so that replay goes by sequence and never by the order of files
(bug class 3).
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from hbtable.crc32 import crc32
from hbtable.encoding.cell_key import Pair
from hbtable.encoding.checksum_in_parts import crc32_in_parts
from hbtable.errors import Corruption, InvalidRequest
from hbtable.model.parts import parts_of
from hbtable.switches import switches

_LEAD: Final = struct.Struct(">II")
_HEAD: Final = struct.Struct(">QIQQI")
_PAIR: Final = struct.Struct(">II")
_ONE: Final = struct.Struct(">QIQQIII")
_LEAD_BYTES: Final = _LEAD.size
_HEAD_BYTES: Final = _HEAD.size
_PAIR_BYTES: Final = _PAIR.size
_ONE_BYTES: Final = _ONE.size
_ROW_END: Final = b"\x00\x01"
_PAIRS_IN_A_PART: Final = 128


class LogRecord(NamedTuple):
    """A decoded record. `clock_millis`: the last server-assigned time of the tablet, 0 when none was assigned."""

    tablet_id: int
    generation: int
    sequence: int
    clock_millis: int
    pairs: list[Pair]


class RecordPlace(NamedTuple):
    """The place of a record in a buffer, and the values to sort it by. `row` is the escaped row of its first key."""

    tablet_id: int
    row: bytes
    sequence: int
    start: int
    end: int


def encode_record(tablet_id: int, generation: int, sequence: int, clock_millis: int, pairs: Sequence[Pair]) -> bytes:
    """All pairs belong to one row and carry `sequence` in their keys. Records may be concatenated for one commit.

    InvalidRequest for what could not be read back: something whose length is not that of its bytes would make every
    later record of the tablet unreadable. (tablet.apply takes bytes alone; this is the last line.)"""
    parts = [_HEAD.pack(tablet_id, generation, sequence, clock_millis, len(pairs))]
    expected = _HEAD_BYTES + _PAIR_BYTES * len(pairs)
    for key, value in pairs:
        key_bytes = len(key)
        value_bytes = len(value)
        expected += key_bytes + value_bytes
        parts += (_PAIR.pack(key_bytes, value_bytes), key, value)
    body = b"".join(parts)
    size = len(body)
    if size != expected:
        raise _unreadable(pairs)
    return _LEAD.pack(crc32(body, size), size) + body


def encode_one_pair(
    tablet_id: int, generation: int, sequence: int, clock_millis: int, key: bytes, value: bytes
) -> tuple[bytes, bytes]:
    """The record of one pair, in two pieces: what they are joined to later copies the value, and nothing before. The
    caller knows that both are `bytes`. Hot."""
    key_bytes = len(key)
    value_bytes = len(value)
    size = _ONE_BYTES + key_bytes + value_bytes
    start = _ONE.pack(tablet_id, generation, sequence, clock_millis, 1, key_bytes, value_bytes) + key
    return _LEAD.pack(crc32(value, crc32(start, size)), size) + start, value


def encode_single_pairs(
    tablet_id: int, generation: int, sequence: int, clock_millis: int, pairs: Sequence[Pair]
) -> list[bytes]:
    """Records of one pair each, to be joined; the first has `sequence`, each later one the next. The caller knows that
    keys and values are `bytes`. Hot."""
    pieces: list[bytes] = []
    pack_start, pack_lead = _ONE.pack, _LEAD.pack
    for number, (key, value) in enumerate(pairs, sequence):
        key_bytes = len(key)
        value_bytes = len(value)
        size = _ONE_BYTES + key_bytes + value_bytes
        start = pack_start(tablet_id, generation, number, clock_millis, 1, key_bytes, value_bytes) + key
        pieces += (pack_lead(crc32(value, crc32(start, size)), size), start, value)
    return pieces


@switches
def encode_record_in_parts(
    tablet_id: int,
    generation: int,
    sequence: int,
    clock_millis: int,
    pairs: Sequence[Pair],
    pause: Callable[[], None],
) -> list[bytes]:
    """As encode_record(), of very many or very large pairs, in pieces to be joined. *Switches* between them."""
    expected = _HEAD_BYTES + _PAIR_BYTES * len(pairs)
    body = [_HEAD.pack(tablet_id, generation, sequence, clock_millis, len(pairs))]
    for part in parts_of(pairs, _PAIRS_IN_A_PART):
        parts: list[bytes] = []
        for key, value in part:
            key_bytes = len(key)
            value_bytes = len(value)
            expected += key_bytes + value_bytes
            parts += (_PAIR.pack(key_bytes, value_bytes), key, value)
        if len(part) > 1:
            body.append(b"".join(parts))
        else:
            body += parts  # what they are joined to later copies the value, and nothing before
        pause()
    size = sum(map(len, body))
    if size != expected:
        raise _unreadable(pairs)
    checksum = size
    for piece in body:
        checksum = crc32_in_parts(piece, checksum, pause)
        pause()
    return [_LEAD.pack(checksum, size), *body]


def _unreadable(pairs: Sequence[Pair]) -> InvalidRequest:
    kinds = sorted({type(part).__name__ for pair in pairs for part in pair if type(part) is not bytes})
    return InvalidRequest(f"the log takes bytes alone: a key or value is {' and '.join(kinds)}")


def decode_records(buffer: bytes, start: int, end: int, path: str) -> Iterator[LogRecord]:
    """The records between two offsets of `buffer`, in order. Corruption names `path` and the offset in `buffer`."""
    offset = start
    while offset < end:
        record_end = _checked_end(buffer, offset, end, path)
        yield _decode(buffer, offset + _LEAD_BYTES, record_end, path)
        offset = record_end


def places(buffer: bytes, start: int, end: int, path: str) -> Iterator[RecordPlace]:
    """As decode_records, but only what sorting needs; keys and values are not copied."""
    offset = start
    while offset < end:
        record_end = _checked_end(buffer, offset, end, path)
        tablet_id, _, sequence, _, pairs = _HEAD.unpack_from(buffer, offset + _LEAD_BYTES)
        row = b""
        if pairs:
            key_start = offset + _LEAD_BYTES + _HEAD_BYTES + _PAIR_BYTES
            row_end = buffer.find(_ROW_END, key_start, record_end)
            row = buffer[key_start : row_end if row_end >= 0 else record_end]
        yield RecordPlace(tablet_id, row, sequence, offset, record_end)
        offset = record_end


def _checked_end(buffer: bytes, offset: int, end: int, path: str) -> int:
    """The end of the record that begins at `offset`, its checksum verified."""
    body = offset + _LEAD_BYTES
    if body > end:
        raise Corruption(path, offset, "a record is cut short")
    checksum, size = _LEAD.unpack_from(buffer, offset)
    record_end = body + size
    if size < _HEAD_BYTES or record_end > end:
        raise Corruption(path, offset, f"a record claims {size} bytes")
    if crc32(buffer[body:record_end], size) != checksum:
        raise Corruption(path, offset, "a record fails its checksum")
    return int(record_end)


def _decode(buffer: bytes, offset: int, end: int, path: str) -> LogRecord:
    tablet_id, generation, sequence, clock_millis, count = _HEAD.unpack_from(buffer, offset)
    position = offset + _HEAD_BYTES
    pairs: list[Pair] = []
    for _ in range(count):
        if position + _PAIR_BYTES > end:
            raise Corruption(path, offset, "a record holds fewer pairs than it says")
        key_bytes, value_bytes = _PAIR.unpack_from(buffer, position)
        value_start = position + _PAIR_BYTES + key_bytes
        position = value_start + value_bytes
        if position > end:
            raise Corruption(path, offset, "a pair reaches past its record")
        pairs.append((buffer[value_start - key_bytes : value_start], buffer[value_start:position]))
    if position != end:
        raise Corruption(path, offset, "a record is longer than its pairs")
    return LogRecord(tablet_id, generation, sequence, clock_millis, pairs)
