"""Values as bytes of Thrift's binary protocol, by their shapes."""

import struct
from typing import Any, Final

from hbtable.switches import switches
from hbtable.thrift.message import MessageWriter
from hbtable.thrift.shapes import REQUIRED, StructLayout, ValueType
from hbtable.thrift.wire import BOOL, BYTE, I32, I64, LIST, MAP, SET, STRING, STRUCT

_TURN: Final = 64
_U32: Final = struct.Struct(">I").pack
_LIST: Final = struct.Struct(">BI").pack
_MAP: Final = struct.Struct(">BBI").pack
_I64: Final = struct.Struct(">q").pack
_SMALLER: Final = {I32: struct.Struct(">i").pack, BYTE: struct.Struct(">b").pack}


@switches
def write(shape: ValueType, value: Any, out: MessageWriter) -> None:
    """struct.error, TypeError, ValueError or OverflowError for a value that does not fit. *Switches* between many."""
    if shape.unconvert is not None:
        value = shape.unconvert(value)
    kind = shape.kind
    if kind == STRING:
        out.pieces += (_U32(len(value)), value)
    elif kind == I64:
        out.pieces.append(_I64(value))
    elif kind == BOOL:
        out.pieces.append(b"\1" if value else b"\0")
    elif kind == STRUCT:
        assert shape.layout is not None
        write_struct(shape.layout, value, out)
    elif kind in (LIST, SET):
        assert shape.element is not None
        _write_list(shape.element, value, out)
    elif kind == MAP:
        assert shape.key is not None
        assert shape.element is not None
        out.pieces.append(_MAP(shape.key.kind, shape.element.kind, len(value)))
        for key, held in value.items():
            write(shape.key, key, out)
            write(shape.element, held, out)
    else:
        out.pieces.append(_SMALLER[kind](value))


@switches
def write_struct(layout: StructLayout, value: Any, out: MessageWriter) -> None:
    pieces = out.pieces
    for (head, shape, default), part in zip(layout.writes, layout.parts(value), strict=True):
        if part is default or (default is not REQUIRED and part == default):
            continue
        pieces.append(head)
        write(shape, part, out)
    pieces.append(b"\0")


@switches
def _write_list(element: ValueType, value: Any, out: MessageWriter) -> None:
    out.pieces.append(_LIST(element.kind, len(value)))
    if element.layout is not None and element.layout.fast_write is not None:
        element.layout.fast_write(value, out)
        return
    for number, each in enumerate(value, 1):
        write(element, each, out)
        if not number % _TURN:
            out.turn(_TURN)
