"""A table as DuckDB reads it: a data set of Arrow's, which is asked for columns and a filter at each scan.

It has a row for each row of the table; where its columns were named, for each one with any of these. A scan reads the
range of rows that can pass the filter. Where the filter needs a column, the others are read only if they are asked for;
else all of them are, or whole families, for a row may be there by any of them, and sent are those that are asked for.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.dataset as ds

from hbtable.arrow.field_names import field_name
from hbtable.arrow.forms import WideColumn, WideForm
from hbtable.client.table_calls import TableCalls
from hbtable.errors import HbtableError
from hbtable.library.arrow_reading import batch_reader
from hbtable.library.sql.pushdown import pushdown
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanRequest, columns_of

ROW: Final = "row"
_BATCH_ROWS: Final = 10_000


@final
class TableRelation(ds.Dataset):
    """`columns`: at least one. `families`: all that the table has, if rows without any of the columns are to be there.
    `error`: what ended a scan, of which DuckDB tells the text alone."""

    def __init__(self, table: TableCalls, columns: Sequence[WideColumn], families: Sequence[bytes] = ()) -> None:
        self._table = table
        self._columns = columns
        self._families = families
        self._schema = WideForm(columns, ROW).schema
        self.error: HbtableError | None = None

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def scanner(self, columns: Iterable[str] | None = None, filter: Any = None, **_: object) -> ds.Scanner:
        """Called by DuckDB."""
        asked = self._schema.names if columns is None else list(columns)
        found = pushdown(filter, self._schema)
        every = range(1, len(self._columns) + 1)
        read = {number for number in every if self._schema.names[number] in asked}
        read |= set(every) if found.fields is None else found.fields - {0}
        sent = [self._columns[number - 1] for number in sorted(read)]
        needs_column = bool(found.present - {0})
        others = [] if needs_column else [one for one in self._columns if one not in sent]
        form = WideForm(sent, ROW)
        if found.passes_nothing:
            reader = pa.RecordBatchReader.from_batches(form.schema, [])
        else:
            named = [(one.family, one.qualifier) for one in (*sent, *others)]
            whole = () if needs_column else self._families
            request = ScanRequest(
                RowRange(found.start, found.stop or b""),
                ReadSpec(dict.fromkeys(whole) if whole else columns_of(b":".join(one) for one in named)),
                max_rows=_BATCH_ROWS,
                by_column=() if whole else tuple(named),
            )
            reader = pa.RecordBatchReader.from_batches(form.schema, self._kept(form, request))
        return ds.Scanner.from_batches(reader, columns=asked, filter=filter)

    def _kept(self, form: WideForm, request: ScanRequest) -> Iterable[pa.RecordBatch]:
        try:
            yield from batch_reader(form, self._table, request)
        except HbtableError as error:
            self.error = error
            raise


def wide_column(name: bytes, type: pa.DataType) -> WideColumn:
    family, _, qualifier = name.partition(b":")
    return WideColumn(family, qualifier, type, field_name(name))
