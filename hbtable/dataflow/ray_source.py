"""A table as Ray Data's Datasource and Datasink, which Ray pickles and runs in its workers."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from ray.data import Datasink, Datasource, ReadTask
from ray.data.block import BlockAccessor, BlockMetadata

from hbtable.dataflow.reading import read_arrow
from hbtable.dataflow.splits import Split
from hbtable.dataflow.writing import ArrowWrite, write_arrow
from hbtable.switches import switches


class TableDatasource(Datasource):
    """The splits of a table, each read by a task."""

    def __init__(self, splits: list[Split], row: str, schema: pa.Schema) -> None:
        super().__init__()
        self._splits = splits
        self._row = row
        self._schema = schema

    def estimate_inmemory_data_size(self) -> None:
        """Nobody knows."""

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None
    ) -> list[ReadTask]:
        """A task a split, however many Ray asks for."""
        unknown = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [
            ReadTask(partial(_blocks, split, self._row, self._schema), unknown, self._schema, per_task_row_limit)
            for split in self._splits
        ]


@switches
def _blocks(split: Split, row: str, schema: pa.Schema) -> Iterator[pa.Table]:
    yield pa.Table.from_batches([], schema)  # a split without rows has columns too
    for batch in read_arrow(split, row=row):
        yield pa.Table.from_batches([batch])


class TableDatasink(Datasink[None]):
    """A table that tasks write to."""

    def __init__(self, job: ArrowWrite) -> None:
        self._job = job

    @switches
    def write(self, blocks: Iterable[Any], ctx: Any) -> None:
        """Blocks that Ray made of its own accord are frames of pandas."""
        write_arrow(self._job, (BlockAccessor.for_block(block).to_arrow() for block in blocks))
