"""alter 't', changes: the whole new schema goes to the master, which swaps it for the one of the version before."""

from typing import Final

from hbtable.hbase.admin.structs import AdminFamily, AdminTable
from hbtable.shell.arguments import schema
from hbtable.shell.arguments.names import table_of
from hbtable.shell.commands.tables.create import note_many_families
from hbtable.shell.context import Context, show_name, text_of
from hbtable.shell.errors import ArgumentError
from hbtable.shell.language.literals import Value, inspect, shown

_UNSETTING: Final[dict[Value, str]] = {b"table_att_unset": "attribute", b"table_conf_unset": "configuration"}


def alter(context: Context, arguments: list[Value]) -> Value:
    table = _change(context, arguments)
    _progress(context, table)
    context.out.say("Done.")
    return None


def alter_async(context: Context, arguments: list[Value]) -> Value:
    """The same: a change is in effect everywhere when the master answers."""
    _change(context, arguments)
    return None


def alter_status(context: Context, arguments: list[Value]) -> Value:
    name = table_of(arguments[0])
    table = context.find_table(name)
    if table is None:
        raise ArgumentError(f"Can't find a table: {show_name(name)}", about=("table", name))
    count = len(context.server.admin("adminTablets", table.name))
    context.out.say(f"{count}/{count} regions updated.")
    context.out.say("Done.")
    return None


def _change(context: Context, arguments: list[Value]) -> AdminTable:
    name = table_of(arguments[0])
    if len(arguments) < 2:
        raise ArgumentError("There should be at least one argument but the table name")
    table = context.find_table(name)
    if table is None:
        raise ArgumentError(f"Can't find a table: {show_name(name)}", about=("table", name))
    families = {family.name: family for family in table.families or ()}
    before = len(families)
    for argument in arguments[1:]:
        given: dict[Value, Value] = {b"NAME": argument} if isinstance(argument, bytes) else _hash(argument)
        table = _apply(context, table, families, given)
    table = table._replace(version=table.version + 1, families=list(families.values()))
    context.server.admin("adminAlterTable", table)
    note_many_families(context, table.name, len(families), before)
    return table


def _apply(
    context: Context, table: AdminTable, families: dict[bytes, AdminFamily], given: dict[Value, Value]
) -> AdminTable:
    method, name = given.pop(b"METHOD", None), given.pop(b"NAME", None)
    removed = given.pop(b"delete", None)
    if removed is not None:
        method, name = b"delete", removed
    say = context.out.say
    if method == b"delete" or method in _UNSETTING:
        if name is None:
            raise ArgumentError(f"NAME parameter missing for {shown(method)} method")
        for key in given:
            say(f"Unknown argument ignored: {shown(key)}")
        if method != b"delete":
            return _unset(table, name, _UNSETTING[method])
        families.pop(text_of(name, "a column family").removesuffix(b":"), None)
        return table
    if method is not None and method != b"table_att":
        raise ArgumentError(f"Unknown method: {shown(method)}")
    if name is not None and method is None:
        key = text_of(name, "a column family")
        families[key] = schema.family(given, families.get(key) or AdminFamily(key), say)
        return table
    return schema.table_attributes(given, table, say, "Unknown argument ignored")


def _unset(table: AdminTable, names: Value, kind: str) -> AdminTable:
    attributes = dict(table.attributes or {})
    for name in names if isinstance(names, list) else [names]:
        if name == b"MAX_FILESIZE" and table.split_bytes:
            table = table._replace(split_bytes=0)
        elif attributes.pop(shown(name), None) is None:
            raise ArgumentError(f"Could not find {kind}: {shown(name)}")
    return table._replace(attributes=attributes)


def _progress(context: Context, table: AdminTable) -> None:
    context.out.say("Updating all regions with the new schema...")
    if table.state.startswith("disabl"):
        context.out.say("All regions updated.")
        return
    count = len(context.server.admin("adminTablets", table.name))
    context.out.say(f"{count}/{count} regions updated.")


def _hash(argument: Value) -> dict[Value, Value]:
    if not isinstance(argument, dict):
        raise ArgumentError(f"alter takes a family name or a hash, not {inspect(argument)}")
    return dict(argument)
