"""count 't' [, INTERVAL => 1000, CACHE => 10, options of scan]: how many rows there are. Only keys travel."""

from typing import Final

from hbtable.shell.answers.text import binary
from hbtable.shell.arguments.names import table_of
from hbtable.shell.arguments.options import scan_options, whole
from hbtable.shell.context import Context
from hbtable.shell.errors import ArgumentTypeError
from hbtable.shell.language.literals import Value, class_of
from hbtable.shell.scanning import PagedScan

_KEYS: Final = b"FirstKeyOnlyFilter() AND KeyOnlyFilter()"
_INTERVAL: Final = 1000


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
    found = PagedScan(context, table, options)
    for row, _ in found:
        if not found.rows % interval:
            context.out.say(f"Current count: {found.rows}, row: {binary(row)}")
    context.out.end(found.rows)
    return found.rows


def _disabled(table: bytes) -> Exception:
    from hbtable.shell.context import show_name
    from hbtable.shell.errors import ServerError

    error = ServerError("org.apache.hadoop.hbase.TableNotEnabledException", f"{show_name(table)} is disabled.")
    error.about = ("disabled table", table)
    return error
