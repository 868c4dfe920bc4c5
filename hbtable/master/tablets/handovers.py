"""Takes tablets from servers that stop, each straight to its next server (paper, section 5.2).

    1  the server that stops goes on serving, and waits for the master (tabletserver.draining)
    2  for each tablet, several at a time: its owner flushes and unloads it, the next one loads it

So a row waits for its own tablet alone. Were the server to give all of them up by itself, each would wait for the
master's next look at all tablets. It does so when the master does not come, or comes no further: then these are tablets
without an owner, like others.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Final, final

from hbtable.errors import HbtableError
from hbtable.master.servers.server_reports import AskServers, ServerReports
from hbtable.master.tablets.assignment import ClusterSnapshot, describe, plan
from hbtable.master.tablets.placement import Placement
from hbtable.master.tablets.server_load import takers
from hbtable.metadata.catalog import Catalog
from hbtable.model.schema import TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import run_all
from hbtable.switches import switches

log = logging.getLogger(__name__)

_AT_ONCE: Final = 64
"""Tablets that are handed over under the table's lock before others have their turn: those of a server that died, or a
call that changes the table. More: those wait longer; fewer: the servers are asked more often what they serve."""


def to_hand_over(tablets: Sequence[TabletRecord], reports: ServerReports) -> list[TabletRecord]:
    """The tablets of stopping servers, if another server takes tablets. METADATA's are not among them: the servers give
    them up in an order of their own. Pure."""
    if not takers(reports.loads):
        return []
    stopping = {name: load.tablet_ids for name, load in reports.loads.items() if load.draining}
    return [
        tablet
        for tablet in tablets
        if tablet.table_id != METADATA_TABLE_ID and tablet.tablet_id in stopping.get(tablet.owner, ())
    ]


def targets(tablets: Sequence[TabletRecord], reports: ServerReports) -> list[tuple[TabletRecord, str]]:
    """The next server of each. Pure."""
    without = [replace(tablet, owner="") for tablet in tablets]
    actions = plan(ClusterSnapshot(without, reports.loads, reports.silent))
    return [(tablet, action.server) for tablet, action in zip(tablets, actions, strict=True)]


@final
class Handovers:
    """Hands tablets over. `operation` is that of TableOperations; `parallel`: tablets at a time."""

    def __init__(
        self,
        runtime: Runtime,
        catalog: Catalog,
        placement: Placement,
        reports: AskServers,
        operation: Callable[[bytes], AbstractContextManager[object]],
        parallel: int,
    ) -> None:
        self._runtime = runtime
        self._catalog = catalog
        self._placement = placement
        self._reports = reports
        self._operation = operation
        self._parallel = parallel

    @switches
    def hand_over(self, table: TableRecord, tablets: Sequence[TabletRecord], before: ServerReports) -> str:
        """Hands over those of `tablets` that stopping servers still serve, until a server comes or goes: others may
        need the table then. What was done; "" for nothing."""
        done = 0
        left = to_hand_over(tablets, before)
        while left:
            reports = self._reports(table.table_id)
            batch = to_hand_over(left[:_AT_ONCE], reports)
            del left[:_AT_ONCE]
            with self._operation(table.schema.name):
                current = self._catalog.read_table(table.schema.name)
                if current is None or current.state is not TableState.ENABLED or current.table_id != table.table_id:
                    break
                done += self._hand_over(batch, current.schema, reports)
            if reports.living != before.living:
                break
        return f"{done} tablets of servers that stop went to others" if done else ""

    @switches
    def _hand_over(self, tablets: Sequence[TabletRecord], schema: TableSchema, reports: ServerReports) -> int:
        def job(tablet: TabletRecord, target: str) -> Callable[[], None]:
            return lambda: self._one(tablet, target, schema, reports)

        jobs = [job(tablet, target) for tablet, target in targets(tablets, reports)]
        outcomes = run_all(self._runtime, self._parallel, jobs, "hand over")
        failed = [outcome for outcome in outcomes if isinstance(outcome, HbtableError)]
        for error in failed:  # it may have split, or be without an owner now: the next round knows
            log.info("master: a tablet was not handed over: %s", error)
        return len(outcomes) - len(failed)

    @switches
    def _one(self, tablet: TabletRecord, target: str, schema: TableSchema, reports: ServerReports) -> None:
        why = f"{describe(tablet)} goes to {target} because {tablet.owner} stops"
        self._placement.move(tablet, target, why, schema, reports.living, back="")
