"""flush, compact, major_compact, compact_rs, compaction_state, split: what becomes of a table's files."""

from typing import Final

from hbtable.hbase.admin.structs import AdminTablet
from hbtable.shell.answers.text import binary
from hbtable.shell.commands.cluster.moving import find_region
from hbtable.shell.commands.cluster.servers import servers_named
from hbtable.shell.commands.cluster.switches import is_true
from hbtable.shell.commands.tables.regions import described
from hbtable.shell.context import Context, show_name, text_of
from hbtable.shell.errors import ArgumentError, ServerError
from hbtable.shell.language.literals import Value, shown

_REFUSED: Final = "org.apache.hadoop.hbase.DoNotRetryIOException"


def flush(context: Context, arguments: list[Value]) -> Value:
    name, tablet = _place_of(context, arguments[0])
    _family_of(context, name, arguments)
    context.on_table(name, "adminFlush", tablet.tablet_id if tablet is not None else 0)
    return None


def compact(context: Context, arguments: list[Value]) -> Value:
    _compact(context, arguments, False)
    return None


def major_compact(context: Context, arguments: list[Value]) -> Value:
    _compact(context, arguments, True)
    return None


def _compact(context: Context, arguments: list[Value], major: bool) -> None:
    name, tablet = _place_of(context, arguments[0])
    if len(arguments) > 2 and arguments[2] not in (b"NORMAL", b"MOB"):
        raise ArgumentError("only NORMAL or MOB accepted for type!")
    family = _family_of(context, name, arguments)
    context.on_table(name, "adminCompact", major, tablet.tablet_id if tablet is not None else 0, family)


def compact_rs(context: Context, arguments: list[Value]) -> Value:
    """All regions of a server: `host`, `host,port` or `host,port,startcode`; then whether it is to be a major one."""
    server = text_of(arguments[0], "a server's name")
    major = len(arguments) > 1 and shown(arguments[1]).lower() == "true"
    context.server.admin("adminCompactServer", server, major)
    return None


def compaction_switch(context: Context, arguments: list[Value]) -> Value:
    """Turns compactions on or off. Prints each server's state before, below HBase's own title. A server, or an array of
    them, may be named instead of all."""
    wanted = arguments[1] if len(arguments) > 1 and arguments[1] is not None else b"*"
    names = [one.name.encode() for one in servers_named(context, wanted)]
    if not names:
        raise ArgumentError("no tablet server was named; without names all are meant")
    before: dict[str, bool] = context.server.admin("adminCompactionSwitch", is_true(arguments[0]), names)
    context.out.begin(("['SERVER'", "'PREV_STATE']"))
    for server, on in sorted(before.items()):
        context.out.row((server, str(on).lower()), {"server": server, "previous": on})
    context.out.end(len(before))
    return None


def compaction_state(context: Context, arguments: list[Value]) -> Value:
    state = str(context.on_table(text_of(arguments[0], "a table name"), "adminCompactionState"))
    context.out.row((state,), {"state": state})
    return state.encode()


def split(context: Context, arguments: list[Value]) -> Value:
    """Refused, in HBase's words, where there is no row or no room to split at."""
    name, tablet = _place_of(context, arguments[0])
    row = text_of(arguments[1], "a split row") if len(arguments) > 1 and arguments[1] is not None else None
    if row is not None and tablet is not None and row != tablet.start_row and not _holds(tablet, row):
        raise ServerError(
            _REFUSED, f"Split row is not inside region key range splitKey:{binary(row)} region: {described(tablet)}"
        )
    if row == b"":
        context.table(name)
    elif context.on_table(name, "adminSplit", row or b"", tablet.tablet_id if tablet is not None else 0):
        return None
    if row is not None:
        raise ServerError("java.io.IOException", "should not give a splitkey which equals to startkey!")
    what = "the region has no two rows" if tablet is not None else f"no region of {show_name(name)} has two rows"
    raise ServerError(
        _REFUSED, f"Region not splittable: {what} to split between; name a row to split at it all the same"
    )


def _holds(tablet: AdminTablet, row: bytes) -> bool:
    return tablet.start_row <= row and (not tablet.stop_row or row < tablet.stop_row)


def _place_of(context: Context, value: Value) -> tuple[bytes, AdminTablet | None]:
    """A table's name and None, or what a region's name, whole or encoded, says: its table and its tablet."""
    name = text_of(value, "a table or region name")
    if b"," in name or len(name) == 32:
        found: tuple[bytes, AdminTablet] | None = find_region(context, name)
        if found is not None:
            return found
    return name, None


def _family_of(context: Context, name: bytes, arguments: list[Value]) -> bytes:
    """The family that is named, or b""."""
    if len(arguments) < 2 or arguments[1] is None:
        return b""
    family = text_of(arguments[1], "a family's name")
    families = [one.name for one in context.table(name).families or ()]
    if family not in families:
        error = ServerError(
            "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException",
            f"Column families [{show_name(family)}] don't exist in table {show_name(name)}",
        )
        error.advice = f"it has {', '.join(map(show_name, sorted(families)))}"
        raise error
    return family
