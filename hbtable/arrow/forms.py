"""Record batches made of the pages of a scan.

Wide: a record a row, with a column for each one that was asked for, decoded as its type. Long: a record a cell, with
its row, column, timestamp and value, in the order of a scan.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple, final

import pyarrow as pa

from hbtable.arrow.decoding import Decode, Undecodable, decoder
from hbtable.arrow.field_names import field_name, field_of
from hbtable.client.columns import Key, full
from hbtable.client.given import bytes_of
from hbtable.errors import WrongType, WrongValue
from hbtable.model.cell import Row
from hbtable.model.read import ScanPage
from hbtable.model.values import shown
from hbtable.switches import switches_if_given

CELLS_AT_ONCE: Final = 10_000
"""A longer row comes in pieces in the long form."""
_ROWS_BETWEEN_PAUSES: Final = 128
_CELLS_BETWEEN_PAUSES: Final = 512
_BATCH_ROWS: Final = 16384
_BATCH_BYTES: Final = 1 << 20
"""A batch ends when it has more of values: pyarrow copies them with Python's lock in its hands, 3 ms for a megabyte on
a busy machine, and nobody else is served meanwhile."""
TYPES: Final[Mapping[str, pa.DataType]] = {
    **{str(type): type for type in (
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
        pa.float32(), pa.float64(), pa.bool_(),
    )},
    "text": pa.string(),
    "bytes": pa.binary(),
}  # fmt: skip
"""By the name that a command line has for them."""

Pause = Callable[[], object]


def _goes_on() -> None:
    """For whoever keeps nobody waiting."""


class WideColumn(NamedTuple):
    """A column that is asked for, and the type that it is decoded as."""

    family: bytes
    qualifier: bytes
    type: pa.DataType
    field_name: str

    @property
    def name(self) -> bytes:
        return self.family + b":" + self.qualifier


def wide_columns(given: Mapping[Key, pa.DataType | None]) -> list[WideColumn]:
    """InvalidRequest."""
    columns: list[WideColumn] = []
    for column, type in given.items():
        family, qualifier = full(column)
        name = family + b":" + qualifier
        if any(name == one.name for one in columns):
            raise WrongValue(f"column {shown(name)} is asked for twice")
        asked = pa.binary() if type is None else type
        columns.append(WideColumn(family, qualifier, asked, field_name(name)))
    return columns


@final
class WideForm:
    """A record a row."""

    def __init__(self, columns: Sequence[WideColumn], row: str = "row") -> None:
        """`row`: the field of rows. InvalidRequest."""
        self.columns = columns
        self._decoders: list[Decode] = [decoder(one.field_name, one.type) for one in columns]
        fields = [field_of(one.field_name, one.name, one.type) for one in columns]
        _check_row_name(row, [field.name for field in fields])
        self.schema = pa.schema([pa.field(row, pa.binary(), False), *fields])
        self._numbers = {one.name: number for number, one in enumerate(columns)}

    @switches_if_given
    def batches(self, page: ScanPage, pause: Pause = _goes_on) -> Iterator[pa.RecordBatch]:
        """WrongValue names row, column and value of what cannot be decoded. A page by column may have more columns
        behind those of the form."""
        if page.columns is not None:
            pieces = page.columns.pieces
            if not pieces:
                return
            rows = list(chain.from_iterable(piece.rows for piece in pieces))
            values: list[list[bytes | None]] = []
            for parts in zip(*(piece.columns[: len(self.columns)] for piece in pieces), strict=True):
                values.append(list(chain(*parts)))
                pause()
            sizes = page.columns.size_bytes
        elif page.rows:
            rows, values = [row for row, _ in page.rows], self._by_column(page.rows, pause)
            sizes = None
        else:
            return
        small = sizes is not None and sizes <= _BATCH_BYTES

        def size(at: int) -> int:
            return 0 if small else sum(len(column[at] or b"") for column in values)

        for first, end in _parts(len(rows), size, pause):
            yield self.batch(rows[first:end], (column[first:end] for column in values), pause)

    @switches_if_given
    def _by_column(self, rows: list[Row], pause: Pause) -> list[list[bytes | None]]:
        values: list[list[bytes | None]] = [[None] * len(rows) for _ in self.columns]
        numbers = self._numbers
        for at, (_, cells) in enumerate(rows):
            for column, _, value in cells:
                if (number := numbers.get(column)) is not None:
                    values[number][at] = value
            if not at % _ROWS_BETWEEN_PAUSES:
                pause()
        return values

    @switches_if_given
    def batch(
        self, rows: list[bytes], columns: Iterable[Sequence[bytes | None]], pause: Pause = _goes_on
    ) -> pa.RecordBatch:
        """Of the values of each column by row. WrongValue."""
        arrays = [pa.array(rows, pa.binary())]
        for number, values in enumerate(columns):
            try:
                arrays.append(self._decoders[number](values))
            except Undecodable as error:
                raise self.undecodable(number, rows[error.at], values[error.at], error) from None
            pause()
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def undecodable(self, number: int, row: bytes, value: bytes | None, error: Undecodable) -> WrongValue:
        """`value`: of the column with this number."""
        name = self.columns[number].name
        return WrongValue(f"row {shown(row)} has the value {shown(value)} in column {shown(name)}: {error.why}")


@final
class LongForm:
    """All cells, or those of the columns that the scan asks for."""

    def __init__(self, row: str = "row") -> None:
        _check_row_name(row, ["column", "timestamp", "value"])
        self.schema = pa.schema(
            [
                pa.field(row, pa.binary(), False),
                pa.field("column", pa.binary(), False),
                pa.field("timestamp", pa.int64(), False),
                pa.field("value", pa.binary(), False),
            ]
        )

    @switches_if_given
    def batches(self, page: ScanPage, pause: Pause = _goes_on) -> Iterator[pa.RecordBatch]:
        if not page.rows:
            return
        rows: list[bytes] = []
        columns: list[bytes] = []
        times: list[int] = []
        values: list[bytes] = []
        size = 0
        for row, cells in page.rows:
            for column, time, value in cells:
                rows.append(row)
                columns.append(column)
                times.append(time)
                values.append(value)
                size += len(value)
                if size > _BATCH_BYTES or len(rows) >= _BATCH_ROWS:
                    yield self._batch(rows, columns, times, values, pause)
                    rows, columns, times, values, size = [], [], [], [], 0
                elif not len(rows) % _CELLS_BETWEEN_PAUSES:
                    pause()
        if rows:
            yield self._batch(rows, columns, times, values, pause)

    @switches_if_given
    def _batch(
        self, rows: list[bytes], columns: list[bytes], times: list[int], values: list[bytes], pause: Pause
    ) -> pa.RecordBatch:
        arrays = []
        for held in (rows, columns, times, values):
            arrays.append(pa.array(held, pa.int64() if held is times else pa.binary()))
            pause()
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


@switches_if_given
def _parts(count: int, size: Callable[[int], int], pause: Pause) -> Iterator[tuple[int, int]]:
    """The first row of each batch, and the one behind its last, where `size` says how many bytes a row has."""
    first = size_bytes = 0
    for at in range(count):
        size_bytes += size(at)
        if size_bytes > _BATCH_BYTES or at - first + 1 >= _BATCH_ROWS:
            yield first, at + 1
            first, size_bytes = at + 1, 0
        if not at % _ROWS_BETWEEN_PAUSES:
            pause()
    if first < count:
        yield first, count


def _check_row_name(row: object, others: Iterable[str]) -> None:
    if not isinstance(row, str):
        raise WrongType(f"'row' {shown(row)} is {type(row).__name__}, and has to be text: it names the column of rows")
    bytes_of("'row'", row)
    if row in others:
        raise WrongValue(f"'row' {row!r} is the name of another column: give the column of rows another one")
