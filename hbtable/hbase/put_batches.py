"""Rows of a mutateRows call that are puts of one cell each, into one column, taken together: a few steps for all rows
instead of some for each."""

from collections.abc import Callable
from typing import Final

from hbtable.hbase.conversion import CELL_OVERHEAD_BYTES, Batches
from hbtable.model.mutation import MAX_ROW_BYTES
from hbtable.model.put_batch import PutBatch
from hbtable.switches import switches

_ROWS_BETWEEN_PAUSES: Final = 256


@switches
def put_batch(batches: Batches, timestamp: int, cell_bytes: int, pause: Callable[[], object]) -> PutBatch | None:
    """None: they are not all of this kind, or conversion.row_mutation() would refuse one. There has to be one at least.
    `pause` is called between many."""
    rows: list[bytes] = []
    values: list[bytes] = []
    column = b""
    for first in range(0, len(batches), _ROWS_BETWEEN_PAUSES):
        if first:
            pause()
        try:
            some_rows, columns, some_values = zip(*batches[first : first + _ROWS_BETWEEN_PAUSES], strict=True)
        except ValueError:  # others than RowPuts
            return None
        if not first:
            column = columns[0]  # also an empty one: it is no other row's column
        longest_row = max(map(len, some_rows))
        largest_cell = longest_row + len(column) + max(map(len, some_values)) + CELL_OVERHEAD_BYTES
        if columns.count(column) < len(columns) or not all(some_rows):
            return None
        if longest_row > MAX_ROW_BYTES or largest_cell > cell_bytes:
            return None
        rows += some_rows
        values += some_values
    family, colon, qualifier = column.partition(b":")
    return PutBatch(family, qualifier, timestamp, rows, values) if colon else None
