r"""Rows as HBase's Thrift interface answers them in the binary protocol: a page of them is a join of slices.

    TRowResult   0b 0001 length row, 0d 0002 0b 0c count { length column, TCell }..., 00
    TCell        0b 0001 length value, 0a 0002 timestamp, 00

Of sorted pairs this is made only where visibility changes nothing: each column has one version, a put without a time
to live of its own. Whether its families have one is for the reader to ask (`families`).
"""

import struct
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, chain, repeat
from operator import add, sub
from typing import Final, final

from hbtable.encoding.cell_key import TERMINATOR, family_name
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import PUT
from hbtable.model.read import PlainSlices
from hbtable.switches import switches_if_given

_U32: Final = struct.Struct(">I").pack
_READ_U32: Final = struct.Struct(">I").unpack_from
_READ_I64: Final = struct.Struct(">q").unpack_from
_ROW: Final = b"\x0b\x00\x01"
_NEXT_ROW: Final = b"\x00" + _ROW
"""The end of the row before it, too."""
_MAP: Final = b"\x0d\x00\x02\x0b\x0c"
_ONE_CELL: Final = _MAP + b"\x00\x00\x00\x01"
_TIME: Final = b"\x0a\x00\x02"
_ENDS: Final = b"\x00\x00"
"""Of a cell, and of the row whose last one it is."""
_BEHIND_VALUE: Final = 13
_PLAIN_PUT: Final = bytes((PUT, 0))
"""Kind and flags of a key."""
_INVERTED: Final = bytes(range(255, -1, -1))
"""Times stand inverted in cell keys."""
_ROW_BYTES: Final = 17
"""Of a row, around its key and its cells."""
_CELL_BYTES: Final = 23
"""Of a cell, around its column and its value."""


@final
class RowResults:
    """All rows of a block. `data` holds every value, too: nothing else has to be kept of them."""

    __slots__ = ("_entries", "_offsets", "_value_ends", "_value_starts", "data", "families")

    def __init__(
        self,
        data: bytes,
        families: frozenset[bytes],
        offsets: "array[int]",
        entries: "array[int] | None",
        value_starts: "array[int]",
        value_ends: "array[int]",
    ) -> None:
        self.data = data
        self.families = families
        """As they stand in cell keys."""
        self._offsets = offsets  # where each row begins in `data`, and where the last one ends
        self._entries = entries  # the number of each row's first pair, and of all; None where each row has one
        self._value_starts = value_starts
        self._value_ends = value_ends

    @property
    def memory_bytes(self) -> int:
        entries = len(self._entries) if self._entries is not None else 0
        return len(self.data) + 8 * len(self._value_starts) + 4 * (len(self._offsets) + entries)

    def values(self, first: int, last: int) -> list[bytes]:
        """The values of the pairs [first, last)."""
        data = self.data
        if last - first == 1:
            return [data[self._value_starts[first] : self._value_ends[first]]]
        return [
            data[begin:end]
            for begin, end in zip(self._value_starts[first:last], self._value_ends[first:last], strict=True)
        ]

    def row_at(self, entry: int) -> int:
        """The number of the row that begins with this pair."""
        return entry if self._entries is None else bisect_left(self._entries, entry)

    def last_entry(self, row: int) -> int:
        """The number of the row's last pair."""
        return row if self._entries is None else self._entries[row + 1] - 1

    def cells(self, first: int, last: int) -> int:
        """The number of cells of the rows [first, last)."""
        return last - first if self._entries is None else self._entries[last] - self._entries[first]

    def slice(self, first: int, last: int) -> bytes:
        """The rows [first, last)."""
        return self.data[self._offsets[first] : self._offsets[last]]

    def content_bytes(self, first: int, last: int) -> int:
        """The bytes of keys, columns and values in the rows [first, last)."""
        size = self._offsets[last] - self._offsets[first]
        return size - _ROW_BYTES * (last - first) - _CELL_BYTES * self.cells(first, last)


def row_results(keys: Sequence[bytes], values: Sequence[bytes]) -> RowResults | None:
    """The answer made of the pairs of whole rows, ascending; None where visibility has anything to decide. Hot."""
    return _of_one_column(keys, values) or _of_any(keys, values)


