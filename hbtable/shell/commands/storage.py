"""flush, compact, major_compact, split: what becomes of a table's files."""

from hbtable.hbase.admin_structs import AdminTablet
from hbtable.shell.commands.moving import find_region
from hbtable.shell.context import Context, show_name, text_of
from hbtable.shell.errors import ServerError
from hbtable.shell.literals import Value


def flush(context: Context, arguments: list[Value]) -> Value:
    name = _table_of(context, arguments[0])
    _check_family(context, name, arguments)
    context.on_table(name, "adminFlush")
    return None


def compact(context: Context, arguments: list[Value]) -> Value:
    name = _table_of(context, arguments[0])
    _check_family(context, name, arguments)
    context.on_table(name, "adminCompact", False)
    return None


def major_compact(context: Context, arguments: list[Value]) -> Value:
    name = _table_of(context, arguments[0])
    _check_family(context, name, arguments)
    context.on_table(name, "adminCompact", True)
    return None


def split(context: Context, arguments: list[Value]) -> Value:
    name = _table_of(context, arguments[0])
    row = text_of(arguments[1], "a split row") if len(arguments) > 1 and arguments[1] is not None else b""
    context.on_table(name, "adminSplit", row)
    return None


def _table_of(context: Context, value: Value) -> bytes:
    """The table itself, or the one that a region's name says: whole tables are worked on here."""
    name = text_of(value, "a table name")
    if b"," in name or len(name) == 32:
        found: tuple[bytes, AdminTablet] | None = find_region(context, name)
        if found is not None:
            return found[0]
    return name


def _check_family(context: Context, name: bytes, arguments: list[Value]) -> None:
    if len(arguments) < 2 or not isinstance(arguments[1], bytes):
        return
    families = [family.name for family in context.table(name).families or ()]
    if arguments[1] not in families and not arguments[1].startswith(b"NORMAL"):
        raise ServerError(
            "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException",
            f"Column families [{show_name(arguments[1])}] don't exist in table {show_name(name)}",
        )
