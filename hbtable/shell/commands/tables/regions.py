"""locate_region, list_regions, get_splits: how a table is divided."""

from typing import final

from hbtable.hbase.admin.structs import AdminTablet
from hbtable.shell.answers.text import binary, from_binary
from hbtable.shell.arguments.names import table_of
from hbtable.shell.commands.tables.states import is_on
from hbtable.shell.context import Context, show_name, text_of
from hbtable.shell.errors import ServerError, ShellError, UnknownMethod
from hbtable.shell.language.evaluate import RunCommand
from hbtable.shell.language.literals import Value, class_of, inspect, shown

_COLUMNS = ("SERVER_NAME", "REGION_NAME", "START_KEY", "END_KEY", "SIZE", "REQ", "LOCALITY")


@final
class Location:
    """The value of locate_region: Java's HRegionLocation, as far as scripts ask it."""

    def __init__(self, tablet: AdminTablet) -> None:
        self.tablet = tablet

    def inspect(self) -> str:
        return "#<Java::OrgApacheHadoopHbase::HRegionLocation:0x0>"

    def call(self, name: str, _: list[Value], __: RunCommand) -> Value:
        if name in ("getRegionInfo", "getRegion"):
            return self
        if name == "getEncodedName":
            return encoded(self.tablet).encode()
        if name in ("getRegionNameAsString", "getRegionName"):
            return self.tablet.name
        if name == "getStartKey":
            return self.tablet.start_row
        if name == "getEndKey":
            return self.tablet.stop_row
        if name in ("getHostname", "getServerName"):
            return self.tablet.server.encode()
        raise UnknownMethod(f"undefined method `{name}' for {self.inspect()}")


def encoded(tablet: AdminTablet) -> str:
    return tablet.name.rstrip(b".").rpartition(b".")[2].decode()


def tablets_of(context: Context, name: bytes) -> list[AdminTablet]:
    found = context.on_table(name, "adminTablets")
    if not isinstance(found, list):
        raise ServerError("", "the server answered without tablets")
    return found


def locate_region(context: Context, arguments: list[Value]) -> Value:
    name, row = table_of(arguments[0]), from_binary(text_of(arguments[1], "a row key"))
    found = next(one for one in tablets_of(context, name) if not one.stop_row or row < one.stop_row)
    host = ":".join(found.server.split(",")[:2])
    context.out.begin(("HOST", "REGION"))
    context.out.row((host, described(found)), found._asdict())
    context.out.end(1)
    return Location(found)


def described(tablet: AdminTablet) -> str:
    """As HBase's RegionInfo describes itself."""
    return (
        f"{{ENCODED => {encoded(tablet)}, NAME => '{binary(tablet.name)}', STARTKEY => '{binary(tablet.start_row)}', "
        f"ENDKEY => '{binary(tablet.stop_row)}'}}"
    )


def get_splits(context: Context, arguments: list[Value]) -> Value:
    name = table_of(arguments[0])
    table = context.find_table(name)
    tablets = tablets_of(context, name) if table is not None else []
    rows = [tablet.start_row for tablet in tablets if tablet.start_row]
    context.out.say(f"Total number of splits = {len(rows) + 1}")
    for row in rows:
        context.out.row((binary(row),), {"row": row})
    return [binary(row).encode() for row in rows]


def list_regions(context: Context, arguments: list[Value]) -> Value:
    name = table_of(arguments[0])
    options = arguments[1] if len(arguments) > 1 else None
    asked = arguments[2] if len(arguments) > 2 else None
    if not is_on(context.table(name)):
        raise ShellError(f"Table {show_name(name)} must be enabled.", about=("disabled table", name))
    if asked is None:
        asked = list(map(str.encode, _COLUMNS))
    if not isinstance(asked, list):
        raise ShellError(f"{shown(asked)} must be an array of strings. Possible values are {', '.join(_COLUMNS)}.")
    wanted = [shown(one).upper() for one in asked]
    for column in wanted:
        if column not in _COLUMNS:
            raise ShellError(f"{column} is not a valid column. Possible values are {', '.join(_COLUMNS)}.")
    tablets = tablets_of(context, name)
    if not isinstance(options, (dict, bytes, type(None))):
        raise ShellError(f"{class_of(options)} of {inspect(options)} is not of Hash or String type")
    server = options.get(b"SERVER_NAME") if isinstance(options, dict) else options
    if isinstance(server, bytes) and server:
        tablets = [tablet for tablet in tablets if tablet.server.startswith(server.decode())]
    if isinstance(options, dict) and b"LOCALITY_THRESHOLD" in options:
        most = options[b"LOCALITY_THRESHOLD"]
        if not isinstance(most, float):
            raise ShellError("LOCALITY_THRESHOLD must be a float value")
        if not 0 <= most <= 1:
            raise ShellError("LOCALITY_THRESHOLD must be between 0 and 1.0, inclusive")
        tablets = [tablet for tablet in tablets if float(_cells(tablet)[-1]) <= most]
    _table(context, [_COLUMNS.index(column) for column in wanted], tablets)
    return None


def _table(context: Context, places: list[int], tablets: list[AdminTablet]) -> None:
    """Right-aligned; HBase's least widths."""
    rows = [_cells(tablet) for tablet in tablets]
    if context.out.wants_records:
        for row in rows:
            context.out.row([row[place] for place in places], {_COLUMNS[place]: row[place] for place in places})
        return
    least = (11, 11, 10, 10, 5, 5, 10)
    widths = [max(least[place], len(_COLUMNS[place]), *(len(row[place]) for row in rows)) for place in places]
    titles = [_COLUMNS[place].rjust(width) for place, width in zip(places, widths, strict=True)]
    context.out.say(" " + " | ".join(titles) + " |")
    context.out.say(" " + " | ".join("-" * width for width in widths) + " |")
    for row in rows:
        context.out.say(
            " " + " | ".join(row[place].rjust(width) for place, width in zip(places, widths, strict=True)) + " |"
        )
    context.out.say(f" {len(rows)} rows")


def _cells(tablet: AdminTablet) -> tuple[str, ...]:
    size = (tablet.sstable_bytes + tablet.memtable_bytes) >> 20
    return (
        tablet.server,
        show_name(tablet.name),
        binary(tablet.start_row),
        binary(tablet.stop_row),
        str(size),
        str(tablet.reads + tablet.writes),
        "1.0" if tablet.sstable_bytes else "0.0",
    )
