"""incr and get_counter: 8-byte counters; append: bytes behind what is there."""

import struct

from hbtable.hbase.admin.structs import AdminColumn, AdminRead, AdminRow
from hbtable.shell.answers.text import binary
from hbtable.shell.arguments import columns
from hbtable.shell.arguments.names import table_of
from hbtable.shell.arguments.options import whole
from hbtable.shell.context import Context, row_of, table_error
from hbtable.shell.errors import ArgumentTypeError, ServerError
from hbtable.shell.language.literals import Value, inspect


def incr(context: Context, arguments: list[Value]) -> Value:
    table, row, column, *rest = arguments
    amount: Value = 1
    if rest and not isinstance(rest[0], dict) and rest[0] is not None:
        amount = rest[0]
    if not isinstance(amount, (int, float)) or isinstance(amount, bool):
        raise ArgumentTypeError(f"the amount of incr is a number without quotes, not {inspect(amount)}")
    amount = whole(amount, "the amount of incr")
    name, key = table_of(table), row_of(row)
    family, qualifier = columns.one(column)
    try:
        value = context.server.hbase("atomicIncrement", name, key, family + b":" + qualifier, amount)
    except ServerError as error:
        raise table_error(error, name) from None
    context.out.row((f"COUNTER VALUE = {value}",), {"counter": value})
    return None


def get_counter(context: Context, arguments: list[Value]) -> Value:
    table, row, column = arguments
    family, qualifier = columns.one(column)
    read = AdminRead([AdminColumn(family, qualifier)])
    rows = context.on_table(table_of(table), "adminGet", row_of(row), read)
    found = rows[0] if isinstance(rows, list) and rows else None
    if not isinstance(found, AdminRow) or not found.cells:
        context.out.row(("No counter found at specified coordinates",), {"counter": None})
        return None
    value = found.cells[0].value
    if len(value) != 8:
        raise ServerError("java.lang.IllegalArgumentException", f"Wrong length: {len(value)}, expected 8")
    number = struct.unpack(">q", value)[0]
    context.out.row((f"COUNTER VALUE = {number}",), {"counter": number})
    return None


def append(context: Context, arguments: list[Value]) -> Value:
    table, row, column, value, *_ = arguments
    name = table_of(table)
    family, qualifier = columns.one(column)
    suffix = row_of(value, "a value")
    try:
        cells = context.server.append(name, row_of(row), family + b":" + qualifier, suffix)
    except ServerError as error:
        raise table_error(error, name) from None
    if cells is not None:
        context.out.row((f"CURRENT VALUE = {binary(cells)}",), {"value": cells})
    return None
