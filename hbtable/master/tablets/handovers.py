"""Takes tablets from servers that stop, each straight to its next server (paper, section 5.2).

    1  the server that stops goes on serving, and waits for the master (tabletserver.draining)
    2  for each tablet, several at a time: its owner flushes and unloads it, the next one loads it

So a row waits for its own tablet alone. Were the server to give all of them up by itself, each would wait for the
master's next look at all tablets. It does so with a few at a time when the master does not come, or comes no further.
Such a tablet, as one that its next server could not load, is placed before any other is taken: the look at all tablets
comes only when all of the table's were handed over, and with thousands that takes minutes.
"""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from enum import Enum, auto
from typing import Final, final

from hbtable.errors import Conflict, HbtableError, LockLost, MoveFailed
from hbtable.master.servers.server_reports import AskServers, ServerReports
from hbtable.master.tablets.assignment import Assign, ClusterSnapshot, describe, least_loaded, plan
from hbtable.master.tablets.pace import MovePace
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

_AT_ONCE: Final = 16
"""Tablets that are handed over under the table's lock before others have their turn: those of a server that died, or a
call that changes the table, or a tablet that its server gave up by itself. More: those wait longer; fewer: the servers
are asked more often what they serve."""

_TRIES: Final = 3
"""To take one from its server, before others of its table are looked at. A try that takes too long is left, and the
tablet may be given up later."""


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


def given_up(tablets: Sequence[TabletRecord], reports: ServerReports) -> list[TabletRecord]:
    """Those that stopping servers do not serve any more. Pure."""
    stopping = {name: load.tablet_ids for name, load in reports.loads.items() if load.draining}
    return [tablet for tablet in tablets if tablet.owner in stopping and tablet.tablet_id not in stopping[tablet.owner]]


def targets(tablets: Sequence[TabletRecord], reports: ServerReports) -> list[tuple[TabletRecord, str]]:
    """The next server of each. Pure."""
    without = [replace(tablet, owner="") for tablet in tablets]
    actions = plan(ClusterSnapshot(without, reports.loads, reports.silent))
    return [(tablet, action.server) for tablet, action in zip(tablets, actions, strict=True)]


class _End(Enum):
    """The end of one hand-over."""

    PLACED = auto()
    """Its next server serves it."""
    NOT_YET = auto()
    """Its server is about to give it up."""
    NOT_OURS = auto()
    """It was split, merged or given to another server meanwhile."""
    FAILED = auto()
    """It may still be where it was."""
    LOST = auto()
    """It is without a server."""


@final
class Handovers:
    """Hands tablets over. `operation` is TableLocks.hold_beside_guests; `parallel`: tablets at a time, at most; `pace`
    has fewer while each takes long."""

    def __init__(
        self,
        runtime: Runtime,
        catalog: Catalog,
        placement: Placement,
        reports: AskServers,
        operation: Callable[[bytes], AbstractContextManager[object]],
        parallel: int,
        pace: MovePace,
    ) -> None:
        self._runtime = runtime
        self._catalog = catalog
        self._placement = placement
        self._reports = reports
        self._operation = operation
        self._parallel = parallel
        self._pace = pace

    @switches
    def hand_over(self, table: TableRecord, tablets: Sequence[TabletRecord], before: ServerReports) -> str:
        """Hands over those of `tablets` that stopping servers still serve. It ends before when a server comes or goes:
        others may need the table then; and when one of them could not be placed, for which the whole table is looked
        at. What was done; "" for nothing."""
        done = 0
        left = to_hand_over(tablets, before)
        tries: Counter[int] = Counter()
        while left:
            reports = self._reports(table.table_id)
            if not takers(reports.loads):
                break
            waiting = given_up(left, reports)[:_AT_ONCE]  # they are without a server: first
            batch = waiting + to_hand_over(left, reports)[: _AT_ONCE - len(waiting)]
            with self._operation(table.schema.name):
                current = self._catalog.read_table(table.schema.name)
                if current is None or current.state is not TableState.ENABLED or current.table_id != table.table_id:
                    break
                ends = self._hand_over(batch, len(waiting), current.schema, reports)
            done += ends.count(_End.PLACED)
            tries.update(tablet.tablet_id for tablet, end in zip(batch, ends, strict=True) if end is _End.FAILED)
            over = {
                tablet.tablet_id
                for tablet, end in zip(batch, ends, strict=True)
                if end in (_End.PLACED, _End.NOT_OURS) or tries[tablet.tablet_id] >= _TRIES
            }
            left = [tablet for tablet in left if tablet.tablet_id not in over]
            if not over or _End.LOST in ends or reports.living != before.living:
                break
        return f"{done} tablets of servers that stop went to others" if done else ""

    @switches
    def _hand_over(
        self, tablets: Sequence[TabletRecord], waiting: int, schema: TableSchema, reports: ServerReports
    ) -> list[_End]:
        """Returns the end of each. The first `waiting` are those that their servers gave up."""

        def job(place: int, tablet: TabletRecord, target: str) -> Callable[[], _End]:
            one = self._bring_back if place < waiting else self._one
            return lambda: one(tablet, target, schema, reports)

        jobs = [job(place, tablet, target) for place, (tablet, target) in enumerate(targets(tablets, reports))]
        outcomes = run_all(self._runtime, self._parallel, jobs, "hand over")
        return [outcome if isinstance(outcome, _End) else _failed(outcome) for outcome in outcomes]

    @switches
    def _one(self, tablet: TabletRecord, target: str, schema: TableSchema, reports: ServerReports) -> _End:
        why = f"{describe(tablet)} goes to {target} because {tablet.owner} stops"
        others = {name: load for name, load in takers(reports.loads).items() if name != target}
        back = least_loaded(others) if others else ""
        with self._pace.turn():
            self._placement.move(tablet, target, why, schema, reports.living, back)
        return _End.PLACED

    @switches
    def _bring_back(self, tablet: TabletRecord, target: str, schema: TableSchema, reports: ServerReports) -> _End:
        """Places one that its server gave up by itself."""
        with self._pace.turn():
            current = self._catalog.read_tablet(tablet.table_id, tablet.range.stop)
            if current is None or current.tablet_id != tablet.tablet_id or current.is_merging():
                return _End.NOT_OURS
            if current.owner:
                return _End.NOT_YET if current.owner == tablet.owner else _End.NOT_OURS
            why = f"{describe(tablet)} goes to {target} because {tablet.owner}, which stops, gave it up"
            try:
                self._placement.place(Assign(current, target, why), schema, reports.living)
            except (Conflict, LockLost):
                raise
            except HbtableError as error:
                raise MoveFailed(f"{describe(tablet)} was given up by {tablet.owner}: {error}") from error
        return _End.PLACED


def _failed(error: HbtableError) -> _End:
    log.info("master: a tablet was not handed over: %s", error)
    return _End.LOST if isinstance(error, MoveFailed) else _End.FAILED
