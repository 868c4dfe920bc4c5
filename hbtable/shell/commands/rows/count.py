"""count 't' [, INTERVAL => 1000, CACHE => 10, options of scan]: how many rows there are. Only keys travel."""

import json
from base64 import b64decode
from collections.abc import Iterator
from typing import Final

from hbtable.errors import NotSupported
from hbtable.hbase.admin.structs import AdminAggregate, AdminAggregatedPage, AdminAggregation, AdminScan
from hbtable.shell.answers.text import binary
from hbtable.shell.arguments.names import table_of
from hbtable.shell.arguments.options import ScanOptions, scan_options, whole
from hbtable.shell.context import Context
from hbtable.shell.errors import ArgumentTypeError, ServerError
from hbtable.shell.language.literals import Value, class_of
from hbtable.shell.scanning import PagedScan

_KEYS: Final = b"FirstKeyOnlyFilter() AND KeyOnlyFilter()"
_INTERVAL: Final = 1000
_LEAST_INTERVAL: Final = 1000
"""Of a count by the server, whose page ends at each: with smaller ones pages of a scan are fewer calls."""


def count(context: Context, arguments: list[Value]) -> Value:
    table = table_of(arguments[0])
    given = arguments[1] if len(arguments) > 1 else {}
    if isinstance(given, int) and not isinstance(given, bool):
        given = {b"INTERVAL": given}
    if not isinstance(given, dict):
        raise ArgumentTypeError(f"no implicit conversion of {class_of(given)} into Hash")
    state = context.table(table).state
    if state.startswith("disabl"):
        raise _disabled(table)
    interval = max(whole(given.get(b"INTERVAL", _INTERVAL), "INTERVAL"), 1)
    options = scan_options({b"CACHE_BLOCKS": False, **given})
    options.page_rows = max(options.page_rows, 1000)
    if options.read.filter is None:
        options.read = options.read._replace(filter=_KEYS)
    rows = 0
    for rows, row in _counted(context, table, options, interval):
        if not rows % interval:
            context.out.say(f"Current count: {rows}, row: {binary(row)}")
    context.out.end(rows)
    return rows


def _counted(context: Context, table: bytes, options: ScanOptions, interval: int) -> Iterator[tuple[int, bytes]]:
    """The number of rows so far, and the last of them: at each multiple of the interval, and at the end."""
    found = PagedScan(context, table, options)
    by_rows = options.batch or options.reversed or options.read.raw or options.limit > 0
    if not by_rows and interval >= _LEAST_INTERVAL:
        rows = 0
        try:
            for rows, row in _counted_by_server(context, table, options, found.bounds(), interval):
                yield rows, row
            return
        except ServerError as error:
            if rows or NotSupported.__name__ not in error.classes:  # of an older server
                raise
    for row, _ in found:
        yield found.rows, row


def _counted_by_server(
    context: Context, table: bytes, options: ScanOptions, bounds: tuple[bytes, bytes] | None, interval: int
) -> Iterator[tuple[int, bytes]]:
    """A page ends with the row at which the count is told, so that the server has no other row to send."""
    rows, position = 0, None
    read = options.read
    if read.filter == _KEYS and read.columns and all(one.qualifier is not None for one in read.columns):
        read = read._replace(filter=None)  # no cell travels, and columns without a filter are read by the block
    while bounds is not None:
        scan = AdminScan(read, *bounds, position=position)
        asked = AdminAggregation([AdminAggregate("rows"), AdminAggregate("last")], max_rows=interval - rows % interval)
        page = context.on_table(table, "adminAggregate", scan, asked)
        if not isinstance(page, AdminAggregatedPage):
            raise ServerError("", f"the server answered an aggregate with {type(page).__name__}")
        for group in page.groups:
            count, last = json.loads(group.states)
            rows += count
            if last is not None:
                yield rows, b64decode(last)
        position = page.position
        if position is None:
            return


def _disabled(table: bytes) -> Exception:
    from hbtable.shell.context import show_name

    error = ServerError("org.apache.hadoop.hbase.TableNotEnabledException", f"{show_name(table)} is disabled.")
    error.about = ("disabled table", table)
    return error
