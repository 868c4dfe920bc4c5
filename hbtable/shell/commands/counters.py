"""incr and get_counter: 8-byte counters; append: bytes behind what is there."""

import struct

from hbtable.hbase.admin_structs import AdminColumn, AdminRead, AdminRow
from hbtable.shell import columns
from hbtable.shell.context import Context, table_error, text_of
from hbtable.shell.errors import BadType, ServerError
from hbtable.shell.literals import Value, inspect
from hbtable.shell.text import binary


def incr(context: Context, arguments: list[Value]) -> Value:
    table, row, column, *rest = arguments
    amount: Value = 1
    if rest and not isinstance(rest[0], dict) and rest[0] is not None:
        amount = rest[0]
    if not isinstance(amount, int) or isinstance(amount, bool):
        raise BadType(f"the amount of incr is a number without quotes, not {inspect(amount)}")
    name, key = text_of(table, "a table name"), text_of(row, "a row key")
    family, qualifier = columns.one(column)
    amount = (amount + 2**63) % 2**64 - 2**63
    try:
        value = context.server.hbase("atomicIncrement", name, key, family + b":" + qualifier, amount)
    except ServerError as error:
        raise table_error(error, name) from None
    context.out.say(f"COUNTER VALUE = {value}")
    return None


def get_counter(context: Context, arguments: list[Value]) -> Value:
    table, row, column = arguments
    family, qualifier = columns.one(column)
    read = AdminRead([AdminColumn(family, qualifier)])
    rows = context.on_table(text_of(table, "a table name"), "adminGet", text_of(row, "a row key"), read)
    found = rows[0] if isinstance(rows, list) and rows else None
    if not isinstance(found, AdminRow) or not found.cells:
        context.out.say("No counter found at specified coordinates")
        return None
    value = found.cells[0].value
    if len(value) != 8:
        raise ServerError("java.lang.IllegalArgumentException", f"Wrong length: {len(value)}, expected 8")
    context.out.say(f"COUNTER VALUE = {struct.unpack('>q', value)[0]}")
    return None


def append(context: Context, arguments: list[Value]) -> Value:
    table, row, column, value, *_ = arguments
    name = text_of(table, "a table name")
    family, qualifier = columns.one(column)
    suffix = text_of(value, "a value")
    try:
        cells = context.server.append(name, text_of(row, "a row key"), family + b":" + qualifier, suffix)
    except ServerError as error:
        raise table_error(error, name) from None
    if cells is not None:
        context.out.say(f"CURRENT VALUE = {binary(cells)}")
    return None
