"""scan 't' [, {options}]: rows in order, one line a cell."""

from hbtable.shell.answers.cells import cell_text, column_text, record
from hbtable.shell.arguments.names import table_of
from hbtable.shell.arguments.options import scan_options
from hbtable.shell.context import Context
from hbtable.shell.errors import UnknownMethod
from hbtable.shell.language.literals import Value, class_of, inspect
from hbtable.shell.scanning import PagedScan


def scan(context: Context, arguments: list[Value]) -> Value:
    table = table_of(arguments[0])
    given = arguments[1] if len(arguments) > 1 else {}
    out = context.out
    out.begin(("ROW", "COLUMN+CELL"))
    if not isinstance(given, dict):
        raise UnknownMethod(f"undefined method `any?' for {inspect(given)}:{class_of(given)}")
    options = scan_options(given)
    showing = options.showing
    found = PagedScan(context, table, options)
    for row, cells in found:
        key = showing.formatter(row)
        for cell in cells or ():
            extra = record(row, cell) if out.wants_records else None
            out.row((key, f"column={column_text(cell, showing)}, {cell_text(cell, showing)}"), extra)
    out.end(found.results)
    if options.metrics is not None:
        _show_metrics(context, found.metrics(), options.metrics)
    return None


def _show_metrics(context: Context, counted: dict[str, int], wanted: list[str]) -> None:
    out = context.out
    out.say("")
    out.begin(("METRIC", "VALUE"))
    for name, value in sorted(counted.items()):
        if not wanted or name in wanted:
            out.row((name, str(value)), {"metric": name, "value": value})
