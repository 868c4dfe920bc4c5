"""delete one version of a cell; deleteall a row, a family, a column, or all rows that begin with a prefix."""

from typing import Final

from hbtable.hbase.admin.structs import AdminOperation, AdminRead
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_FAMILY_VERSION, DELETE_VERSION
from hbtable.model.ranges import prefix_stop
from hbtable.shell.arguments import columns
from hbtable.shell.arguments.names import table_of
from hbtable.shell.arguments.options import ScanOptions, Showing
from hbtable.shell.commands.rows.put import timed
from hbtable.shell.context import Context, row_of, text_of
from hbtable.shell.language.literals import Value
from hbtable.shell.scanning import PagedScan

_KEYS: Final = b"FirstKeyOnlyFilter() AND KeyOnlyFilter()"


def delete(context: Context, arguments: list[Value]) -> Value:
    name, row = table_of(arguments[0]), arguments[1]
    column = columns.parse(arguments[2])
    timestamp, _ = timed(arguments[3:], "delete")
    if column.qualifier is None and timestamp >= 0:
        _apply(context, name, row, [AdminOperation(DELETE_FAMILY_VERSION, column.family, b"", timestamp)])
        return None
    if column.qualifier is None:
        context.table(name)
        context.out.note(
            "delete takes one cell, family:qualifier; for the whole family use deleteall: nothing was done"
        )
        return None
    _apply(context, name, row, [AdminOperation(DELETE_VERSION, column.family, column.qualifier, timestamp)])
    return None


def deleteall(context: Context, arguments: list[Value]) -> Value:
    table, row, *rest = arguments
    name = table_of(table)
    column = rest.pop(0) if rest and not isinstance(rest[0], dict) else None
    timestamp, _ = timed(rest, "deleteall")
    if isinstance(row, dict) and not column:
        # HBase reads the rows, and deletes one by one.
        prefix = _prefix(row)
        context.on_table(name, "adminDeleteRange", prefix, prefix_stop(prefix), timestamp)
        return None
    _apply(context, name, row, _operations(context, name, column, timestamp))
    return None


def _families(context: Context, table: bytes) -> list[bytes]:
    """One without a name stands for all, where a user may not see which there are."""
    return [family.name for family in context.table(table).families or ()] or [b""]


def _apply(context: Context, table: bytes, row: Value, operations: list[AdminOperation]) -> None:
    """To a row, or to all rows of {ROWPREFIXFILTER => ...}."""
    if not isinstance(row, dict):
        context.on_table(table, "adminMutate", row_of(row), operations, 0)
        return
    prefix = _prefix(row)
    options = ScanOptions(AdminRead(filter=_KEYS), Showing(), prefix, prefix_stop(prefix))
    for found, _cells in PagedScan(context, table, options):
        context.on_table(table, "adminMutate", found, operations, 0)


def _prefix(row: dict[bytes, Value]) -> bytes:
    return text_of(row.get(b"ROWPREFIXFILTER"), "ROWPREFIXFILTER")


def _operations(context: Context, table: bytes, column: Value, timestamp: int) -> list[AdminOperation]:
    if not column:
        return [AdminOperation(DELETE_FAMILY, name, b"", timestamp) for name in _families(context, table)]
    parsed = columns.parse(column)
    if parsed.qualifier is None:
        return [AdminOperation(DELETE_FAMILY, parsed.family, b"", timestamp)]
    return [AdminOperation(DELETE_COLUMN, parsed.family, parsed.qualifier, timestamp)]
