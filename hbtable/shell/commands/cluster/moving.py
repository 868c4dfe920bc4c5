"""Regions by their names: regioninfo, move, assign, reopen_regions, merge_region; rit: those on the way."""

from itertools import pairwise
from typing import Final

from hbtable.hbase.admin.structs import AdminTablet, AdminTransition
from hbtable.shell.commands.tables.regions import described, encoded, tablets_of
from hbtable.shell.context import Context, show_name, text_of
from hbtable.shell.errors import ArgumentError, ServerError, ShellError
from hbtable.shell.language.literals import Value, class_of, inspect, shown

_REFUSED: Final = "org.apache.hadoop.hbase.exceptions.MergeRegionException"


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
        raise ShellError(f"org.apache.hadoop.hbase.UnknownRegionException: {show_name(name)}", about=("region", name))
    return found


def regioninfo(context: Context, arguments: list[Value]) -> Value:
    _, tablet = known_region(context, arguments[0])
    context.out.row((described(tablet),), tablet._asdict())
    return None


def rit(context: Context, _: list[Value]) -> Value:
    found: list[AdminTransition] = context.server.admin("adminTransitions")
    for one in found:
        context.out.row((transition_text(one),), one._asdict())
    context.out.end(len(found))
    return None


def transition_text(found: AdminTransition) -> str:
    """State and server as HBase has them, without since when, which nobody writes down."""
    return f"{show_name(found.name)} state={found.state}, server={found.server or 'null'}"


def move(context: Context, arguments: list[Value]) -> Value:
    server = text_of(arguments[1], "a server's name") if len(arguments) > 1 and arguments[1] is not None else b""
    _move(context, *known_region(context, arguments[0]), server)
    return None


def assign(context: Context, arguments: list[Value]) -> Value:
    """A region that has a server is assigned anew, as HBase does it; one without gets a server."""
    _move(context, *known_region(context, arguments[0]), b"")
    return None


def reopen_regions(context: Context, arguments: list[Value]) -> Value:
    name = text_of(arguments[0], "a table name")
    wanted = arguments[1] if len(arguments) > 1 else None
    tablets = tablets_of(context, name)
    if isinstance(wanted, list):
        by_name = {encoded(tablet).encode(): tablet for tablet in tablets}
        for one in wanted:
            if not isinstance(one, bytes) or one not in by_name:
                raise ShellError(
                    f"{shown(one)} is no encoded name of a region of table {show_name(name)}", about=("region", name)
                )
        tablets = [by_name[one] for one in wanted if isinstance(one, bytes)]
    for tablet in tablets:
        _move(context, name, tablet, tablet.server.encode())
    return None


def _move(context: Context, table: bytes, tablet: AdminTablet, server: bytes) -> None:
    context.on_table(table, "adminMove", tablet.tablet_id, server)


def merge_region(context: Context, arguments: list[Value]) -> Value:
    """`'R1', 'R2'[, ...][, force]`; without neighbours nothing is forced."""
    values = [one for argument in arguments for one in (argument if isinstance(argument, list) else [argument])]
    names = [name for name in values if not isinstance(name, (bool, type(None)))]
    if len(names) < 2:
        raise ArgumentError("Must pass at least 2 regions to merge")
    found = []
    for name in names:
        if not isinstance(name, bytes):
            raise ArgumentError(f"Type of {inspect(name)} is {class_of(name)}, but expected String")
        region = find_region(context, name)
        if region is None:
            raise ShellError(f"Can't invoke merge on unknown region {show_name(name)}", about=("region", name))
        found.append(region)
    unique = len({tablet.tablet_id for _, tablet in found})
    if unique != len(found):
        raise ServerError(
            _REFUSED,
            f"Duplicate regions specified; cannot merge a region to itself. Passed in {len(found)} but only {unique} "
            "unique.",
        )
    table = found[0][0]
    if any(other != table for other, _ in found):
        raise ServerError(_REFUSED, f"Can't merge regions from different tables: {', '.join(map(shown, names))}")
    tablets = sorted((tablet for _, tablet in found), key=lambda tablet: tablet.start_row)
    for one, other in pairwise(tablets):
        if one.stop_row != other.start_row:
            _refuse_distant(one, other, forced=any(argument is True for argument in arguments))
    context.on_table(table, "adminMerge", [tablet.tablet_id for tablet in tablets])
    return None


def _refuse_distant(one: AdminTablet, other: AdminTablet, forced: bool) -> None:
    pair = f"'{encoded(one)}', '{encoded(other)}'"
    if forced:
        raise ShellError(
            f"{pair} are not neighbours, and hbtable does not force it: the merged region would cover rows of those "
            "in between"
        )
    raise ServerError(_REFUSED, f"Unable to merge non-adjacent or non-overlapping regions {pair} when force=false")
