"""The checks and the keys of many puts into one column: what apply.WriteBuilder does for each, for all together."""

from typing import Final

from hbtable.encoding.cell_key import INVERT, TERMINATOR, Pair, suffix_start
from hbtable.model.mutation import PUT
from hbtable.model.put_batch import PutBatch
from hbtable.model.ranges import RowRange

_BYTES_ALONE: Final = {bytes}
_KEY_END_BYTES: Final = 9
"""Behind `middle`: the sequence and the flags."""


def pairs_of_puts(
    puts: PutBatch,
    stored_family: bytes,
    row_range: RowRange,
    longest_row: int,
    largest_cell: int,
    now: int,
    sequence: int,
) -> list[Pair] | None:
    """Pairs of time `now`, the first with `sequence`, each later one with the next. None: one of the puts is to be
    refused, or has a byte to escape. Hot."""
    rows, values, qualifier = puts.rows, puts.values, puts.qualifier
    if {type(qualifier), *map(type, rows), *map(type, values)} != _BYTES_ALONE:
        return None
    if not rows or not all(rows) or b"\x00" in qualifier or b"\x00" in b"".join(rows):
        return None
    start, stop = row_range
    if (start and min(rows) < start) or (stop and max(rows) >= stop):
        return None
    middle = b"".join((TERMINATOR, stored_family, qualifier, TERMINATOR, suffix_start(now, PUT)))
    longest = max(map(len, rows))
    if longest > longest_row or longest + len(middle) + _KEY_END_BYTES + max(map(len, values)) > largest_cell:
        return None
    newest = INVERT - sequence
    keys = [
        b"".join((row, middle, inverted.to_bytes(8, "big"), b"\x00"))
        for row, inverted in zip(rows, range(newest, newest - len(rows), -1), strict=True)
    ]
    return list(zip(keys, values, strict=True))
