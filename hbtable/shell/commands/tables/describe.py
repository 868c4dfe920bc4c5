"""describe 't': state, options of the table, one line for each family."""

from hbtable.hbase.admin.structs import AdminTable
from hbtable.shell.answers.description import family_line, table_line
from hbtable.shell.arguments.names import table_of
from hbtable.shell.commands.quotas import say_quotas
from hbtable.shell.commands.tables.states import existing, is_on
from hbtable.shell.context import Context, show_name
from hbtable.shell.language.literals import Value


def described(context: Context, name: bytes) -> AdminTable:
    """The table with its families; ServerError for a user who may not see them."""
    table = existing(context, name)
    if not table.families:
        context.server.hbase("getColumnDescriptors", name)
    return table


def get_all_columns(context: Context, arguments: list[Value]) -> Value:
    """For references to tables: the families, each with a colon."""
    table = described(context, table_of(arguments[0]))
    return [family.name + b":" for family in table.families or ()]


def describe(context: Context, arguments: list[Value]) -> Value:
    table = described(context, table_of(arguments[0]))
    out = context.out
    families = table.families or []
    if out.wants_records:
        out.begin(("FAMILY", "DESCRIPTION"))
        for family in families:
            out.row((show_name(family.name),), {**family._asdict(), "table": table.name, "state": table.state})
        out.end(len(families))
        return None
    out.say(f"Table {show_name(table.name)} is {'ENABLED' if is_on(table) else 'DISABLED'}")
    out.say(table_line(table))
    out.say("COLUMN FAMILIES DESCRIPTION")
    for family in families:
        out.say(family_line(family))
        out.say("")
    out.end(len(families))
    say_quotas(context, "table", table.name)
    return None
