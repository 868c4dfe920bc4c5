"""A Parquet file with a record a row: the row, and columns of which each has a type, as Table.to_arrow gives them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import final

import pyarrow as pa

from hbtable.arrow.forms import TYPES, WideForm, wide_columns
from hbtable.arrow.wire import asked, received
from hbtable.errors import HbtableError
from hbtable.hbase.admin.structs import AdminArrowColumn, AdminArrowPage, AdminPage
from hbtable.model.read import ScanPage
from hbtable.model.values import shown
from hbtable.shell.errors import ArgumentError, ShellError


@final
class TypedRows:
    """Columns by `family:qualifier`, with names of their types. ArgumentError."""

    def __init__(self, types: Mapping[bytes, str]) -> None:
        for name, type in types.items():
            if b":" not in name or type not in TYPES:
                raise ArgumentError(
                    f"column {shown(name)} is to be written as {type or 'nothing'}: columns are family:qualifier, and "
                    f"written as one of {', '.join(TYPES)}"
                )
        try:
            self._form = WideForm(wide_columns({name: TYPES[type] for name, type in types.items()}))
        except HbtableError as error:
            raise ArgumentError(str(error)) from None
        self.schema = self._form.schema
        twice = next((name for name in self.schema.names if self.schema.names.count(name) > 1), None)
        if twice is not None:
            raise ArgumentError(
                f"two of the columns would be fields of one name, {twice}: export them one after the other"
            )
        self.columns = [AdminArrowColumn(one.family, one.qualifier, asked(one)) for one in self._form.columns]

    def batches(self, pages: Iterable[AdminArrowPage | AdminPage]) -> Iterator[pa.RecordBatch]:
        """Makes a record of each row with any of the columns. ShellError names the value that is not of its type."""
        for page in pages:
            try:
                if isinstance(page, AdminArrowPage):
                    yield from received(self._form, page.batches)
                else:
                    yield from self._form.batches(_of_rows(page))
            except HbtableError as error:
                raise ShellError(str(error)) from None


def _of_rows(page: AdminPage) -> ScanPage:
    return ScanPage([(one.row, [cell[:3] for cell in one.cells or ()]) for one in page.rows], None)
