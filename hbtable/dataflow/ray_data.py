"""Ray Data's datasets of a table, and its writes into one (`pip install 'hbtable[ray]'`).

Here is what a driver calls; ray_source.py is what Ray runs in its workers, which need hbtable too.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from hbtable.client.columns import K, Key
from hbtable.dataflow.frames import needed, typed_splits
from hbtable.dataflow.splits import RowsOfSplits
from hbtable.dataflow.writing import arrow_write
from hbtable.library.table import Table
from hbtable.runtime.repeated import wall_millis
from hbtable.switches import switches

if TYPE_CHECKING:
    import ray.data
    from pyarrow import DataType


@switches
def to_ray(
    table: Table,
    columns: "Mapping[K, DataType | None]",
    *,
    at_least: int = 1,
    row: str = "row",
    **rows: Unpack[RowsOfSplits],
) -> "ray.data.Dataset":
    """The table as a Dataset of Ray Data: a task a split, whose blocks are Arrow's. `columns` has a type for each;
    `at_least` and `rows` (row_start, row_stop, row_prefix, filter, timestamp) are those of splits(). All tasks read as
    of one time, that of this call, whenever and how often they run. Ray starts where it does not run yet."""
    source = _source()
    pieces, schema = typed_splits(table, columns, row, at_least, rows)
    read = source.TableDatasource(pieces, row, schema)
    made: ray.data.Dataset = needed("ray.data").read_datasource(read, override_num_blocks=len(pieces))
    return made


@switches
def ray_sink(
    table: Table,
    row: str = "row",
    columns: "Mapping[str, Key] | Iterable[str] | None" = None,
    *,
    types: "Mapping[K, DataType | None] | None" = None,
    timestamp: int | None = None,
) -> "ray.data.Datasink[None]":
    """The table for Ray's writer:

        dataset.write_datasink(ray_sink(table, "id"))

    `row`, `columns` and `types` are those of Table.write_arrow. All cells have one time, `timestamp` (milliseconds
    since 1970; None: that of this call), so a task that is run again writes the same ones. They are durable when Ray
    says that the job is done; what a job that failed has written stays. Nothing is emptied first."""
    sink = _source().TableDatasink
    time = wall_millis() if timestamp is None else timestamp
    made: ray.data.Datasink[None] = sink(arrow_write(table, row, columns, types, time))
    return made


def _source() -> Any:
    """The module of what Ray runs."""
    needed("ray.data")
    return needed("hbtable.dataflow.ray_source", "ray")
