"""Regions by their names, and merge_region, which hbtable does not do yet."""

from hbtable.hbase.admin_structs import AdminTablet
from hbtable.shell.commands.regions import encoded, tablets_of
from hbtable.shell.context import Context, show_name, text_of
from hbtable.shell.errors import BadArgument, ShellError
from hbtable.shell.literals import Value


def find_region(context: Context, name: bytes) -> tuple[bytes, AdminTablet] | None:
    """(table, tablet) of a region's name, whole or encoded; None when there is none."""
    for table in context.server.admin("adminTables"):
        for tablet in tablets_of(context, table.name):
            if name == tablet.name or show_name(name) == encoded(tablet):
                return table.name, tablet
    return None


def known_region(context: Context, value: Value) -> tuple[bytes, AdminTablet]:
    name = text_of(value, "a region's name")
    found = find_region(context, name)
    if found is None:
        raise ShellError(f"org.apache.hadoop.hbase.UnknownRegionException: {show_name(name)}")
    return found


def merge_region(context: Context, arguments: list[Value]) -> Value:
    names = [one for argument in arguments for one in (argument if isinstance(argument, list) else [argument])]
    names = [name for name in names if isinstance(name, bytes)]
    if len(names) < 2:
        raise BadArgument("Must pass at least 2 regions to merge")
    for name in names:
        known_region(context, name)
    raise ShellError("merge_region is not there yet: hbtable splits tablets and does not merge them")
