"""Places tablets that their servers give up after nobody waits for it any more (paper, section 5.2).

Whoever moves, hands over or merges a tablet waits a few seconds for its server to unload it, and then leaves the call
to end by itself (slow_loads.py). The server stops serving when it ends. Were the tablet left to the master's look at
all tablets, its rows would wait for that: half a minute and more where the master is busy.

    1  the call that was left ends, and the tablet's row has no owner
    2  as a guest of whoever moves others of its table (table_locks.py), so that it waits for none of them: is the table
       enabled, and the tablet still without a server
    3  it gets one, as any tablet without a server; all that came of this table meanwhile, beside each other

The tablet goes to the server that is best now: the one that it was to move to may have gone, or be full, since. What is
on its way there counts for how full a server is. The root tablet is left to the master's round, which begins with it,
and is asked for at the same moment.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import final

from hbtable.master.servers.server_reports import AskServers, ServerReports
from hbtable.master.tablets.assignment import describe
from hbtable.master.tablets.placement import Placement
from hbtable.metadata import layout
from hbtable.metadata.catalog import Catalog
from hbtable.model.schema import TableSchema
from hbtable.model.table import TableState
from hbtable.model.tablet import METADATA_TABLE_ID, ROOT_TABLET_ID, TabletRecord
from hbtable.switches import switches

log = logging.getLogger(__name__)


@final
class LateUnloads:
    """Gives servers to tablets that come without one. `visit` is that of TableLocks."""

    def __init__(
        self,
        catalog: Catalog,
        placement: Placement,
        reports: AskServers,
        visit: Callable[[bytes], AbstractContextManager[object]],
    ) -> None:
        self._catalog = catalog
        self._placement = placement
        self._reports = reports
        self._visit = visit
        self._waiting: dict[bytes, list[TabletRecord]] = {}
        """By table, while somebody waits for the table, and for the servers' reports, for them."""

    @switches
    def place(self, record: TabletRecord, table: bytes) -> None:
        """The tablet, which has no owner by this record, is served on return, unless it should not be, or cannot be
        now: then the master's next round sees to it. LockLost."""
        if record.tablet_id == ROOT_TABLET_ID:
            return
        waiting = self._waiting.setdefault(table, [])
        waiting.append(record)
        if waiting[1:]:
            return  # whoever came first takes it along
        try:
            with self._visit(table):
                schema = self._schema(table, record.table_id)
                reports = self._reports(record.table_id)
                del self._waiting[table]  # those that come from here on were not seen by the reports
                if schema is not None:
                    self._place(table, waiting, schema, reports)
        finally:
            if self._waiting.get(table) is waiting:
                del self._waiting[table]

    @switches
    def _schema(self, table: bytes, table_id: int) -> TableSchema | None:
        """None: its tablets are not to be served."""
        if table_id == METADATA_TABLE_ID:
            return layout.SCHEMA
        current = self._catalog.read_table(table)
        if current is None or current.table_id != table_id or current.state is not TableState.ENABLED:
            return None
        return current.schema

    @switches
    def _place(
        self, table: bytes, records: Sequence[TabletRecord], schema: TableSchema, reports: ServerReports
    ) -> None:
        without = [current for record in records if (current := self._without_server(record)) is not None]
        if not without:
            return
        actions = self._placement.plan(table, without, self._placement.coming.counted(reports))
        for action in actions:
            log.info(
                "master: %s was given up late by its server, and goes to %s", describe(action.record), action.server
            )
        with ExitStack() as coming:
            for action in actions:
                coming.enter_context(self._placement.coming.to(action.server, action.record.tablet_id))
            for problem in self._placement.place_all(actions, lambda _tablet: schema, reports.living):
                log.info("master: %s", problem.message)

    @switches
    def _without_server(self, record: TabletRecord) -> TabletRecord | None:
        current = self._catalog.read_tablet(record.table_id, record.range.stop)
        if current is None or current.tablet_id != record.tablet_id or current.owner or current.is_merging():
            return None
        return current
