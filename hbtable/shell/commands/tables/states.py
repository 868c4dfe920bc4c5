"""disable, enable, drop, exists, is_enabled, is_disabled: one table as a whole."""

from hbtable.hbase.admin.structs import AdminTable
from hbtable.shell.arguments.names import table_of
from hbtable.shell.context import Context, show_name
from hbtable.shell.errors import ArgumentError
from hbtable.shell.language.literals import Value


def disable(context: Context, arguments: list[Value]) -> Value:
    """A disabled table is left alone, silently."""
    name = table_of(arguments[0])
    if is_on(existing(context, name)):
        context.server.hbase("disableTable", name)
    return None


def enable(context: Context, arguments: list[Value]) -> Value:
    name = table_of(arguments[0])
    if not is_on(existing(context, name)):
        context.server.hbase("enableTable", name)
    return None


def drop(context: Context, arguments: list[Value]) -> Value:
    name = table_of(arguments[0])
    if is_on(existing(context, name)):
        raise ArgumentError(f"Table {show_name(name)} is enabled. Disable it first.", about=("enabled table", name))
    context.server.hbase("deleteTable", name)
    return None


def exists(context: Context, arguments: list[Value]) -> Value:
    name = table_of(arguments[0])
    there = context.find_table(name) is not None
    context.out.say(f"Table {show_name(name)} does {'exist' if there else 'not exist'}")
    return there


def is_enabled(context: Context, arguments: list[Value]) -> Value:
    answer = is_on(context.table(table_of(arguments[0])))
    context.out.say("true" if answer else "false")
    return answer


def is_disabled(context: Context, arguments: list[Value]) -> Value:
    answer = not is_on(context.table(table_of(arguments[0])))
    context.out.say("true" if answer else "false")
    return answer


def existing(context: Context, name: bytes) -> AdminTable:
    """`Table X does not exist.`"""
    found = context.find_table(name)
    if found is None:
        raise ArgumentError(f"Table {show_name(name)} does not exist.", about=("table", name))
    return found


def is_on(table: AdminTable) -> bool:
    return table.state in ("enabled", "enabling")
