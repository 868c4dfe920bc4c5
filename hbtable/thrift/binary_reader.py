r"""Thrift's binary protocol, messages in.

Strict:      80 01, 00, message type (1), name length (4), name, sequence number (4), arguments
Not strict:  name length (4), name, message type (1), sequence number (4), arguments
Struct:      { kind (1), field id (2), value }..., 00     string: length (4), bytes
list: kind (1), count (4), elements     map: kind, kind, count (4), keys and values     integers big-endian

Two ways through the same bytes. The fast one decodes the arguments of the usual calls straight from memory and gives
up by IndexError or struct.error whenever something is unusual or has not arrived yet. The careful one then starts at
the arguments again, waits for bytes, knows every kind, and checks each length before memory is taken for it. It is the
only one for large messages: the fast one copies all of their bytes without giving way.
"""

import struct
from typing import Final, final

from hbtable.switches import switches
from hbtable.thrift.message import Input
from hbtable.thrift.shapes import REQUIRED, CallLayout, StructLayout, ValueType
from hbtable.thrift.wire import (
    BOOL,
    BYTE,
    DOUBLE,
    I16,
    I32,
    I64,
    LIST,
    LONGEST_NAME_BYTES,
    MAP,
    MAX_DEPTH,
    SET,
    STOP,
    STRING,
    STRUCT,
    Call,
    Malformed,
    name_length,
)  # fmt: skip

_VERSION: Final = 0x80010000
_VERSION_BITS: Final = 0xFFFFFF00
_U32: Final = struct.Struct(">I").unpack_from
_I32: Final = struct.Struct(">i").unpack_from
_I64: Final = struct.Struct(">q").unpack_from
_FIELD: Final = struct.Struct(">BHI").unpack_from
_FIELD_HEAD: Final = struct.Struct(">BH").unpack_from
_LIST_HEAD: Final = struct.Struct(">BI").unpack_from
_HEAD: Final = struct.Struct(">II").unpack_from
_FIXED: Final = {BOOL: 1, BYTE: 1, I16: 2, I32: 4, DOUBLE: 8, I64: 8}
_ELEMENTS_AT_ONCE: Final = 64
_LIST_ELEMENTS: Final = 4
"""A list itself counts for so many: a million of them may have one element each."""
_STRUCT_ELEMENTS: Final = 8
"""A struct that is read field by field costs as much as so many other elements."""
_ENTRIES_AT_ONCE: Final = _ELEMENTS_AT_ONCE // 2
_ELEMENT_BITS: Final = 7
"""Bits of the bytes that count as an element in lists that are read fast: 128 bytes."""
_SMALL_ELEMENT_BITS: Final = 1
"""However small, two of them count for one."""
_UNUSUAL_AT_ONCE: Final = 32
"""Elements that are read one by one where the first is unusual: the next ones will be, too."""
_FAST_BYTES: Final = 1 << 20
"""Of one stretch of fast reading. To copy 60 MB takes longer than others should wait."""
_ELEMENT_BYTES: Final = 4096
"""Of an element that is read fast, about. A stretch is no longer than so many for each: it is copied for each list."""
_FAST_SKIPPED_BYTES: Final = 64 << 10
"""Of one stretch of passing over fields, of which each may have four bytes: 3 ms."""
_FAST_STRINGS_LIMIT: Final = 4096
"""More of them are read with pauses."""
_FAST_LIST_LIMIT: Final = 32
"""Longer lists are read element by element: a list that has not arrived whole would be decoded twice otherwise."""


def read_strict(source: Input) -> Call:
    """The head of a strict message; `source.position` is then at the arguments."""
    data = source.data
    if len(data) >= 12:
        version, length = _HEAD(data, 0)
        end = 8 + length
        if version & _VERSION_BITS == _VERSION and end + 4 <= len(data) and length <= LONGEST_NAME_BYTES:
            source.position = end + 4
            return data[8:end], version & 0xFF, _I32(data, end)[0]
    version, length = _HEAD(source.take(8), 0)
    if version & _VERSION_BITS != _VERSION:
        raise Malformed(f"a message begins with {data[:8]!r} instead of a Thrift binary header")
    name = source.take(name_length(length))
    return name, version & 0xFF, _I32(source.take(4), 0)[0]


def read_loose(source: Input) -> Call:
    """The head of a message from a client that does not write versions."""
    name = source.take(name_length(_U32(source.take(4), 0)[0]))
    kind = source.take(1)[0]
    return name, kind, _I32(source.take(4), 0)[0]


@switches
def read_arguments(source: Input, method: CallLayout) -> list[object]:
    """Moves `source` behind the arguments. *Switches* when they have not arrived."""
    start, data, usual = source.position, source.data, method.usual
    try:
        if len(data) > _FAST_BYTES:
            raise IndexError
        found = usual and usual.read(data, start)
        values, source.position = found or _fast_arguments(data, start, method)
        if usual is not None and found is None:
            usual.learn(data, start, source.position, values)
    except (IndexError, struct.error):
        source.position = start
        values = method.layout.defaults.copy()
        _fields(source, method.layout, values, 0)
    return values


