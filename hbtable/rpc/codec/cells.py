"""The structs that come by the thousand, read and written without one call a field: Cell, Row, Operation, RowMutation.

The bytes are those of thrift/tabletserver.thrift, in the order of the fields. Bytes in another shape (fields of a newer
peer, another order) end the list early: the careful reader takes over, finds the fields or says what is wrong. So do
rows of many cells, which it reads with pauses.

    Cell        0b 0001 length column   0a 0002 timestamp   0b 0003 length value   00
    Row         0b 0001 length row      0f 0002 0c count    Cell...                00
    Operation   03 0001 kind   0b 0002 length family   0b 0003 length qualifier   0a 0004 timestamp
                0b 0005 length value   00
    RowMutation 0b 0001 length row      0f 0002 0c count    Operation...    02 0003 skipLog, 0a 0004 ttl or neither
                0a 0005 checksum or none   00
"""

import struct
from typing import Any, Final

from hbtable.model.cell import Cell
from hbtable.model.mutation import Operation, RowMutation
from hbtable.switches import switches
from hbtable.thrift.message import MessageWriter
from hbtable.thrift.shapes import BINARY, BOOLEAN, INTEGER, Field, Sequences, Struct, ValueType
from hbtable.thrift.wire import BOOL, BYTE, I64, STRING, STRUCT

_I64: Final = struct.Struct(">BHq")
_CHECKSUM_FIELD: Final = 5
_SKIP_LOG: Final = bytes((BOOL, 0, 3, 1))
_STRING: Final = struct.Struct(">BHI")
_LIST: Final = struct.Struct(">BHBI")
_TIME_AND_STRING: Final = struct.Struct(">BHqBHI")
_KIND_AND_FAMILY: Final = struct.Struct(">BHBBHI")
_TURN: Final = 256
_FEW: Final = 64
"""So many cells or operations of a row are read without a pause."""


def fast_cells(data: bytes, position: int, count: int) -> tuple[list[object], int]:
    found: list[object] = []
    head, both = _STRING.unpack_from, _TIME_AND_STRING.unpack_from
    try:
        for _ in range(count):
            kind1, field1, length = head(data, position)
            start = position + 7
            end = start + length
            kind2, field2, timestamp, kind3, field3, length = both(data, end)
            stop = end + 18 + length
            if (kind1, field1, kind2, field2, kind3, field3, data[stop]) != (STRING, 1, I64, 2, STRING, 3, 0):
                break
            found.append((data[start:end], timestamp, data[end + 18 : stop]))
            position = stop + 1
    except (IndexError, struct.error):
        pass
    return found, position


@switches
def write_cells(value: list[Cell], out: MessageWriter) -> None:
    pieces = out.pieces
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


CELL: Final = Struct(
    [Field(1, "column", BINARY), Field(2, "timestamp", INTEGER), Field(3, "value", BINARY)],
    fast_list=fast_cells,
    fast_write=write_cells,
)
CELLS: Final = Sequences(CELL)


def fast_rows(data: bytes, position: int, count: int) -> tuple[list[object], int]:
    found: list[object] = []
    head, inner = _STRING.unpack_from, _LIST.unpack_from
    try:
        for _ in range(count):
            kind, field, length = head(data, position)
            start = position + 7
            end = start + length
            kind2, field2, element, cells = inner(data, end)
            if (kind, field, kind2, field2, element) != (STRING, 1, 15, 2, STRUCT) or cells > _FEW:
                break
            some, stop = fast_cells(data, end + 8, cells)
            if len(some) < cells or data[stop]:
                break
            found.append((data[start:end], some))
            position = stop + 1
    except (IndexError, struct.error):
        pass
    return found, position


@switches
def write_rows(value: list[tuple[bytes, list[Cell]]], out: MessageWriter) -> None:
    pieces = out.pieces
    for row, cells in value:
        pieces += (_STRING.pack(STRING, 1, len(row)), row, _LIST.pack(15, 2, STRUCT, len(cells)))
        write_cells(cells, out)
        pieces.append(b"\0")


