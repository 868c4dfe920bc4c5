"""A table as Apache Beam's transforms, whose functions Beam pickles and runs in its workers."""

import pickle
from collections.abc import Iterator
from typing import Any

import apache_beam as beam

from hbtable.dataflow.reading import read, read_arrow
from hbtable.dataflow.splits import Split
from hbtable.dataflow.writing import BYTES_AT_ONCE, ROWS_AT_ONCE, Put, WriteTarget, size_of, write
from hbtable.errors import WrongType
from hbtable.model.values import shown
from hbtable.switches import switches


class ReadTable(beam.PTransform):
    """The source: a bundle a split."""

    def __init__(self, splits: list[Split], row: str) -> None:
        super().__init__()
        self._splits = [pickle.dumps(split) for split in splits]
        self._row = row

    def expand(self, begin: Any) -> Any:
        """Beam shares out what it creates, here the splits. They are bytes, which it does not take for a schema."""
        return begin | beam.Create(self._splits) | beam.FlatMap(_elements, self._row)


@switches
def _elements(pickled: bytes, row: str) -> Iterator[Any]:
    split: Split = pickle.loads(pickled)  # noqa: S301  # of beam_source()
    if split.types is None:
        for rows in read(split):
            yield from rows
    else:
        for batch in read_arrow(split, row=row):
            yield from batch.to_pylist()


class WriteTable(beam.PTransform):
    """The sink."""

    def __init__(self, target: WriteTarget, timestamp: int) -> None:
        super().__init__()
        self._write = _Write(target, timestamp)

    def expand(self, rows: Any) -> Any:
        return rows | beam.ParDo(self._write)


class _Write(beam.DoFn):
    """Holds some rows of a bundle; before Beam takes this for done, all are written."""

    def __init__(self, target: WriteTarget, timestamp: int) -> None:
        self._target = target
        self._timestamp = timestamp
        self._held: list[Put] = []
        self._bytes = 0

    def start_bundle(self) -> None:
        """The one before may have failed in its midst."""
        self._held, self._bytes = [], 0

    @switches
    def process(self, element: Put) -> None:
        try:
            _, data = element
            self._bytes += size_of(data)
        except (TypeError, ValueError, AttributeError):
            raise WrongType(f"the element {shown(element)} has to be (row, {{column: value}})") from None
        self._held.append(element)
        if len(self._held) == ROWS_AT_ONCE or self._bytes >= BYTES_AT_ONCE:
            self.finish_bundle()

    @switches
    def finish_bundle(self) -> None:
        if self._held:
            write(self._target, [self._held], self._timestamp)
        self._held, self._bytes = [], 0
