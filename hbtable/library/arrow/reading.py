"""Record batches made of the pages of a scan.

Wide: a record a row, with a column for each one that was asked for, decoded as its type. Long: a record a cell, with
its row, column, timestamp and value, in the order of a scan.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Final, final

import pyarrow as pa

from hbtable.client.columns import Key, full
from hbtable.client.given import bytes_of
from hbtable.errors import WrongType, WrongValue
from hbtable.library.arrow.decoding import Decode, Undecodable, decoder
from hbtable.model.cell import Row
from hbtable.model.read import ScanPage, ScanRequest
from hbtable.model.values import shown
from hbtable.switches import switches

CELLS_AT_ONCE: Final = 10_000
"""A longer row comes in pieces in the long form."""


@final
class WideForm:
    """`columns`: their types by name."""

    def __init__(self, columns: Mapping[Key, pa.DataType | None], row: str) -> None:
        self.by_column: list[tuple[bytes, bytes]] = []
        self._decoders: list[Decode] = []
        self._names: list[bytes] = []
        fields: list[pa.Field] = []
        for column, type in columns.items():
            name = b":".join(full(column))
            self.by_column.append(full(column))
            if name in self._names:
                raise WrongValue(f"column {shown(name)} is asked for twice")
            shown_name = name.decode(errors="backslashreplace")
            asked = pa.binary() if type is None else type
            self._names.append(name)
            self._decoders.append(decoder(shown_name, asked))
            fields.append(pa.field(shown_name, asked))
        _check_row_name(row, [field.name for field in fields])
        self.schema = pa.schema([pa.field(row, pa.binary(), False), *fields])
        self._numbers = {name: number for number, name in enumerate(self._names)}

    def batches(self, page: ScanPage) -> Iterator[pa.RecordBatch]:
        """WrongValue names row, column and value of what cannot be decoded."""
        if page.columns is not None:
            pieces = page.columns.pieces
            if pieces:
                columns = [list(chain(*parts)) for parts in zip(*(piece.columns for piece in pieces), strict=True)]
                yield self._batch(list(chain.from_iterable(piece.rows for piece in pieces)), columns)
        elif page.rows:
            yield self._batch([row for row, _ in page.rows], self._by_column(page.rows))

    def _by_column(self, rows: list[Row]) -> list[list[bytes | None]]:
        values: list[list[bytes | None]] = [[None] * len(rows) for _ in self._names]
        numbers = self._numbers
        for at, (_, cells) in enumerate(rows):
            for column, _, value in cells:
                values[numbers[column]][at] = value
        return values

    def _batch(self, rows: list[bytes], columns: list[list[bytes | None]]) -> pa.RecordBatch:
        arrays = [pa.array(rows, pa.binary())]
        for name, decode, values in zip(self._names, self._decoders, columns, strict=True):
            try:
                arrays.append(decode(values))
            except Undecodable as error:
                row, value = rows[error.at], values[error.at]
                raise WrongValue(
                    f"row {shown(row)} has the value {shown(value)} in column {shown(name)}: {error.why}"
                ) from None
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


@final
class LongForm:
    """All cells, or those of the columns that the scan asks for."""

    def __init__(self, row: str) -> None:
        _check_row_name(row, ["column", "timestamp", "value"])
        self.schema = pa.schema(
            [
                pa.field(row, pa.binary(), False),
                pa.field("column", pa.binary(), False),
                pa.field("timestamp", pa.int64(), False),
                pa.field("value", pa.binary(), False),
            ]
        )

    def batches(self, page: ScanPage) -> Iterator[pa.RecordBatch]:
        if page.rows:
            records = [(row, column, time, value) for row, cells in page.rows for column, time, value in cells]
            types = [field.type for field in self.schema]
            arrays = [pa.array(values, type) for values, type in zip(zip(*records, strict=True), types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _check_row_name(row: object, others: Iterable[str]) -> None:
    if not isinstance(row, str):
        raise WrongType(f"'row' {shown(row)} is {type(row).__name__}, and has to be text: it names the column of rows")
    bytes_of("'row'", row)
    if row in others:
        raise WrongValue(f"'row' {row!r} is the name of another column: give the column of rows another one")


@switches
def batch_reader(
    form: WideForm | LongForm, scan_page: Callable[[ScanRequest], ScanPage], request: ScanRequest
) -> pa.RecordBatchReader:
    """A page is a batch; nothing is read before the first one is asked for."""

    @switches
    def batches() -> Iterator[pa.RecordBatch]:
        at = request
        while True:
            page = scan_page(at)
            yield from form.batches(page)
            if page.next is None:
                return
            at = replace(request, position=page.next)

    return pa.RecordBatchReader.from_batches(form.schema, batches())
