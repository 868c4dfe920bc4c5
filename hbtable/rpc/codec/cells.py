"""The structs that come by the thousand, read and written without one call a field: Cell, Row, Operation.

The bytes are those of thrift/tabletserver.thrift, in the order of the fields. Bytes in another shape (fields of a newer
peer, another order) are read by the careful way of codec_binary.

    Cell        0b 0001 length column   0a 0002 timestamp   0b 0003 length value   00
    Row         0b 0001 length row      0f 0002 0c count    Cell...                00
    Operation   03 0001 kind   0b 0002 length family   0b 0003 length qualifier   0a 0004 timestamp
                0b 0005 length value   00
"""

import struct
from typing import Any, Final, final

from hbtable.model.cell import Cell
from hbtable.model.mutation import Operation
from hbtable.rpc.codec.binary import (
    BINARY,
    BYTE,
    I64,
    INTEGER,
    LIST,
    STRING,
    STRUCT,
    Field,
    MessageReader,
    MessageWriter,
    Sequences,
    Struct,
)

_LIST: Final = struct.Struct(">BI")
_STRING: Final = struct.Struct(">BHI")
_TIME_AND_STRING: Final = struct.Struct(">BHqBHI")
_KIND_AND_FAMILY: Final = struct.Struct(">BHBBHI")
_TURN: Final = 256


@final
class _Byte:
    """A byte of 0 to 127."""

    kind = BYTE

    def write(self, value: Any, out: MessageWriter) -> None:
        out.pieces.append(bytes((value,)))

    def read(self, source: MessageReader, position: int) -> tuple[Any, int]:
        return source.data[position], position + 1


CELL: Final = Struct([Field(1, "column", BINARY), Field(2, "timestamp", INTEGER), Field(3, "value", BINARY)])
OPERATION: Final = Struct(
    [
        Field(1, "kind", _Byte()),
        Field(2, "family", BINARY),
        Field(3, "qualifier", BINARY),
        Field(4, "timestamp", INTEGER),
        Field(5, "value", BINARY),
    ]
)


@final
class CellList:
    """list<Cell>."""

    kind = LIST

    def write(self, value: Any, out: MessageWriter) -> None:
        pieces = out.pieces
        pieces.append(_LIST.pack(STRUCT, len(value)))
        pack, pack_both = _STRING.pack, _TIME_AND_STRING.pack
        for number, (column, timestamp, content) in enumerate(value, 1):
            if not number % _TURN:
                out.turn(_TURN)
            pieces += (
                pack(STRING, 1, len(column)),
                column,
                pack_both(I64, 2, timestamp, STRING, 3, len(content)),
                content,
                b"\0",
            )
        out.turn(len(value) % _TURN)

    def read(self, source: MessageReader, position: int) -> tuple[Any, int]:
        data = source.data
        count, position = source.elements(STRUCT, position)
        head, both = _STRING.unpack_from, _TIME_AND_STRING.unpack_from
        found: list[Cell] = []
        for number in range(1, count + 1):
            if not number % _TURN:
                source.turn(_TURN)
            try:
                kind1, field1, length = head(data, position)
                start = position + 7
                end = start + length
                kind2, field2, timestamp, kind3, field3, length = both(data, end)
                stop = end + 18 + length
                if (kind1, field1, kind2, field2, kind3, field3, data[stop]) == (STRING, 1, I64, 2, STRING, 3, 0):
                    found.append((data[start:end], timestamp, data[end + 18 : stop]))
                    position = stop + 1
                    continue
            except (IndexError, struct.error):
                pass  # the careful way says what is wrong, or finds the fields in another order
            cell, position = CELL.read(source, position)
            found.append(cell)
        source.turn(count % _TURN)
        return found, position


CELLS: Final = CellList()
_ROW: Final = Struct([Field(1, "row", BINARY), Field(2, "cells", CELLS)])


@final
class Row:
    """A row key and its cells."""

    kind = STRUCT
    fields = _ROW.fields

    def write(self, value: Any, out: MessageWriter) -> None:
        row, cells = value
        out.pieces += (_STRING.pack(STRING, 1, len(row)), row, b"\x0f\0\2")
        CELLS.write(cells, out)
        out.pieces.append(b"\0")

    def read(self, source: MessageReader, position: int) -> tuple[Any, int]:
        data = source.data
        try:
            kind, field, length = _STRING.unpack_from(data, position)
            start = position + 7
            end = start + length
            if (kind, field, data[end : end + 3]) == (STRING, 1, b"\x0f\0\2"):
                cells, stop = CELLS.read(source, end + 3)
                if data[stop] == 0:
                    return (data[start:end], cells), stop + 1
        except (IndexError, struct.error):
            pass
        return _ROW.read(source, position)


ROW: Final = Row()
ROWS: Final = Sequences(ROW)


@final
class OperationList:
    """list<Operation>."""

    kind = LIST

    def write(self, value: Any, out: MessageWriter) -> None:
        pieces = out.pieces
        pieces.append(_LIST.pack(STRUCT, len(value)))
        for kind, family, qualifier, timestamp, content in value:
            pieces += (
                _KIND_AND_FAMILY.pack(BYTE, 1, kind, STRING, 2, len(family)),
                family,
                _STRING.pack(STRING, 3, len(qualifier)),
                qualifier,
                _TIME_AND_STRING.pack(I64, 4, timestamp, STRING, 5, len(content)),
                content,
                b"\0",
            )
        out.turn(len(value))

    def read(self, source: MessageReader, position: int) -> tuple[Any, int]:
        data = source.data
        count, position = source.elements(STRUCT, position)
        found: list[Operation] = []
        for number in range(1, count + 1):
            if not number % _TURN:
                source.turn(_TURN)
            operation = _operation(data, position)
            if operation is None:
                value, position = OPERATION.read(source, position)
                found.append(value)
            else:
                found.append(operation[0])
                position = operation[1]
        source.turn(count % _TURN)
        return found, position


def _operation(data: bytes, position: int) -> tuple[Operation, int] | None:
    """None when it is not in the usual shape."""
    try:
        kind1, field1, kind, kind2, field2, length = _KIND_AND_FAMILY.unpack_from(data, position)
        family_end = position + 11 + length
        kind3, field3, length = _STRING.unpack_from(data, family_end)
        qualifier_end = family_end + 7 + length
        kind4, field4, timestamp, kind5, field5, length = _TIME_AND_STRING.unpack_from(data, qualifier_end)
        stop = qualifier_end + 18 + length
        if data[stop] or (field1, field2, field3, field4, field5) != (1, 2, 3, 4, 5):
            return None
        if (kind1, kind2, kind3, kind4, kind5) != (BYTE, STRING, STRING, I64, STRING):
            return None
    except (IndexError, struct.error):
        return None
    family = data[position + 11 : family_end]
    qualifier = data[family_end + 7 : qualifier_end]
    return (kind, family, qualifier, timestamp, data[qualifier_end + 18 : stop]), stop + 1


OPERATIONS: Final = OperationList()
