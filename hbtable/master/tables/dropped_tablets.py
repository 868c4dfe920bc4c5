"""Has servers give up the tablets of tables that are gone (bug class 43).

A table that finds no room to be disabled is dropped, and truncated, while it is served. Its servers can give its
tablets up once the rows of these are gone, and not before: what they have no room to flush is nobody's then
(tabletserver/online_tablets.py). Until they do, they acknowledge writes that nobody will read. So the table's name is
not taken away before, and what comes in its place is not enabled.

A master may die in between, and its successor knows nothing of tablets that stand in no row. So each round compares
what servers report with the names that METADATA has. The id of a table is given out once, its name row stands from
before the first of its tablets is loaded until the last one was given up, and a truncate gives the name another id. So
the tablets are left over that a server reported before the names were read, and that are of none of these.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Final, final

from hbtable.errors import HbtableError, LockLost, Unavailable
from hbtable.master.servers.server_reports import AskServers, ServerReports
from hbtable.master.tables.tablet_rows import TabletRows
from hbtable.master.tablets.placement import Placement
from hbtable.metadata.catalog import Catalog
from hbtable.model.names import shown
from hbtable.model.table import TableRecord
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

log = logging.getLogger(__name__)

_SECONDS: Final = 5.0
"""For which servers are asked by one operation. Longer: others wait longer for the table while a server cannot be
asked; shorter: callers hear more often that the table is not gone yet."""
_PAUSE_SECONDS: Final = 0.1
"""After the first look. Each pause is twice the last."""


@final
class DroppedTablets:
    """Deletes rows, and has servers give up what stood in them. `settled` and `reports` are those of TableOperations.
    The caller holds the table's operation lock, if the table still has a name."""

    def __init__(
        self,
        runtime: Runtime,
        catalog: Catalog,
        placement: Placement,
        rows: TabletRows,
        settled: Callable[[int], list[TabletRecord]],
        reports: AskServers,
    ) -> None:
        self._runtime = runtime
        self._catalog = catalog
        self._placement = placement
        self._rows = rows
        self._settled = settled
        self._reports = reports
        self._owners: dict[bytes, dict[int, set[str]]] = {}
        """By name, and by the id that the table had: those of whom it is known that they served its tablets."""

    def add(self, record: TableRecord) -> None:
        """The table is dropped, or its name is another table's by now; end() is to follow. Does not switch."""
        self._owners.setdefault(record.schema.name, {}).setdefault(record.table_id, set())

    @switches
    def end(self, name: bytes) -> None:
        """On return METADATA has no rows of what was added by this name, and nobody serves it. Unavailable: perhaps a
        server still does. Conflict: servers go on changing the rows."""
        ids = self._owners.get(name, {})
        for table_id in list(ids):
            self._end(table_id, ids[table_id], f"table {shown(name)} is not gone yet, the master goes on trying")
            del ids[table_id]
        if not ids:
            self._owners.pop(name, None)

    @switches
    def _end(self, table_id: int, owners: set[str], not_yet: str) -> None:
        def rows() -> list[TabletRecord]:
            found = self._settled(table_id)
            owners.update(row.owner for row in found if row.owner)
            return found

        self._rows.delete_all(rows)
        latest = self._runtime.clock_seconds() + _SECONDS
        pause = _PAUSE_SECONDS
        while True:
            reports = self._reports(table_id)
            serving = [server for server, tables in reports.oldest_schemas.items() if table_id in tables]
            silent = sorted(owners & reports.silent)
            if not serving and not silent:
                return
            problems = [f"tablet server {server} does not answer" for server in silent]
            for server in serving:
                problems += self._discarded(server, table_id)
            if self._runtime.clock_seconds() >= latest:
                raise Unavailable(f"{not_yet}: {(problems or ['its tablets are still served'])[0]}")
            self._runtime.sleep(pause)
            pause *= 2

    @switches
    def _discarded(self, server: str, table_id: int) -> list[str]:
        try:
            return self._placement.discard(server, table_id)
        except LockLost:
            raise
        except HbtableError as error:
            return [f"tablet server {server}: {error}"]

    # ---------------------------------------------------------------- for the master's round

    def left_over(self, tables: Iterable[TableRecord], reports: ServerReports) -> list[int]:
        """Ids of tables that have no name and are served, ascending; none that an operation is at. `tables` are all
        that there are, read after the reports came. Does not switch."""
        served = {table_id for of_server in reports.oldest_schemas.values() for table_id in of_server}
        served -= {METADATA_TABLE_ID, *(table.table_id for table in tables)}
        return sorted(served.difference(*self._owners.values()))

    @switches
    def take_back(self, table_id: int) -> str:
        """Has servers give up what left_over() found. The message that says so, "" when it has a name after all.
        Unavailable: they have not yet; DataDamaged: METADATA cannot tell all names."""
        if any(table.table_id == table_id for table in self._catalog.tables()):
            return ""
        table = f"table {table_id}, which was dropped or truncated"
        log.info("master: tablets are served of %s", table)
        self._end(table_id, set(), f"tablets are still served of {table}")
        return f"tablets of {table}, were given up by their servers"
