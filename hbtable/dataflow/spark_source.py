"""The format "hbtable" of PySpark: Spark pickles these classes by name and runs them in Python workers.

How Arrow's types and Spark's are made of each other is not told by PySpark's public modules, and changed in 4.3.
"""

import base64
import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import datasource

from hbtable.dataflow.reading import read_arrow
from hbtable.dataflow.splits import Split
from hbtable.dataflow.writing import ArrowWrite, write_arrow
from hbtable.errors import InvalidRequest, WrongType
from hbtable.runtime.repeated import wall_millis
from hbtable.switches import switches

FORMAT: Final = "hbtable"
_OPTION: Final = "job"


@dataclass(frozen=True, slots=True)
class SourceRead:
    """A frame's splits; at least one."""

    splits: tuple[Split, ...]
    row: str


def options_of(job: SourceRead | ArrowWrite) -> dict[str, str]:
    """Options are text."""
    return {_OPTION: base64.b64encode(pickle.dumps(job)).decode()}


def spark_schema(schema: pa.Schema) -> Any:
    """A StructType. WrongType."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    fields = []
    for field in schema:
        try:
            type = from_arrow_type(field.type, prefer_timestamp_ntz=True)
        except PySparkException:
            raise WrongType(
                f"column {field.name} is to be read as {field.type}, which Spark does not have: give it another type"
            ) from None
        fields.append(StructField(field.name, type, field.nullable))
    return StructType(fields)


class TableSource(datasource.DataSource):
    """Made by Spark for each read and write, of the options that to_spark() and spark_target() give."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> Any:
        raise InvalidRequest("a table is read by hbtable.dataflow.to_spark(), which knows the columns' types")

    def reader(self, schema: Any) -> "_Reader":
        return _Reader(self._job(SourceRead, "read by hbtable.dataflow.to_spark()"), schema)

    def writer(self, schema: Any, overwrite: bool) -> "_Writer":
        return _Writer(self._write(overwrite, '.mode("append")'))

    def streamWriter(self, schema: Any, overwrite: bool) -> "_StreamWriter":  # noqa: N802  # Spark's name
        return _StreamWriter(self._write(overwrite, '.outputMode("append")'))

    def _write(self, overwrite: bool, instead: str) -> ArrowWrite:
        job: ArrowWrite = self._job(ArrowWrite, "written with the options of hbtable.dataflow.spark_target()")
        if overwrite:
            raise InvalidRequest(
                f"nothing empties table {job.target.table.decode(errors='replace')} before Spark writes to it: "
                f"say {instead}, and truncate it yourself if you want that"
            )
        return job if job.timestamp is not None else replace(job, timestamp=wall_millis())

    def _job(self, kind: type, how: str) -> Any:
        given = self.options.get(_OPTION)
        job = None if given is None else pickle.loads(base64.b64decode(given))  # noqa: S301  # who sets options may run programs
        if not isinstance(job, kind):
            raise InvalidRequest(f"a table is {how}")
        return job


# ---------------------------------------------------------------------------------------------- reading


class _Reader(datasource.DataSourceReader):
    """It takes no conditions (pushFilters): Spark 4.3 keeps the reader of one query for the next one of the same frame,
    where that has no condition which could be pushed, and so loses rows."""

    def __init__(self, job: SourceRead, schema: Any) -> None:
        self._splits = job.splits
        self._row = job.row
        self._schema = schema

    def partitions(self) -> Sequence[datasource.InputPartition]:
        return [datasource.InputPartition(split) for split in self._splits]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        from pyspark.sql.pandas.types import to_arrow_schema

        schema = to_arrow_schema(self._schema, timezone="UTC")
        for batch in read_arrow(partition.value, row=self._row):
            yield pa.RecordBatch.from_arrays(
                [array.cast(field.type) for array, field in zip(batch.columns, schema, strict=True)], schema=schema
            )


# ---------------------------------------------------------------------------------------------- writing


class Written(datasource.WriterCommitMessage):
    """Nothing is left to commit: a task's rows are durable when it ends."""


@switches
def _written(job: ArrowWrite, batches: Iterable[pa.RecordBatch]) -> Written:
    write_arrow(job, batches)
    return Written()


class _Writer(datasource.DataSourceArrowWriter):
    def __init__(self, job: ArrowWrite) -> None:
        self._job = job

    @switches
    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return _written(self._job, iterator)


class _StreamWriter(datasource.DataSourceStreamArrowWriter):
    def __init__(self, job: ArrowWrite) -> None:
        self._job = job

    @switches
    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return _written(self._job, iterator)
