"""Rows as columns: what a scan into Arrow takes of sorted pairs without looking at each cell.

Of sorted pairs this is made only where visibility changes nothing: puts without a time to live of their own. Of a
column's versions the newest is taken. Whether its family has a time to live is for the reader to ask.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from hbtable.encoding.cell_key import TERMINATOR
from hbtable.model.mutation import PUT
from hbtable.model.read import RowsByColumn

_PLAIN_PUT: Final = bytes((PUT, 0))
"""Kind and flags of a key."""


def rows_by_column(keys: Sequence[bytes], values: Sequence[bytes], wanted: Mapping[bytes, int]) -> RowsByColumn | None:
    """The rows that have any of the wanted columns, made of the pairs of whole rows, ascending. `wanted`: a column's
    number by cell_key.stored_column. None where visibility has anything to decide.
    Hot."""
    return _of_like_rows(keys, values, wanted) or _of_any(keys, values, wanted)


def _of_like_rows(keys: Sequence[bytes], values: Sequence[bytes], wanted: Mapping[bytes, int]) -> RowsByColumn | None:
    """The usual block, without a loop in Python over its pairs: all rows have the same columns, once each. None: it is
    another one."""
    if not keys:
        return None
    begin = keys[0].index(TERMINATOR) + 2
    row_start = keys[0][:begin]
    width = 1
    while width < len(keys) and keys[width].startswith(row_start):
        width += 1
    if len(keys) % width or {key[-10::9] for key in keys} != {_PLAIN_PUT}:
        return None
    rows: list[bytes] = []
    columns: list[Sequence[bytes | None]] = [()] * len(wanted)
    parts: set[bytes] = set()
    for place in range(width):
        part = keys[place][begin:-18]
        parts.add(part)
        end = TERMINATOR + part
        stop = -18 - len(end)
        of_column = keys[place::width]
        if {key[stop:-18] for key in of_column} != {end}:
            return None
        its_rows = [key[:stop] for key in of_column]
        if not place:
            rows = its_rows
        elif its_rows != rows:
            return None
        if part in wanted:
            columns[wanted[part]] = values[place::width]
    # No row has a NUL: nothing to unescape, and the columns begin where they seem to.
    if len(parts) < width or len(set(rows)) < len(rows) or b"\x00" in b"".join(rows):
        return None
    if parts.isdisjoint(wanted):
        return RowsByColumn([], columns)
    nothing = [None] * len(rows)
    return RowsByColumn(rows, [column or nothing for column in columns])


def _of_any(keys: Sequence[bytes], values: Sequence[bytes], wanted: Mapping[bytes, int]) -> RowsByColumn | None:
    rows: list[bytes] = []
    columns: list[list[bytes | None]] = [[] for _ in wanted]
    row_start = b"\x00\x00"  # no key begins so
    part = b""
    begin = 0
    is_there = False
    for key, value in zip(keys, values, strict=True):
        if key[-10] != PUT or key[-1]:
            return None
        if not key.startswith(row_start):
            begin = key.index(TERMINATOR) + 2
            row_start, part, is_there = key[:begin], b"", False
        before, part = part, key[begin:-18]
        if part == before or part not in wanted:
            continue
        if not is_there:
            row = row_start[:-2]
            rows.append(row.replace(b"\x00\xff", b"\x00") if b"\x00" in row else row)
            is_there = True
        column = columns[wanted[part]]
        column += [None] * (len(rows) - 1 - len(column))
        column.append(value)
    for column in columns:
        column += [None] * (len(rows) - len(column))
    return RowsByColumn(rows, list(columns))


def rows_alone(keys: Sequence[bytes]) -> tuple[list[bytes], set[bytes]] | None:
    """The rows of pairs, ascending, and the families that they have, as they stand in cell keys. None where visibility
    has anything to decide. Hot."""
    if {key[-10::9] for key in keys} - {_PLAIN_PUT}:
        return None
    parts = [key.partition(TERMINATOR) for key in keys]
    rows = list(dict.fromkeys([row for row, _, _ in parts]))
    if b"\x00" in b"".join(rows):
        rows = [row.replace(b"\x00\xff", b"\x00") for row in rows]
    columns = {rest[:-18] for _, _, rest in parts}
    return rows, {column.partition(b"\x00")[0] for column in columns}