def skip_arguments(source: Input) -> None:
    """Past the arguments of a call that is not carried out: its method is not known, or it is refused."""
    try:
        if len(source.data) - source.position > _FAST_SKIPPED_BYTES:
            raise IndexError
        source.position = _past_fields(source.data, source.position, True)
    except (IndexError, struct.error):
        _skip(source, STRUCT, 0)


def _past_fields(data: bytes, position: int, lists: bool) -> int:
    """The position behind the fields of a usual call. IndexError, struct.error: it is none, or not all of it is
    there. A server with more calls than it can answer does this for each that it refuses."""
    while (kind := data[position]) != STOP:
        if kind == STRING:
            position += 7 + _U32(data, position + 3)[0]
        elif kind in _FIXED:
            position += 3 + _FIXED[kind]
        elif kind == MAP and not _U32(data, position + 5)[0]:
            position += 9
        elif kind == LIST and lists and data[position + 3] == STRUCT:
            count = _U32(data, position + 4)[0]
            if count > _FAST_LIST_LIMIT:
                raise IndexError
            position += 8
            for _ in range(count):
                position = _past_fields(data, position, False)
        else:
            raise IndexError
    return position + 1


def _fast_arguments(data: bytes, position: int, method: CallLayout) -> tuple[list[object], int]:
    kinds = method.kinds
    values = method.layout.defaults.copy()
    while True:
        kind = data[position]
        if kind == STOP:
            return values, position + 1
        _, field, length = _FIELD(data, position)
        if kinds[field] != kind:
            raise IndexError
        if kind == STRING:
            start = position + 7
            position = start + length
            values[field - 1] = data[start:position]
        elif kind == LIST:
            values[field - 1], position = _fast_elements(data, position, method)
        elif kind == MAP:
            if _U32(data, position + 5)[0]:
                raise IndexError
            position += 9  # no attributes: what nearly every client sends
        elif kind == I32:
            values[field - 1] = _I32(data, position + 3)[0]
            position += 7
        elif kind == I64:
            values[field - 1] = _I64(data, position + 3)[0]
            position += 11
        else:
            raise IndexError


def _fast_elements(data: bytes, position: int, method: CallLayout) -> tuple[list[object], int]:
    """Decodes the elements of the list field at `position`."""
    count = _U32(data, position + 4)[0]
    kind = data[position + 3]
    if kind != method.list_kind:
        raise IndexError
    if kind == STRING and count <= _FAST_STRINGS_LIMIT:
        return _fast_strings(data, position + 8, count)
    if kind == STRING or method.fast_list is None or count > _FAST_LIST_LIMIT:
        raise IndexError
    found, position = method.fast_list(data, position + 8, count)
    if len(found) < count:
        raise IndexError
    return found, position


def _fast_strings(data: bytes, position: int, count: int) -> tuple[list[object], int]:
    found: list[object] = []
    for _ in range(count):
        start = position + 4
        position = start + _U32(data, position)[0]
        found.append(data[start:position])
    return found, position


# ------------------------------------------------------------------------------------------------ careful


@switches
def read_value(source: Input, shape: ValueType, depth: int = 0) -> object:
    """*Switches* where bytes have not arrived, and between many elements. Raises WireError, OSError, ValueError."""
    kind = shape.kind
    value: object
    if kind == STRING:
        value = _bytes(source)
    elif kind in _FIXED:
        value = _number(source, kind)
    elif depth > MAX_DEPTH:
        raise Malformed(f"structs are nested deeper than {MAX_DEPTH}")
    elif kind == STRUCT and shape.layout is not None:
        value = _struct(source, shape.layout, depth)
    elif kind in (LIST, SET) and shape.element is not None:
        value = _list(source, shape.element, depth)
    elif kind == MAP and shape.key is not None and shape.element is not None:
        value = _map(source, shape.key, shape.element, depth)
    else:
        raise Malformed(f"no field of the interface is of Thrift kind {kind}")
    return value if shape.convert is None else shape.convert(value)


@switches
def _bytes(source: Input) -> bytes:
    data, position = source.data, source.position
    start = position + 4
    if start > len(data):
        return source.take(_U32(source.take(4), 0)[0])
    end = start + _U32(data, position)[0]
    if end > len(data) or end - start > _FAST_BYTES:
        source.position = start
        return source.take(end - start)
    source.position = end
    return data[start:end]


@switches
def _number(source: Input, kind: int) -> int | bool:
    start = source.position
    source.position = end = start + _FIXED[kind]
    piece = source.data[start:end]
    if end > len(source.data):
        source.position = start
        piece = source.take(end - start)
    return piece != b"\x00" if kind == BOOL else int.from_bytes(piece, "big", signed=True)


