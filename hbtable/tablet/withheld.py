"""The message about a withheld tablet. `hbtable repair --withhold` marks the tablet in METADATA. A server gets it as
any other tablet and refuses it. So everybody who asks for one of its rows is told the reason at once."""

from datetime import UTC, datetime

from hbtable.errors import TabletWithheld
from hbtable.model.tablet import TabletRecord


def withheld(record: TabletRecord, table: str) -> TabletWithheld:
    """`record` has the mark."""
    start, stop = record.range
    rows = f"rows from {start!r} to {stop!r}" if stop else f"rows from {start!r} on"
    return TabletWithheld(
        f"tablet {record.tablet_id}",
        0,
        f"tablet {record.tablet_id} of table {table}, {rows if start or stop else 'all rows'}, {since(record)}: its "
        "rows are not served, its files and logs are kept. To serve it again, stop the server, in a cluster every "
        f"role, and run `hbtable repair --release {record.tablet_id}`",
        start,
        stop,
    )


def since(record: TabletRecord) -> str:
    when = datetime.fromtimestamp(record.withheld_millis / 1000, UTC)
    return f"was withheld by an operator on {when:%Y-%m-%d at %H:%M} UTC"
