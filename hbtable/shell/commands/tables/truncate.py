"""truncate 't': all cells gone at once, whatever their number; truncate_preserve keeps the splits."""

from hbtable.errors import OutOfSpace
from hbtable.shell.arguments.names import table_of
from hbtable.shell.context import Context, show_name
from hbtable.shell.errors import ServerError
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
        try:
            context.server.hbase("disableTable", name)
        except ServerError as error:
            # On a full disk nothing can be flushed: the disabling has begun, and a truncate goes on from there.
            if OutOfSpace.__name__ not in error.classes or context.table(name).state == "enabled":
                raise
    context.out.say("Truncating table...")
    context.on_table(name, "adminTruncateTable", keep_splits)
    return None
