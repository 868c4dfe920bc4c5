"""status 'families' [, 't']: what each column family keeps on disk and in memory, and what is asked of it."""

from hbtable.client.whole_rows import HIDDEN
from hbtable.model.usage import FIGURES, FamilyUsage, from_texts, summed
from hbtable.shell.arguments.names import table_of
from hbtable.shell.context import Context, show_name
from hbtable.shell.errors import ShellError
from hbtable.shell.language.literals import Value


def family_usage(context: Context, arguments: list[Value]) -> Value:
    """A row for each family; those of one locality group, which share files, are one row."""
    name = table_of(arguments[1]) if len(arguments) > 1 else b""
    if name and not context.table(name).families:
        context.server.hbase("getColumnDescriptors", name)  # the server refuses, and writes down who asked
        raise ShellError(HIDDEN.format(show_name(name)))
    found = context.on_table(name, "adminFamilyUsage", [])
    assert isinstance(found, dict)
    usages = summed(from_texts(one) for of_server in found.values() for one in of_server)
    context.out.begin(("TABLE", "FAMILY", *(figure.upper() for figure in FIGURES)))
    for one in usages:
        context.out.row((one.table, _families(one), *map(str, one[2:])), _record(one))
    context.out.end(len(usages))
    return None


def _families(usage: FamilyUsage) -> str:
    return "/".join(map(show_name, usage.families))


def _record(usage: FamilyUsage) -> dict[str, object]:
    return {
        "table": usage.table,
        "families": [show_name(name) for name in usage.families],
        **{figure: getattr(usage, figure) for figure in FIGURES},
    }
