"""why: where a row's tablet is, and the events that brought it there."""

from datetime import UTC, datetime
from typing import Final

from hbtable.hbase.admin.structs import AdminTabletEvent, AdminTabletHistory
from hbtable.shell.answers.text import binary, from_binary
from hbtable.shell.arguments.names import table_of
from hbtable.shell.context import Context, show_name, text_of
from hbtable.shell.errors import ServerError
from hbtable.shell.language.literals import Value

NO_EVENTS: Final = (
    "no events: a cluster's roles keep them; of one machine the server's log says what became of a tablet"
)
_COLUMNS = ("TIME", "EVENT", "SERVER", "BY", "WHY")


def why(context: Context, arguments: list[Value]) -> Value:
    name, row = table_of(arguments[0]), from_binary(text_of(arguments[1], "a row key"))
    found = context.on_table(name, "adminTabletHistory", row)
    if not isinstance(found, AdminTabletHistory):
        raise ServerError("", "the server answered without a tablet")
    tablet = found.tablet
    stop = f"before '{binary(tablet.stop_row)}'" if tablet.stop_row else "to the end"
    if not context.out.wants_records:
        context.out.say(f"{show_name(tablet.name)}")
        context.out.say(f"tablet {tablet.tablet_id}, from '{binary(tablet.start_row)}' {stop}: {found.state}")
        context.out.say(f"server: {tablet.server or 'none'}")
    events = found.events or []
    if not events and not context.out.wants_records:
        context.out.say(NO_EVENTS)
    context.out.begin(_COLUMNS)
    for event in events:
        context.out.row(_cells(event), event._asdict())
    context.out.end(len(events))
    return None


def _cells(event: AdminTabletEvent) -> tuple[str, ...]:
    time = datetime.fromtimestamp(event.millis / 1000, UTC).isoformat(sep=" ", timespec="milliseconds")
    return time.replace("+00:00", " UTC"), event.what, event.server, event.by, event.why
