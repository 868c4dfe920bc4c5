"""Tables as lazy frames of other engines: Dask's DataFrame and Polars' LazyFrame. Each engine is an extra of its own,
and imported with the first call that needs it."""

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Unpack

from hbtable.client.columns import K, Key
from hbtable.dataflow.reading import arrow_schema, read_arrow
from hbtable.dataflow.splits import RowsOfSplits, Split, splits
from hbtable.errors import InvalidRequest, WrongType
from hbtable.library.table import Table
from hbtable.model.values import shown
from hbtable.switches import switches

if TYPE_CHECKING:
    import dask.dataframe
    import polars
    from pyarrow import DataType, RecordBatch, Schema

_EXTRAS: Final = {
    "apache_beam": "beam",
    "dask": "dask",
    "dask.dataframe": "dask",
    "pandas": "dask",
    "polars": "polars",
    "pyarrow": "arrow",
    "pyspark": "spark",
    "ray.data": "ray",
}


@switches
def to_dask(
    table: Table,
    columns: "Mapping[K, DataType | None]",
    *,
    at_least: int = 1,
    row: str = "row",
    **rows: Unpack[RowsOfSplits],
) -> "dask.dataframe.DataFrame":
    """The table as a Dask DataFrame (`pip install 'hbtable[dask]'`): a partition a split, of pandas' frames with
    Arrow's types, so that a null stays a null and a whole number whole. `columns` has a type for each; `at_least` and
    `rows` (row_start, row_stop, row_prefix, filter, timestamp) are those of splits(). Tasks may run in any process, and
    again: all read as of one time."""
    frames = needed("dask.dataframe")
    pieces, schema = typed_splits(table, columns, row, at_least, rows)
    made: dask.dataframe.DataFrame = frames.from_map(
        _pandas_of, pieces, row=row, meta=pandas_frame([], schema), enforce_metadata=False, label="hbtable"
    )
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
    row: str = "row",
    **rows: Unpack[RowsOfSplits],
) -> "polars.LazyFrame":
    """The table as a Polars LazyFrame (`pip install 'hbtable[polars]'`). It is read when it is collected, batch by
    batch and no further than the query needs; the time of what is read is that of this call. `columns` has a type for
    each; `rows` (row_start, row_stop, row_prefix, filter, timestamp) are those of splits()."""
    frames = needed("polars")
    register = needed("polars.io.plugins", "polars").register_io_source
    pieces, schema = typed_splits(table, columns, row, 1, rows)
    empty = frames.from_arrow(needed("pyarrow").Table.from_batches([], schema))

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
def typed_splits(
    table: Table, columns: object, row: str, at_least: int, rows: RowsOfSplits
) -> "tuple[list[Split], Schema]":
    """The splits, at least one, and what their record batches are. InvalidRequest: the range of rows is empty, or
    pyarrow is not installed; WrongType and WrongValue, of `columns` and `row`: now, not in a task."""
    if not isinstance(columns, Mapping):
        raise WrongType(f"'columns' {shown(columns)} has to be a dict with a type of Arrow for each column")
    needed("pyarrow")
    pieces = some_splits(table, columns, at_least, rows)
    return pieces, arrow_schema(pieces[0], row)


@switches
def some_splits(
    table: Table, columns: "Mapping[K, DataType | None] | Iterable[Key] | None", at_least: int, rows: RowsOfSplits
) -> list[Split]:
    """InvalidRequest where there are none: engines take an empty list for a mistake of their own."""
    pieces = splits(table, columns, at_least=at_least, **rows)
    if not pieces:
        raise InvalidRequest("the range of rows is empty: 'row_start' is not before 'row_stop'")
    return pieces


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
