"""Puts of a putMultiple call that are of one cell each, into one column, taken together, as hbase.put_batches does it
for Thrift1."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final

from hbtable.hbase.codec.thrift2_structs import TPut
from hbtable.hbase.conversion import CELL_OVERHEAD_BYTES
from hbtable.hbase.thrift2.conversion import SKIP_WAL
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import MAX_ROW_BYTES
from hbtable.model.put_batch import PutBatch
from hbtable.switches import switches

_ROWS_BETWEEN_PAUSES: Final = 256


@switches
def puts_in_columns(puts: Sequence[TPut], cell_bytes: int, pause: Callable[[], object]) -> PutBatch | None:
    """None: they are not all of this kind and without a time, or conversion.put_mutation() would refuse one. There has
    to be one at least. `pause` is called between many."""
    rows: list[bytes] = []
    values: list[bytes] = []
    family = qualifier = b""
    for first in range(0, len(puts), _ROWS_BETWEEN_PAUSES):
        if first:
            pause()
        part = puts[first : first + _ROWS_BETWEEN_PAUSES]
        some_rows, cells, times, attributes, durabilities, visibilities = zip(*part, strict=True)
        if not all(cells) or max(map(len, cells)) > 1 or not all(some_rows):
            return None
        if not _all_none(times) or any(attributes) or SKIP_WAL in durabilities or not _all_none(visibilities):
            return None
        families, qualifiers, some_values, cell_times, _, _ = zip(*chain.from_iterable(cells), strict=True)
        if not first:
            family, qualifier = families[0], qualifiers[0]
            if not family or qualifier is None:
                return None
        count = len(part)
        if families.count(family) < count or qualifiers.count(qualifier) < count:
            return None
        if not _all_none(cell_times) or None in some_values:
            return None
        longest_row = max(map(len, some_rows))
        largest_cell = longest_row + len(family) + 1 + len(qualifier) + max(map(len, some_values)) + CELL_OVERHEAD_BYTES
        if longest_row > MAX_ROW_BYTES or largest_cell > cell_bytes:
            return None
        rows += some_rows
        values += some_values
    return PutBatch(family, qualifier, SERVER_TIME, rows, values)


def _all_none(some: Sequence[object]) -> bool:
    return some.count(None) == len(some)
