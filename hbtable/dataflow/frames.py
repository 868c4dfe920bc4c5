"""Tables as lazy frames of other engines: Dask's DataFrame and Polars' LazyFrame. Each engine is an extra of its own,
and imported with the first call that needs it."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from hbtable.client.columns import K, Key
from hbtable.client.filter_text import Filter
from hbtable.dataflow.reading import arrow_schema, read_arrow
from hbtable.dataflow.splits import Split, splits
from hbtable.errors import InvalidRequest, WrongType
from hbtable.library.table import Table
from hbtable.model.values import shown
from hbtable.switches import switches

if TYPE_CHECKING:
    import dask.dataframe
    import polars
    from pyarrow import DataType, RecordBatch

_EXTRAS: Final = {"polars": "polars", "dask.dataframe": "dask", "pandas": "dask", "pyarrow": "arrow"}


@switches
def to_dask(
    table: Table,
    columns: "Mapping[K, DataType | None]",
    *,
    row_start: Key | None = None,
    row_stop: Key | None = None,
    row_prefix: Key | None = None,
    filter: Key | Filter | None = None,
    timestamp: int | None = None,
    at_least: int = 1,
    row: str = "row",
) -> "dask.dataframe.DataFrame":
    """The table as a Dask DataFrame (`pip install 'hbtable[dask]'`): a partition a split, of pandas' frames with
    Arrow's types, so that a null stays a null and a whole number whole. The arguments are those of splits(); `columns`
    has a type for each. Tasks may run in any process, and again: all read as of one time."""
    frames = needed("dask.dataframe")
    pieces = _pieces(table, columns, row_start, row_stop, row_prefix, filter, timestamp, at_least)
    empty = pandas_frame([], arrow_schema(pieces[0], row) if pieces else None)
    made: dask.dataframe.DataFrame
    if not pieces:
        made = frames.from_pandas(empty, npartitions=1)
    else:
        made = frames.from_map(_pandas_of, pieces, row=row, meta=empty, enforce_metadata=False, label="hbtable")
    return made


@switches
def _pandas_of(split: Split, row: str) -> Any:
    return pandas_frame(list(read_arrow(split, row=row)), arrow_schema(split, row))


def pandas_frame(batches: "list[RecordBatch]", schema: Any) -> Any:
    """All batches as one frame of pandas."""
    arrow, pandas = needed("pyarrow"), needed("pandas")
    return arrow.Table.from_batches(batches, schema).to_pandas(types_mapper=pandas.ArrowDtype)


@switches
def scan_polars(
    table: Table,
    columns: "Mapping[K, DataType | None]",
    *,
    row_start: Key | None = None,
    row_stop: Key | None = None,
    row_prefix: Key | None = None,
    filter: Key | Filter | None = None,
    timestamp: int | None = None,
    row: str = "row",
) -> "polars.LazyFrame":
    """The table as a Polars LazyFrame (`pip install 'hbtable[polars]'`). It is read when it is collected, batch by
    batch and no further than the query needs; the time of what is read is that of this call. The arguments are those of
    splits(); `columns` has a type for each."""
    frames = needed("polars")
    register = needed("polars.io.plugins", "polars").register_io_source
    pieces = _pieces(table, columns, row_start, row_stop, row_prefix, filter, timestamp, 1)
    if not pieces:
        raise InvalidRequest("the range of rows is empty: 'row_start' is not before 'row_stop'")
    empty = frames.from_arrow(needed("pyarrow").Table.from_batches([], arrow_schema(pieces[0], row)))

    def batches(
        wanted: list[str] | None, predicate: Any, most_rows: int | None, batch_rows: int | None
    ) -> Iterator[Any]:
        """Polars cuts off what is more than `most_rows`, but would have it read."""
        left = most_rows
        for split in pieces:
            for batch in read_arrow(split, batch_rows or 10_000, row):
                frame = frames.from_arrow(batch)
                frame = frame if left is None else frame.head(left)
                left = left if left is None else left - len(frame)
                frame = frame if predicate is None else frame.filter(predicate)
                yield frame if wanted is None else frame.select(wanted)
                if left == 0:
                    return

    frame: polars.LazyFrame = register(batches, schema=empty.schema)
    return frame


@switches
def _pieces(
    table: Table,
    columns: object,
    row_start: Key | None,
    row_stop: Key | None,
    row_prefix: Key | None,
    filter: Key | Filter | None,
    timestamp: int | None,
    at_least: int,
) -> list[Split]:
    if not isinstance(columns, Mapping):
        raise WrongType(f"'columns' {shown(columns)} has to be a dict with a type of Arrow for each column")
    needed("pyarrow")
    return splits(
        table,
        columns,
        row_start=row_start,
        row_stop=row_stop,
        row_prefix=row_prefix,
        filter=filter,
        timestamp=timestamp,
        at_least=at_least,
    )


def needed(module: str, extra: str = "") -> Any:
    """The module of an engine. InvalidRequest says how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in (module.split(".")[0], "pandas", "pyarrow"):
            raise
        extra = extra or _EXTRAS[module]
        raise InvalidRequest(
            f"this needs {error.name.split('.')[0]}, which is not installed: pip install 'hbtable[{extra}]'"
        ) from None
