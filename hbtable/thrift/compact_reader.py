r"""Thrift's compact protocol, messages in.

Message: 82, version and type (1: type << 5 | 1), sequence number (varint), name length (varint), name, arguments
Struct:  { delta << 4 | kind, or kind and zigzag field id, value }..., 00      booleans of fields live in the kind
string: length (varint), bytes    integers: zigzag varints    list: count << 4 | kind, or f0 | kind and varint count
map: count (varint), then key kind << 4 | value kind unless empty

thriftpy2's own reader is not used because it trusts lengths, depths and the number of bytes of a varint.
"""

from typing import Final

from hbtable.switches import switches
from hbtable.thrift import wire
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
    MAP,
    MAX_DEPTH,
    SET,
    STRING,
    STRUCT,
    Call,
    Malformed,
    name_length,
)

_VERSION: Final = 1
_TRUE: Final = 1
_KINDS: Final = {
    1: BOOL, 2: BOOL, 3: BYTE, 4: I16, 5: I32, 6: I64, 7: DOUBLE, 8: STRING, 9: LIST, 10: SET, 11: MAP, 12: STRUCT,
}  # fmt: skip
_LONGEST_VARINT: Final = 10
_ELEMENTS_AT_ONCE: Final = 64
_LIST_ELEMENTS: Final = 4
"""A list itself counts for so many: a million of them may have one element each."""
_ENTRIES_AT_ONCE: Final = _ELEMENTS_AT_ONCE // 2


@switches
def read_call(source: Input) -> Call:
    """The head of a message; `source` is then at the arguments. *Switches* when it has not arrived."""
    head = source.take(2)
    if head[0] != 0x82 or head[1] & 0x1F != _VERSION:
        raise Malformed(f"a message begins with {head!r} instead of a Thrift compact header")
    sequence = _varint(source)
    name = source.take(name_length(_varint(source)))
    return name, head[1] >> 5, sequence & 0xFFFFFFFF


@switches
def read_arguments(source: Input, method: CallLayout) -> list[object]:
    values = method.layout.defaults.copy()
    _fields(source, method.layout, values, 0)
    return values


def skip_arguments(source: Input) -> None:
    _skip(source, STRUCT, 0)


def _varint(source: Input) -> int:
    number = 0
    for position in range(_LONGEST_VARINT):
        byte = source.take(1)[0]
        number |= (byte & 0x7F) << 7 * position
        if byte < 0x80:
            return number
    raise Malformed("a number is longer than a Thrift varint can be")


def _zigzag(source: Input) -> int:
    number = _varint(source)
    return (number >> 1) ^ -(number & 1)


def _kind(code: int) -> int:
    try:
        return _KINDS[code & 0x0F]
    except KeyError:
        raise Malformed(f"there is no Thrift compact kind {code & 0x0F}") from None


@switches
def _fields(source: Input, layout: StructLayout, values: list[object], depth: int) -> None:
    field = 0
    while True:
        code = source.take(1)[0]
        if code == wire.STOP:
            return
        field = field + (code >> 4) if code >> 4 else _zigzag(source)
        kind = _kind(code)
        known = layout.places.get(kind << 16 | field & 0xFFFF)
        if kind == BOOL:
            if known is not None:
                values[known[1]] = code & 0x0F == _TRUE
        elif known is not None:
            values[known[1]] = _value(source, known[0], depth + 1)
        else:
            _skip(source, kind, depth + 1)


@switches
def _value(source: Input, shape: ValueType, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise Malformed(f"structs are nested deeper than {MAX_DEPTH}")
    kind = shape.kind
    value: object
    if kind == STRING:
        value = source.take(_varint(source))
    elif kind in (I16, I32, I64):
        value = _signed(_zigzag(source))
    elif kind == BOOL:
        value = source.take(1)[0] == _TRUE
    elif kind == BYTE:
        value = int.from_bytes(source.take(1), "big", signed=True)
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
def _struct(source: Input, layout: StructLayout, depth: int) -> object:
    data, position = source.data, source.position
    if layout.empty is not None and position < len(data) and data[position] == wire.STOP:
        source.take(1)
        return layout.empty
    values = layout.defaults.copy()
    _fields(source, layout, values, depth)
    if layout.has_required and REQUIRED in values:
        raise Malformed("a required field is missing")
    return layout.make(*values)


def _signed(number: int) -> int:
    """As a server in Java sees a number that is too large for i64: wrapped."""
    return (number + 2**63) % 2**64 - 2**63


def _list_head(source: Input) -> tuple[int, int]:
    code = source.take(1)[0]
    count = code >> 4
    if count == 15:
        count = _varint(source)
    source.count(count)
    return _kind(code), count


@switches
def _list(source: Input, element: ValueType, depth: int) -> list[object]:
    kind, count = _list_head(source)
    if kind != element.kind and element.alternative is not None:
        element = element.alternative
    if kind != element.kind:
        if count:
            source.mismatch(kind, element.kind)
        for _ in range(count):
            _skip(source, kind, depth + 1, inside=True)
        return []
    found: list[object] = []
    weight = _ELEMENTS_AT_ONCE * (1 if element.layout is None else 1 + len(element.layout.defaults) // 4)
    for number in range(1, count + 1):
        found.append(_value(source, element, depth + 1))
        if not number % _ELEMENTS_AT_ONCE:
            source.turn(weight)
    source.turn(_LIST_ELEMENTS)
    return found


@switches
def _map(source: Input, key: ValueType, element: ValueType, depth: int) -> dict[object, object]:
    count = _varint(source)
    if not count:
        return {}
    source.count(count)
    code = source.take(1)[0]
    key_kind, element_kind = _kind(code >> 4), _kind(code)
    if key_kind != key.kind or element_kind != element.kind:
        source.mismatch(element_kind, element.kind)
        for _ in range(count):
            _skip(source, key_kind, depth + 1, inside=True)
            _skip(source, element_kind, depth + 1, inside=True)
        return {}
    found: dict[object, object] = {}
    for number in range(1, count + 1):
        name = _value(source, key, depth + 1)
        found[name] = _value(source, element, depth + 1)
        if not number % _ENTRIES_AT_ONCE:
            source.turn(_ELEMENTS_AT_ONCE)
    return found


def _skip(source: Input, kind: int, depth: int, inside: bool = False) -> None:
    """`inside` a container a boolean is a byte of its own."""
    if depth > MAX_DEPTH:
        raise Malformed(f"structs are nested deeper than {MAX_DEPTH}")
    if kind == BOOL:
        if inside:
            source.take(1)
    elif kind in (I16, I32, I64):
        _varint(source)
    elif kind in (BYTE, DOUBLE):
        source.take(1 if kind == BYTE else 8)
    elif kind == STRING:
        source.skip(_varint(source))
    elif kind == STRUCT:
        while code := source.take(1)[0]:
            if not code >> 4:
                _varint(source)
            _skip(source, _kind(code), depth + 1)
    elif kind == MAP:
        _skip_map(source, depth)
    else:
        inner, count = _list_head(source)
        for _ in range(count):
            _skip(source, inner, depth + 1, inside=True)


def _skip_map(source: Input, depth: int) -> None:
    count = _varint(source)
    if not count:
        return
    source.count(count)
    code = source.take(1)[0]
    key, inner = _kind(code >> 4), _kind(code)
    for _ in range(count):
        _skip(source, key, depth + 1, inside=True)
        _skip(source, inner, depth + 1, inside=True)
