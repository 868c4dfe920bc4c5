"""The reader of Table.to_arrow: record batches of the pages of a scan, as they are asked for."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pyarrow as pa

from hbtable.arrow.forms import LongForm, WideForm
from hbtable.arrow.wire import asked, received
from hbtable.client.table_calls import TableCalls
from hbtable.errors import NotSupported
from hbtable.library.server_table import ServerTable
from hbtable.model.read import ScanPosition, ScanRequest
from hbtable.switches import switches

_Page = tuple[Iterable[pa.RecordBatch], ScanPosition | None]


@switches
def batch_reader(form: WideForm | LongForm, table: TableCalls, request: ScanRequest) -> pa.RecordBatchReader:
    """A page is a batch; nothing is read before the first one is asked for."""
    page = _server_pages(form, table) if isinstance(table, ServerTable) else _pages(form, table)

    @switches
    def batches() -> Iterator[pa.RecordBatch]:
        at = request
        while True:
            found, position = page(at)
            yield from found
            if position is None:
                return
            at = replace(request, position=position)

    return pa.RecordBatchReader.from_batches(form.schema, batches())


@switches
def _pages(form: WideForm | LongForm, table: TableCalls) -> Callable[[ScanRequest], _Page]:
    """Made here of the rows."""

    @switches
    def page(request: ScanRequest) -> _Page:
        found = table.scan_page(request)
        return form.batches(found), found.next

    return page


@switches
def _server_pages(form: WideForm | LongForm, table: ServerTable) -> Callable[[ScanRequest], _Page]:
    """Made by the server, or here of its rows, if it cannot."""
    columns = None
    if isinstance(form, WideForm):
        columns = [(one.family, one.qualifier, asked(one)) for one in form.columns]
    of_rows = _pages(form, table)
    cannot = False

    @switches
    def page(request: ScanRequest) -> _Page:
        nonlocal cannot
        if not cannot:
            try:
                data, position = table.arrow_page(request, columns)
                return received(form, data), position
            except NotSupported:
                cannot = True
        return of_rows(request)

    return page