@switches
def _fields(source: Input, layout: StructLayout, values: list[object], depth: int) -> None:
    places = layout.places
    while True:
        data, position = source.data, source.position
        if position + 3 <= len(data):
            kind, field = _FIELD_HEAD(data, position)
            source.position = position + (1 if kind == STOP else 3)
        else:
            kind = source.take(1)[0]
            field = 0 if kind == STOP else int.from_bytes(source.take(2), "big")
        if kind == STOP:
            return
        known = places.get(kind << 16 | field)
        if known is None:
            _skip(source, kind, depth + 1)
        else:
            values[known[1]] = read_value(source, known[0], depth + 1)


@switches
def _struct(source: Input, layout: StructLayout, depth: int) -> object:
    if layout.empty is not None:
        data, position = source.data, source.position
        if position < len(data) and data[position] == STOP:
            source.position = position + 1
            return layout.empty
    values = layout.defaults.copy()
    _fields(source, layout, values, depth)
    if layout.has_required and REQUIRED in values:
        raise Malformed("a required field is missing")
    return layout.make(*values)


@switches
def _list(source: Input, element: ValueType, depth: int) -> list[object]:
    kind, count = _LIST_HEAD(source.take(5), 0)
    source.count(count)
    if kind != element.kind and element.alternative is not None:
        element = element.alternative
    if kind != element.kind:
        if count:
            source.mismatch(kind, element.kind)
        for _ in range(count):
            _skip(source, kind, depth + 1)
        return []
    layout = element.layout
    found: list[object] = []
    weight = 1 if layout is None else _STRUCT_ELEMENTS + len(layout.defaults)
    if layout is None or layout.fast_list is None:
        for number in range(1, count + 1):
            found.append(read_value(source, element, depth + 1))
            if not number % _ELEMENTS_AT_ONCE:
                source.turn(_ELEMENTS_AT_ONCE * weight)
        source.turn(_LIST_ELEMENTS + count % _ELEMENTS_AT_ONCE * weight)
        return found
    window = _Window(source.data, source.position, count)
    while len(found) < count:
        wanted = min(count - len(found), _ELEMENTS_AT_ONCE)
        start = source.position
        if window.data is not source.data:
            window = _Window(source.data, start, count - len(found))
        some, end = layout.fast_list(window.part, start - window.begin, wanted)
        found += some
        source.position = end + window.begin
        source.turn(max(source.position - start >> _ELEMENT_BITS, len(some) >> _SMALL_ELEMENT_BITS))
        if len(some) < wanted:  # the next one straddles what has arrived, or is written in an unusual way
            if window.is_worn(start):
                window = _Window(source.data, source.position, count - len(found))  # or the window
                continue
            careful = 1 if some else min(wanted, _UNUSUAL_AT_ONCE)
            found += [_struct(source, layout, depth + 1) for _ in range(careful)]
            source.turn(careful * weight)
    return found


@final
class _Window:
    """The part of `data` behind `begin` that is read fast without giving way: all of it, but in large messages.
    `count`: elements that are to be read."""

    __slots__ = ("begin", "data", "part")

    def __init__(self, data: bytes, begin: int, count: int) -> None:
        self.data = data
        is_large = len(data) > _FAST_BYTES
        self.begin = begin if is_large else 0
        self.part = data[begin : begin + min(_FAST_BYTES, count * _ELEMENT_BYTES)] if is_large else data

    def is_worn(self, position: int) -> bool:
        """Whether the next one is worth its copy: made anew at each unusual element it would be copied for each."""
        return self.part is not self.data and position - self.begin > len(self.part) // 2


@switches
def _map(source: Input, key: ValueType, element: ValueType, depth: int) -> dict[object, object]:
    key_kind, element_kind = source.take(2)
    count = _U32(source.take(4), 0)[0]
    source.count(count)
    if count and (key_kind != key.kind or element_kind != element.kind):
        source.mismatch(element_kind, element.kind)
        for _ in range(count):
            _skip(source, key_kind, depth + 1)
            _skip(source, element_kind, depth + 1)
        return {}
    found: dict[object, object] = {}
    for number in range(1, count + 1):
        name = read_value(source, key, depth + 1)
        found[name] = read_value(source, element, depth + 1)
        if not number % _ENTRIES_AT_ONCE:
            source.turn(_ELEMENTS_AT_ONCE)
    return found


def _skip(source: Input, kind: int, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise Malformed(f"structs are nested deeper than {MAX_DEPTH}")
    if kind in _FIXED:
        source.take(_FIXED[kind])
    elif kind == STRING:
        source.skip(_U32(source.take(4), 0)[0])
    elif kind == STRUCT:
        while (inner := source.take(1)[0]) != STOP:
            source.take(2)
            _skip(source, inner, depth + 1)
    elif kind in (LIST, SET):
        inner = source.take(1)[0]
        count = _U32(source.take(4), 0)[0]
        source.count(count)
        for _ in range(count):
            _skip(source, inner, depth + 1)
    elif kind == MAP:
        key, inner = source.take(2)
        count = _U32(source.take(4), 0)[0]
        source.count(count)
        for _ in range(count):
            _skip(source, key, depth + 1)
            _skip(source, inner, depth + 1)
    else:
        raise Malformed(f"there is no Thrift kind {kind}")
