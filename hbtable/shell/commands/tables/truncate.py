"""truncate 't': all cells gone at once, whatever their number; truncate_preserve keeps the splits."""

from hbtable.shell.arguments.names import table_of
from hbtable.shell.context import Context, show_name
from hbtable.shell.language.literals import Value


def truncate(context: Context, arguments: list[Value]) -> Value:
    return _truncate(context, arguments, False)


def truncate_preserve(context: Context, arguments: list[Value]) -> Value:
    return _truncate(context, arguments, True)


def _truncate(context: Context, arguments: list[Value], keep_splits: bool) -> Value:
    name = table_of(arguments[0])
    context.out.say(f"Truncating '{show_name(name)}' table (it may take a while):")
    table = context.table(name)
    if table.state == "enabled":
        context.out.say("Disabling table...")
        context.server.hbase("disableTable", name)
    context.out.say("Truncating table...")
    context.on_table(name, "adminTruncateTable", keep_splits)
    return None
