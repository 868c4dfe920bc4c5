r"""Answers in Thrift's binary protocol, built straight from rows and cells.

Each function takes the head of the reply (message type, name, sequence number) and the value, and returns the whole
message, or a generator of its pieces where it is large (large_answers). A page of 1,000 rows costs 0.5 us a row here
and 3 us when objects are made for a codec first.

    list<TRowResult>   0f 0000 0c count { 0b 0001 length row, 0d 0002 0b 0c count { length column, TCell }..., 00 }...,
                       00; sorted: 0f 0003 0c count { 0b 0001 length column, 0c 0002 TCell, 00 }...
    TCell              0b 0001 length value, 0a 0002 timestamp, 00
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, final

from hbtable.hbase.codec import large_answers
from hbtable.hbase.codec.large_answers import LARGE_VALUE_BYTES, MANY_CELLS, MANY_ROWS, signed
from hbtable.hbase.codec.scanned_pages import ScannedPages
from hbtable.model.cell import Cell, Row

_U32: Final = struct.Struct(">I").pack
_STRING_FIELD: Final = struct.Struct(">BHI").pack
_LIST_FIELD: Final = struct.Struct(">BHBI").pack
_I32_FIELD: Final = struct.Struct(">BHiB").pack
_I64_FIELD: Final = struct.Struct(">BHqB").pack
_ONE_ROW: Final = struct.Struct(">BHBIBHI").pack
_COLUMNS: Final = struct.Struct(">5sI").pack
_ONE_COLUMN: Final = struct.Struct(">5sII").pack
_CELL_END: Final = struct.Struct(">BHqB").pack
_ROW_END: Final = struct.Struct(">BHqBB").pack
_ONE_ROW_END: Final = struct.Struct(">BHqBBB").pack
_MAP_MARK: Final = b"\x0d\x00\x02\x0b\x0c"
_PIECES_AT_ONCE: Final = 2048
"""So many small parts of an answer are put together in one stretch, which takes 0.3 ms. A cell has five to seven."""


@final
class SortedRows(list[Row]):
    """Rows of a scan that asked for sortColumns: answered in `sortedColumns` instead of `columns`."""

    __slots__ = ()


def in_map_order(found: list[Cell]) -> list[Cell]:
    """Cells of a row as HBase orders its map of columns: by signed bytes, 80-ff before 00-7f. Dictionaries of many
    clients show that order; columns of plain ASCII are in it already."""
    for column, _, _ in found:
        if not column.isascii():
            return sorted(found, key=signed)
    return found


def nothing(head: bytes, _: None) -> bytes:
    return head + b"\x00"


def boolean(head: bytes, value: bool) -> bytes:
    return head + (b"\x02\x00\x00\x01\x00" if value else b"\x02\x00\x00\x00\x00")


def i32(head: bytes, value: int) -> bytes:
    return head + _I32_FIELD(8, 0, value, 0)


def i64(head: bytes, value: int) -> bytes:
    return head + _I64_FIELD(10, 0, value, 0)


def text(head: bytes, value: str) -> bytes:
    data = value.encode("utf-8")
    return head + _STRING_FIELD(11, 0, len(data)) + data + b"\x00"


def names(head: bytes, value: Sequence[bytes]) -> bytes:
    out = [head, _LIST_FIELD(15, 0, 11, len(value))]
    for name in value:
        out += (_U32(len(name)), name)
    out.append(b"\x00")
    return b"".join(out)


def flags(head: bytes, value: Mapping[bytes, bool]) -> bytes:
    out = [head, b"\x0d\x00\x00\x0b\x02", _U32(len(value))]
    for name, flag in value.items():
        out += (_U32(len(name)), name, b"\x01" if flag else b"\x00")
    out.append(b"\x00")
    return b"".join(out)


def cells(head: bytes, value: Sequence[Cell]) -> bytes | Iterator[bytes]:
    if len(value) > MANY_CELLS:
        return large_answers.cells(head, value)
    out = [head, _LIST_FIELD(15, 0, 12, len(value))]
    for _, timestamp, content in value:
        if len(content) > LARGE_VALUE_BYTES:
            return large_answers.cells(head, value)
        out += (_STRING_FIELD(11, 1, len(content)), content, _CELL_END(10, 2, timestamp, 0))
    out.append(b"\x00")
    return b"".join(out)


def rows(head: bytes, value: Sequence[Row] | ScannedPages) -> bytes | Iterator[bytes]:
    if type(value) is ScannedPages:
        pieces = large_answers.scanned_pages(head, value)
        return b"".join(pieces) if value.is_small() else pieces
    assert isinstance(value, list)
    if type(value) is SortedRows:
        return _sorted_rows(head, value)
    if len(value) == 1 and len(value[0][1]) == 1:  # what most gets find
        row, ((column, timestamp, content),) = value[0]
        if len(content) <= LARGE_VALUE_BYTES:
            return b"".join((
                head, _ONE_ROW(15, 0, 12, 1, 11, 1, len(row)), row, _ONE_COLUMN(_MAP_MARK, 1, len(column)), column,
                _STRING_FIELD(11, 1, len(content)), content, _ONE_ROW_END(10, 2, timestamp, 0, 0, 0),
            ))  # fmt: skip
    out = [head, _LIST_FIELD(15, 0, 12, len(value))]
    done = _added(out, value, 0)
    if done < len(value):
        return _rows_in_parts(out, value, done)
    out.append(b"\x00")
    return b"".join(out)


def _rows_in_parts(out: list[bytes], value: Sequence[Row], done: int) -> Iterator[bytes]:
    """Others may run between two parts. `out` has the head and the first `done` rows. Nobody else has the lists of
    cells: to free those of all rows at once, when they have been sent, takes 20 ms."""
    before = 0
    while True:
        yield b"".join(out)
        for _, found in value[before:done]:
            if isinstance(found, list):
                found.clear()
        if done == len(value):
            break
        out = []
        before, done = done, _added(out, value, done)
        if done == before:
            yield from large_answers.some_rows(value[done : done + 1])
            done = before = done + 1
    yield b"\x00"


def _added(out: list[bytes], value: Sequence[Row], first: int) -> int:
    """Adds the rows from `first` on, and returns the number of the first that is not added: there are enough small
    parts, or it has so many or large cells that it is to go out as a large answer."""
    for number in range(first, len(value)):
        row, found = value[number]
        if len(found) == 1:
            column, timestamp, content = found[0]
            if len(content) > LARGE_VALUE_BYTES or len(out) > _PIECES_AT_ONCE:
                return number
            out += (
                _STRING_FIELD(11, 1, len(row)), row, _ONE_COLUMN(_MAP_MARK, 1, len(column)), column,
                _STRING_FIELD(11, 1, len(content)), content, _ROW_END(10, 2, timestamp, 0, 0),
            )  # fmt: skip
            continue
        if len(found) > MANY_CELLS or len(out) > _PIECES_AT_ONCE:
            return number
        before = len(out)
        out += (_STRING_FIELD(11, 1, len(row)), row, _COLUMNS(_MAP_MARK, len(found)))
        for column, timestamp, content in in_map_order(found):
            if len(content) > LARGE_VALUE_BYTES:
                del out[before:]
                return number
            out += (
                _U32(len(column)), column, _STRING_FIELD(11, 1, len(content)), content,
                _CELL_END(10, 2, timestamp, 0),
            )  # fmt: skip
        out.append(b"\x00")
    return len(value)


def _sorted_rows(head: bytes, value: Sequence[Row]) -> bytes | Iterator[bytes]:
    if len(value) > MANY_ROWS:
        return large_answers.sorted_rows(head, value)
    out = [head, _LIST_FIELD(15, 0, 12, len(value))]
    for row, found in value:
        if len(found) > MANY_CELLS or len(out) > _PIECES_AT_ONCE:
            return large_answers.sorted_rows(head, value)
        out += (_STRING_FIELD(11, 1, len(row)), row, _LIST_FIELD(15, 3, 12, len(found)))
        for column, timestamp, content in found:
            if len(content) > LARGE_VALUE_BYTES:
                return large_answers.sorted_rows(head, value)
            out += (
                _STRING_FIELD(11, 1, len(column)), column, b"\x0c\x00\x02", _STRING_FIELD(11, 1, len(content)), content,
                _ROW_END(10, 2, timestamp, 0, 0),
            )  # fmt: skip
        out.append(b"\x00")
    out.append(b"\x00")
    return b"".join(out)
