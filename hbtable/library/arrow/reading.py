"""Record batches made of the pages of a scan.

Wide: a record a row, with a column for each one that was asked for, decoded as its type. Long: a record a cell, with
its row, column, timestamp and value, in the order of a scan.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
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
        self._decoders: list[Decode] = []
        self._names: list[bytes] = []
        fields: list[pa.Field] = []
        for column, type in columns.items():
            name = b":".join(full(column))
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

    def batch(self, rows: list[Row]) -> pa.RecordBatch:
        """WrongValue names row, column and value of what cannot be decoded."""
        values: list[list[bytes | None]] = [[None] * len(rows) for _ in self._names]
        numbers = self._numbers
        for at, (_, cells) in enumerate(rows):
            for column, _, value in cells:
                values[numbers[column]][at] = value
        arrays = [pa.array([row for row, _ in rows], pa.binary())]
        for name, decode, of_column in zip(self._names, self._decoders, values, strict=True):
            try:
                arrays.append(decode(of_column))
            except Undecodable as error:
                found, row = of_column[error.at], rows[error.at][0]
                raise WrongValue(
                    f"row {shown(row)} has the value {shown(found)} in column {shown(name)}: {error.why}"
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

    def batch(self, rows: list[Row]) -> pa.RecordBatch:
        records = [(row, column, timestamp, value) for row, cells in rows for column, timestamp, value in cells]
        arrays = [
            pa.array(values, field.type) for values, field in zip(zip(*records, strict=True), self.schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


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
            if page.rows:
                yield form.batch(page.rows)
            if page.next is None:
                return
            at = replace(request, position=page.next)

    return pa.RecordBatchReader.from_batches(form.schema, batches())