def _of_one_column(keys: Sequence[bytes], values: Sequence[bytes]) -> RowResults | None:
    """The usual block, without a loop in Python over its pairs: each row has one cell, all of one column. None: it is
    another one."""
    if not keys:
        return None
    column_at = keys[0].index(TERMINATOR)
    column = keys[0][column_at:-18]
    stop = -18 - len(column)
    rows = [key[:stop] for key in keys]
    if (
        {key[stop:-18] for key in keys} != {column}
        or {key[-10::9] for key in keys} != {_PLAIN_PUT}
        or b"\x00" in b"".join(rows)  # nothing to unescape, and the column begins where it seems to
        or len(set(rows)) < len(rows)
    ):
        return None
    columns: dict[bytes, bytes] = {}
    families: set[bytes] = set()
    name = _column(column[2:], columns, families)
    row_bytes, value_bytes = list(map(len, rows)), list(map(len, values))
    times = b"".join([key[-18:-10] for key in keys]).translate(_INVERTED)
    pieces = zip(
        repeat(_ROW),
        _encoded(row_bytes),
        rows,
        repeat(_ONE_CELL + name),
        _encoded(value_bytes),
        values,
        repeat(_TIME),
        [times[start : start + 8] for start in range(0, len(times), 8)],
        repeat(_ENDS),
    )
    around = _ROW_BYTES + _CELL_BYTES + len(name) - 7
    offsets = list(accumulate(map(add, map(add, row_bytes, repeat(around)), value_bytes), initial=0))
    ends = [offset - _BEHIND_VALUE for offset in offsets[1:]]
    starts = map(sub, ends, value_bytes)
    data = b"".join(chain.from_iterable(pieces))
    return RowResults(data, frozenset(families), array("I", offsets), None, array("I", starts), array("I", ends))


def _encoded(lengths: list[int]) -> Iterable[bytes]:
    if lengths.count(lengths[0]) == len(lengths):
        return repeat(_U32(lengths[0]))
    return map(_U32, lengths)


def _of_any(keys: Sequence[bytes], values: Sequence[bytes]) -> RowResults | None:
    out: list[bytes] = []
    offsets, entries, starts, ends = array("I"), array("I"), array("I"), array("I")
    columns: dict[bytes, bytes] = {}
    families: set[bytes] = set()
    row_start, row_head = b"\x00\x00", _ROW  # no key begins so
    part = column = length = time = tail = b""  # of the pair before: neighbours mostly have them in common
    begin = at = cells = head = 0
    value_bytes, is_ascii = -1, True
    for key, value in zip(keys, values, strict=True):
        if key[-10] != PUT or key[-1]:
            return None
        if not key.startswith(row_start):
            if cells > 1:
                out[head] = _MAP + _U32(cells)
            begin = key.index(TERMINATOR) + 2
            row_start, row = key[:begin], key[: begin - 2]
            if b"\x00" in row:
                row = row.replace(b"\x00\xff", b"\x00")
            row_bytes = len(row)
            at += len(row_head)
            offsets.append(at - 3)
            entries.append(len(starts))
            head = len(out) + 3
            out += (row_head, _U32(row_bytes), row, _ONE_CELL)
            row_head = _NEXT_ROW
            at += 13 + row_bytes
            cells = 1
            if key[begin:-18] != part:
                part = key[begin:-18]
                is_ascii = part.isascii()
                column = columns.get(part) or _column(part, columns, families)
        else:
            if key[begin:-18] == part:
                return None
            part = key[begin:-18]
            if not is_ascii or not part.isascii():
                return None  # HBase's order of the map is another one
            cells += 1
            column = columns.get(part) or _column(part, columns, families)
        if len(value) != value_bytes:
            value_bytes = len(value)
            length = _U32(value_bytes)
        if key[-18:-10] != time:
            time = key[-18:-10]
            tail = _TIME + time.translate(_INVERTED) + b"\x00"
        out += (column, length, value, tail)
        at += len(column) + 4
        starts.append(at)
        at += value_bytes
        ends.append(at)
        at += 12
    if cells > 1:
        out[head] = _MAP + _U32(cells)
    out.append(b"\x00"[: len(keys)])  # the end of the last row, if there is one
    offsets.append(at + len(out[-1]))
    entries.append(len(starts))
    one_each = len(entries) == len(starts) + 1
    return RowResults(b"".join(out), frozenset(families), offsets, None if one_each else entries, starts, ends)


def _column(part: bytes, columns: dict[bytes, bytes], families: set[bytes]) -> bytes:
    """The entry of the map up to the value's length, remembered in `columns`."""
    family, _, qualifier = part[:-2].partition(b"\x00")
    families.add(family)
    if b"\x00" in qualifier:
        qualifier = qualifier.replace(b"\x00\xff", b"\x00")
    name = family_name(family) + b":" + qualifier
    columns[part] = entry = _U32(len(name)) + name + b"\x0b\x00\x01"
    return entry


@switches_if_given
def rows_of(slices: PlainSlices, pause: Callable[[], object] | None = None) -> list[Row]:
    """The rows themselves, for whoever speaks another protocol. `pause` is called between pieces."""
    found: list[Row] = []
    for piece in slices.pieces:
        found += _decoded(piece)
        if pause is not None:
            pause()
    return found


def _decoded(data: bytes) -> list[Row]:
    found: list[Row] = []
    at = 0
    while at < len(data):
        row, at = _string(data, at + 3)
        (count,) = _READ_U32(data, at + 5)
        at += 9
        cells: list[Cell] = []
        for _ in range(count):
            column, at = _string(data, at)
            value, at = _string(data, at + 3)
            cells.append((column, _READ_I64(data, at + 3)[0], value))
            at += 12
        at += 1
        found.append((row, cells))
    return found


def _string(data: bytes, at: int) -> tuple[bytes, int]:
    (length,) = _READ_U32(data, at)
    return data[at + 4 : at + 4 + length], at + 4 + length