ROW: Final = Struct([Field(1, "row", BINARY), Field(2, "cells", CELLS)], fast_list=fast_rows, fast_write=write_rows)
ROWS: Final = Sequences(ROW)


def fast_operations(data: bytes, position: int, count: int) -> tuple[list[object], int]:
    found: list[object] = []
    try:
        for _ in range(count):
            kind1, field1, kind, kind2, field2, length = _KIND_AND_FAMILY.unpack_from(data, position)
            family_end = position + 11 + length
            kind3, field3, length = _STRING.unpack_from(data, family_end)
            qualifier_end = family_end + 7 + length
            kind4, field4, timestamp, kind5, field5, length = _TIME_AND_STRING.unpack_from(data, qualifier_end)
            stop = qualifier_end + 18 + length
            if data[stop] or (field1, field2, field3, field4, field5) != (1, 2, 3, 4, 5):
                break
            if (kind1, kind2, kind3, kind4, kind5) != (BYTE, STRING, STRING, I64, STRING):
                break
            family, qualifier = data[position + 11 : family_end], data[family_end + 7 : qualifier_end]
            found.append((kind, family, qualifier, timestamp, data[qualifier_end + 18 : stop]))
            position = stop + 1
    except (IndexError, struct.error):
        pass
    return found, position


@switches
def write_operations(value: list[Operation], out: MessageWriter) -> None:
    pieces = out.pieces
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


OPERATION: Final = Struct(
    [
        Field(1, "kind", ValueType(BYTE)),
        Field(2, "family", BINARY),
        Field(3, "qualifier", BINARY),
        Field(4, "timestamp", INTEGER),
        Field(5, "value", BINARY),
    ],
    fast_list=fast_operations,
    fast_write=write_operations,
)
OPERATIONS: Final = Sequences(OPERATION)


def fast_mutations(data: bytes, position: int, count: int) -> tuple[list[object], int]:
    """Decodes mutations of the usual form: neither field 3 nor 4; with a checksum or without."""
    found: list[object] = []
    try:
        for _ in range(count):
            kind, field, length = _STRING.unpack_from(data, position)
            start = position + 7
            end = start + length
            kind2, field2, element, operations = _LIST.unpack_from(data, end)
            if (kind, field, kind2, field2, element) != (STRING, 1, 15, 2, STRUCT) or operations > _FEW:
                break
            some, stop = fast_operations(data, end + 8, operations)
            if len(some) < operations:
                break
            mutation = RowMutation(data[start:end], some)  # type: ignore[arg-type]
            if data[stop] == I64:
                _, field, mutation.checksum = _I64.unpack_from(data, stop)
                if field != _CHECKSUM_FIELD:
                    break
                stop += _I64.size
            if data[stop]:
                break
            found.append(mutation)
            position = stop + 1
    except (IndexError, struct.error):
        pass
    return found, position


@switches
def write_mutations(value: list[RowMutation], out: MessageWriter) -> None:
    pieces = out.pieces
    for it in value:
        row, operations = it.row, it.operations
        pieces += (_STRING.pack(STRING, 1, len(row)), row, _LIST.pack(15, 2, STRUCT, len(operations)))
        write_operations(operations, out)
        if it.skip_log:
            pieces.append(_SKIP_LOG)
        if it.ttl_millis:
            pieces.append(_I64.pack(I64, 4, it.ttl_millis))
        pieces.append(_I64.pack(I64, _CHECKSUM_FIELD, it.checksum) + b"\0" if it.checksum else b"\0")


def _parts(it: RowMutation) -> tuple[Any, ...]:
    return it.row, it.operations, it.skip_log, it.ttl_millis, it.checksum


ROW_MUTATION: Final = Struct(
    [
        Field(1, "row", BINARY),
        Field(2, "operations", OPERATIONS),
        Field(3, "skipLog", BOOLEAN, False),
        Field(4, "ttlMillis", INTEGER, 0),
        Field(_CHECKSUM_FIELD, "checksum", INTEGER, 0),
    ],
    RowMutation,
    _parts,
    fast_list=fast_mutations,
    fast_write=write_mutations,
)
ROW_MUTATIONS: Final = Sequences(ROW_MUTATION)
