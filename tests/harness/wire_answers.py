"""Checks that bytes from the server are whole Thrift answers: a reader that shares nothing with hbtable's.

Raises Undecodable for anything a Thrift library would stumble over.
"""

import json
import struct
from typing import NamedTuple

REPLY, EXCEPTION = 2, 3
_FIXED = {2: 1, 3: 1, 4: 8, 6: 2, 8: 4, 10: 8}


class Undecodable(AssertionError):
    """The server sent something that is no Thrift answer."""


class Answer(NamedTuple):
    """An answer's head, and where the next one begins."""

    name: bytes
    message_type: int
    sequence: int
    end: int


def is_explanation(data: bytes) -> bool:
    """Whether it is what somebody gets who speaks another protocol: a TLS alert, a SASL status, an answer in JSON, one
    in Thrift's header format, of HBase's own RPC or of PostgreSQL, or a line of text."""
    if data in (b"", b"\x15\x03\x01\x00\x02\x02\x28"):
        return True
    if data.startswith((b"HTTP/1.1 ", b"-ERR ", b"this is hbtable")):
        return True
    if data.startswith((b"E\0\0", b"NE\0\0", b"NNE\0\0")):
        message = data.lstrip(b"N")
        return int.from_bytes(message[1:5], "big") == len(message) - 1
    if data[4:6] == b"\x0f\xff":
        return int.from_bytes(data[:4], "big") == len(data) - 4
    if data[:1] == b"\x04":
        return int.from_bytes(data[1:5], "big") == len(data) - 5
    try:
        return isinstance(json.loads(data[4:] if data[:1] == b"\0" else data), list | dict)
    except ValueError:
        return b"hbase.ipc.FatalConnectionException" in data and int.from_bytes(data[:4], "big") == len(data) - 4


def answers(data: bytes, compact: bool, framed: bool) -> list[Answer]:
    """All of `data`, which must be nothing but whole answers."""
    found, position = [], 0
    while position < len(data):
        if framed:
            if position + 4 > len(data):
                raise Undecodable(f"{len(data) - position} bytes after the last frame")
            end = position + 4 + int.from_bytes(data[position : position + 4], "big")
            one = answer(data[:end], compact, position + 4)
            if one.end != end:
                raise Undecodable(f"a frame ends at {end}, its message at {one.end}")
        else:
            one = answer(data, compact, position)
        found.append(one)
        position = one.end
    return found


def answer(data: bytes, compact: bool, position: int = 0) -> Answer:
    try:
        return _compact(data, position) if compact else _binary(data, position)
    except (IndexError, struct.error) as error:
        raise Undecodable(f"an answer of {len(data) - position} bytes is cut off: {data[position:][:80]!r}") from error


def _check(name: bytes, message_type: int, sequence: int, end: int, data: bytes) -> Answer:
    if message_type not in (REPLY, EXCEPTION) or end > len(data):
        raise Undecodable(f"type {message_type}, end {end} of {len(data)}: {data[:80]!r}")
    return Answer(name, message_type, sequence, end)


# ---------------------------------------------------------------- binary


def _binary(data: bytes, position: int) -> Answer:
    if data[position] == 0x80:
        message_type, length = data[position + 3], _u32(data, position + 4)
        name = data[position + 8 : position + 8 + length]
        position += 8 + length
    else:
        length = _u32(data, position)
        name = data[position + 4 : position + 4 + length]
        position += 5 + length
        message_type = data[position - 1]
    sequence = _u32(data, position)
    return _check(name, message_type, sequence, _skip(data, position + 4, 12), data)


def _u32(data: bytes, position: int) -> int:
    number: int = struct.unpack_from(">I", data, position)[0]
    return number


def _skip(data: bytes, position: int, kind: int) -> int:
    if kind in _FIXED:
        return position + _FIXED[kind]
    if kind == 11:
        return position + 4 + _u32(data, position)
    if kind == 12:
        while data[position]:
            position = _skip(data, position + 3, data[position])
        return position + 1
    if kind in (14, 15):
        inner = data[position]
        count, position = _u32(data, position + 1), position + 5
        for _ in range(count):
            position = _skip(data, position, inner)
        return position
    if kind == 13:
        key, inner, count = data[position], data[position + 1], _u32(data, position + 2)
        position += 6
        for _ in range(count):
            position = _skip(data, _skip(data, position, key), inner)
        return position
    raise Undecodable(f"kind {kind} at {position}")


# ---------------------------------------------------------------- compact


def _compact(data: bytes, position: int) -> Answer:
    if data[position] != 0x82 or data[position + 1] & 0x1F != 1:
        raise Undecodable(f"no compact answer: {data[position:][:80]!r}")
    message_type = data[position + 1] >> 5
    sequence, position = _varint(data, position + 2)
    length, position = _varint(data, position)
    name = data[position : position + length]
    return _check(name, message_type, sequence, _skip_compact(data, position + length, 12, False), data)


def _varint(data: bytes, position: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        byte = data[position]
        position += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, position
    raise Undecodable(f"a varint without an end at {position}")


def _skip_compact(data: bytes, position: int, kind: int, inside: bool = True) -> int:
    if kind in (1, 2):
        return position + inside
    if kind == 3:
        return position + 1
    if kind in (4, 5, 6):
        return _varint(data, position)[1]
    if kind == 7:
        return position + 8
    if kind == 8:
        length, position = _varint(data, position)
        return position + length
    if kind == 12:
        while data[position]:
            code = data[position]
            position = position + 1 if code >> 4 else _varint(data, position + 1)[1]
            position = _skip_compact(data, position, code & 15, False)
        return position + 1
    if kind == 11:
        return _skip_map(data, position)
    if kind not in (9, 10):
        raise Undecodable(f"compact kind {kind} at {position}")
    code, position = data[position], position + 1
    count = code >> 4
    if count == 15:
        count, position = _varint(data, position)
    for _ in range(count):
        position = _skip_compact(data, position, code & 15)
    return position


def _skip_map(data: bytes, position: int) -> int:
    count, position = _varint(data, position)
    if not count:
        return position
    code, position = data[position], position + 1
    for _ in range(count):
        position = _skip_compact(data, _skip_compact(data, position, code >> 4), code & 15)
    return position
