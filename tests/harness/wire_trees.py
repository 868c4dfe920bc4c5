"""Thrift messages as trees that may lie, and two writers for them that share nothing with the server's readers.

A Node is (kind, value). STRUCT: [(field id, Node)]; LIST and SET: [Node] with `inner` = (kind, 0); MAP: [(Node, Node)]
with `inner` = (key kind, value kind). `announced` replaces the true length or count on the wire.
"""

import struct
from dataclasses import dataclass, replace
from typing import Any

BOOL, BYTE, DOUBLE, I16, I32, I64, STRING, STRUCT, MAP, SET, LIST = 2, 3, 4, 6, 8, 10, 11, 12, 13, 14, 15
KINDS = (BOOL, BYTE, DOUBLE, I16, I32, I64, STRING, STRUCT, MAP, SET, LIST)
_FORMATS = {BYTE: ">b", DOUBLE: ">d", I16: ">h", I32: ">i", I64: ">q"}
_COMPACT = {BOOL: 1, BYTE: 3, I16: 4, I32: 5, I64: 6, DOUBLE: 7, STRING: 8, LIST: 9, SET: 10, MAP: 11, STRUCT: 12}


@dataclass(frozen=True, slots=True)
class Node:
    """A value on the wire; see the module."""

    kind: int
    value: Any
    inner: tuple[int, int] = (0, 0)
    announced: int | None = None

    def but(self, **changes: Any) -> "Node":
        return replace(self, **changes)


def binary(name: bytes, arguments: Node, sequence: int = 1, strict: bool = True, message_type: int = 1) -> bytes:
    """A call in the binary protocol, without a frame."""
    number = struct.pack(">I", sequence & 0xFFFFFFFF)
    length = struct.pack(">I", len(name))
    if strict:
        head = struct.pack(">I", 0x80010000 | message_type) + length + name + number
    else:
        head = length + name + bytes([message_type]) + number
    return head + _binary(arguments)


def _binary(node: Node) -> bytes:
    kind, value = node.kind, node.value
    if kind == BOOL:
        return b"\x01" if value else b"\x00"
    if kind in _FORMATS:
        return struct.pack(_FORMATS[kind], value)
    if kind == STRUCT:
        fields = (bytes([one.kind]) + struct.pack(">H", field & 0xFFFF) + _binary(one) for field, one in value)
        return b"".join(fields) + b"\x00"
    length = struct.pack(">I", (len(value) if node.announced is None else node.announced) & 0xFFFFFFFF)
    if kind == STRING:
        return length + bytes(value)
    if kind == MAP:
        return bytes(node.inner) + length + b"".join(_binary(key) + _binary(one) for key, one in value)
    return bytes(node.inner[:1]) + length + b"".join(_binary(one) for one in value)


def compact(name: bytes, arguments: Node, sequence: int = 1, message_type: int = 1) -> bytes:
    """A call in the compact protocol, without a frame."""
    head = bytes([0x82, message_type << 5 | 1]) + varint(sequence & 0xFFFFFFFF)
    return head + varint(len(name)) + name + _compact(arguments)


def varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def _zigzag(number: int) -> bytes:
    return varint((number << 1 ^ number >> 63) & 0xFFFFFFFFFFFFFFFF)


def _compact(node: Node) -> bytes:
    kind, value = node.kind, node.value
    if kind == BOOL:
        return b"\x01" if value else b"\x02"
    if kind == BYTE:
        return struct.pack(">b", value)
    if kind == DOUBLE:
        return struct.pack("<d", value)
    if kind in (I16, I32, I64):
        return _zigzag(value)
    if kind == STRUCT:
        return _compact_struct(value)
    count = (len(value) if node.announced is None else node.announced) & 0xFFFFFFFF
    if kind == STRING:
        return varint(count) + bytes(value)
    if kind == MAP:
        if not count:
            return b"\x00"
        inner = _COMPACT[node.inner[0]] << 4 | _COMPACT[node.inner[1]]
        return varint(count) + bytes([inner]) + b"".join(_compact(key) + _compact(one) for key, one in value)
    code = _COMPACT[node.inner[0]]
    head = bytes([count << 4 | code]) if count < 15 else bytes([0xF0 | code]) + varint(count)
    return head + b"".join(_compact(one) for one in value)


def _compact_struct(fields: list[tuple[int, Node]]) -> bytes:
    found, last = b"", 0
    for field, one in fields:
        code = _COMPACT[one.kind] if one.kind != BOOL or one.value else 2
        if 0 < field - last < 16:
            found += bytes([field - last << 4 | code])
        else:
            found += bytes([code]) + _zigzag(field)
        last = field
        found += b"" if one.kind == BOOL else _compact(one)
    return found + b"\x00"
