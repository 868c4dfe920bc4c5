"""Apache Beam's source and sink of a table (`pip install 'hbtable[beam]'`).

Here is what a pipeline is made of; beam_transforms.py is what Beam runs in its workers, which need hbtable too.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from hbtable.client.columns import K, Key, write_time
from hbtable.dataflow.frames import needed, some_splits, typed_splits
from hbtable.dataflow.splits import RowsOfSplits
from hbtable.dataflow.writing import target
from hbtable.library.table import Table
from hbtable.runtime.repeated import wall_millis
from hbtable.switches import switches

if TYPE_CHECKING:
    import apache_beam as beam
    from pyarrow import DataType


@switches
def beam_source(
    table: Table,
    columns: "Mapping[K, DataType | None] | Iterable[Key] | None" = None,
    *,
    at_least: int = 1,
    row: str = "row",
    **rows: Unpack[RowsOfSplits],
) -> "beam.PTransform":
    """A transform that begins a pipeline with the table's rows: (row, {column: value}) as scan() gives them. Of
    `columns` with types each is a dict of Python's values instead, by column, with the row as `row` and None where
    there is no cell; this needs pyarrow. `at_least` and `rows` (row_start, row_stop, row_prefix, filter, timestamp)
    are those of splits(). All workers read as of one time, that of this call, whenever and how often they do it.

        pipeline | dataflow.beam_source(table, ["c:site"]) | beam.Map(...)
    """
    source = _source()
    if isinstance(columns, Mapping):
        pieces, _ = typed_splits(table, columns, row, at_least, rows)
    else:
        pieces = some_splits(table, columns, at_least, rows)
    made: beam.PTransform = source.ReadTable(pieces, row)
    return made


@switches
def beam_sink(table: Table, timestamp: int | None = None) -> "beam.PTransform":
    """A transform that puts what it is given into the table: (row, {column: value}), as Table.put takes them. All
    cells have one time, `timestamp` (milliseconds since 1970; None: that of this call), so a bundle that Beam runs
    again writes the same ones; of two elements with one cell that which comes last stays, and Beam promises no order.
    Durable when Beam says that the pipeline is done; what one that failed has written stays. It gives no elements."""
    sink = _source().WriteTable
    time = write_time(wall_millis() if timestamp is None else timestamp)
    made: beam.PTransform = sink(target(table), time)
    return made


def _source() -> Any:
    """The module of what Beam runs."""
    needed("apache_beam")
    return needed("hbtable.dataflow.beam_transforms", "beam")
