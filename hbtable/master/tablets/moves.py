"""Moves a tablet of an enabled table to another server (paper, section 5.2: the master assigns tablets).

    1  its owner flushes and unloads it; its row has no owner from then on
    2  it is placed on the new server, as any tablet without an owner

The table's operation lock is held, so that the cycle does not place the tablet in between. After a crash or an error
between the two it is a tablet that nobody owns, and the cycle places it somewhere.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import final

from hbtable.errors import Conflict, InvalidRequest, TableNotEnabled, Unavailable
from hbtable.master.servers.server_reports import AskServers, ServerReports
from hbtable.master.tablets.assignment import describe, least_loaded
from hbtable.master.tablets.placement import Placement
from hbtable.master.tablets.server_load import takers
from hbtable.master.tablets.slow_loads import ASKED_SECONDS
from hbtable.metadata import layout
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.split_repair import complete_split
from hbtable.model.names import shown
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord
from hbtable.switches import switches


@final
class Moves:
    """Moves tablets to servers that an operator chose. `operation` is TableLocks.hold_beside_guests, `settled` that of
    TableOperations. What the master chooses itself moves by relocations.py."""

    def __init__(
        self,
        catalog: Catalog,
        placement: Placement,
        reports: AskServers,
        operation: Callable[[bytes], AbstractContextManager[object]],
        settled: Callable[[int], list[TabletRecord]],
    ) -> None:
        self._catalog = catalog
        self._placement = placement
        self._reports = reports
        self._operation = operation
        self._settled = settled

    @switches
    def move(self, name: bytes, tablet_id: int, server: str = "") -> None:
        """The tablet is served by `server` on return, which may be the one that had it: then it was loaded anew. "": by
        the least loaded other server, or by the same one when there is no other. TableNotFound, TableNotEnabled,
        InvalidRequest for a tablet or server that is not there; Unavailable: still where it was, or without a server
        until the master's next cycle; MoveFailed: it was taken away, and that server could not load it. Then it is back
        where it was, or with the least loaded other server, if that can load it."""
        with self._operation(name):
            table = enabled(self._catalog, name)
            reports = self._reports(table.table_id)
            tablet = self._alone(table, tablet_id, reports) or self.tablet(table, tablet_id)
            target = self._target(tablet, reports, server)
            try:
                why = f"{describe(tablet)} goes to {target} because it was asked to"
                back = self._back(tablet, target, reports)
                self._placement.move(tablet, target, why, table.schema, reports.living, back, ASKED_SECONDS)
            except Conflict as error:
                raise Unavailable(f"{describe(tablet)} changed while it was moved; try again: {error}") from error

    @switches
    def _alone(self, table: TableRecord, tablet_id: int, reports: ServerReports) -> TabletRecord | None:
        """The tablet, by its own row: a table may have thousands. None when it has to be looked for."""
        seen = self._placement.owners_record(tablet_id, reports)
        if seen is None or seen.table_id != table.table_id:
            return None
        current = self._catalog.read_tablet(seen.table_id, seen.range.stop)
        if current is not None and current.left is not None:
            current = complete_split(self._catalog, current)
        if current is None or current.tablet_id != tablet_id or current.is_merging():
            return None
        return current

    @switches
    def tablet(self, table: TableRecord, tablet_id: int) -> TabletRecord:
        """InvalidRequest when the table has none with this id."""
        for tablet in self._settled(table.table_id):
            if tablet.tablet_id == tablet_id:
                return tablet
        raise InvalidRequest(
            f"table {shown(table.schema.name)} has no tablet {tablet_id}; it may have been split or merged: look again"
        )

    def _target(self, tablet: TabletRecord, reports: ServerReports, server: str) -> str:
        able = takers(reports.loads)
        if server:
            load = reports.loads.get(server)
            if load is not None and (load.takes_tablets() or (server == tablet.owner and not load.draining)):
                return server
            if load is not None and load.decommissioned:
                raise InvalidRequest(f"tablet server {server} is decommissioned: it takes no tablets")
            if server in reports.living:
                raise Unavailable(f"tablet server {server} takes no tablets now: it is stopping or does not answer")
            raise InvalidRequest(f"there is no tablet server {server}")
        if not able:
            raise Unavailable(f"no tablet server can take {describe(tablet)}")
        others = {name: load for name, load in able.items() if name != tablet.owner}
        return least_loaded(others or able)

    def _back(self, tablet: TabletRecord, target: str, reports: ServerReports) -> str:
        """The server for a tablet that `target` cannot load: its present one has shown that it can. "" for none."""
        others = {name: load for name, load in takers(reports.loads).items() if name != target}
        if tablet.owner in others:
            return tablet.owner
        return least_loaded(others) if others else ""


@switches
def enabled(catalog: Catalog, name: bytes) -> TableRecord:
    """TableNotFound, TableNotEnabled."""
    table = catalog.read_table(name)
    if table is None:
        raise layout.no_table(name)
    if table.state is not TableState.ENABLED:
        raise TableNotEnabled(f"{shown(name)} is disabled.")
    return table
