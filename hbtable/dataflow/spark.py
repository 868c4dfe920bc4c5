"""PySpark's frames of a table, and its writes and streams into one (`pip install 'hbtable[spark]'`).

Here is what a driver calls; spark_source.py is what Spark runs in its workers, which need hbtable too.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack
from weakref import WeakSet

from hbtable.client.columns import K, Key
from hbtable.dataflow.frames import needed, typed_splits
from hbtable.dataflow.splits import RowsOfSplits
from hbtable.dataflow.writing import arrow_write
from hbtable.errors import InvalidRequest, WrongType
from hbtable.library.table import Table
from hbtable.model.values import shown
from hbtable.switches import switches

if TYPE_CHECKING:
    import pyspark.sql
    from pyarrow import DataType

_registered: "WeakSet[Any]" = WeakSet()
"""Sessions that know the format "hbtable"."""


@switches
def to_spark(
    spark: "pyspark.sql.SparkSession",
    table: Table,
    columns: "Mapping[K, DataType | None]",
    *,
    at_least: int = 1,
    row: str = "row",
    **rows: Unpack[RowsOfSplits],
) -> "pyspark.sql.DataFrame":
    """The table as a DataFrame of PySpark 4.3 or later: a task a split. `columns` has a type for each, and is what the
    server reads; `at_least` and `rows` (row_start, row_stop, row_prefix, filter, timestamp) are those of splits(). All
    tasks read as of one time, that of this call, whenever and how often they run.

    Spark's own conditions are applied to what was read, and leave nothing out at the server. WrongType: a type that
    Spark does not have, as of whole numbers without a sign.
    """
    source = _source(spark)
    pieces, schema = typed_splits(table, columns, row, at_least, rows)
    given = source.options_of(source.SourceRead(tuple(pieces), row))
    reader = spark.read.format(source.FORMAT).schema(source.spark_schema(schema)).options(**given)
    frame: pyspark.sql.DataFrame = reader.load()
    return frame


@switches
def spark_target(
    spark: "pyspark.sql.SparkSession",
    table: Table,
    row: str = "row",
    columns: "Mapping[str, Key] | Iterable[str] | None" = None,
    *,
    types: "Mapping[K, DataType | None] | None" = None,
    timestamp: int | None = None,
) -> dict[str, str]:
    """Options that name the table to PySpark's writers:

        frame.write.format("hbtable").options(**spark_target(spark, table)).mode("append").save()
        frame.writeStream.format("hbtable").options(**spark_target(spark, table)).option("checkpointLocation", ...)

    `row`, `columns` and `types` are those of Table.write_arrow. All cells of a job have one time, `timestamp`
    (milliseconds since 1970), so a task that is run again writes the same ones. None: that of when the job begins, and
    of a stream that of each of its batches; a batch that is begun again after the query was started anew then has a
    later time, and with a `timestamp` the same. Durable when Spark says that the job or batch is done; what a job
    that failed has written stays. The mode is "append": nothing is emptied first.
    """
    source = _source(spark)
    needed("pyarrow", "spark")
    options: dict[str, str] = source.options_of(arrow_write(table, row, columns, types, timestamp))
    return options


def _source(spark: object) -> Any:
    """The module of what Spark runs; the session knows it then."""
    version: str = needed("pyspark").__version__
    if tuple(map(int, version.split(".")[:2])) < (4, 3):
        raise InvalidRequest(
            f"this needs pyspark 4.3 or later, and {version} is installed: pip install 'hbtable[spark]'"
        )
    source = needed("hbtable.dataflow.spark_source", "spark")
    registry = getattr(spark, "dataSource", None)
    if registry is None:
        raise WrongType(f"'spark' {shown(spark)} is {type(spark).__name__}, and has to be a SparkSession of PySpark")
    if spark not in _registered:
        registry.register(source.TableSource)
        _registered.add(spark)
    return source
