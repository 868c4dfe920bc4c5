"""Carries the plans for tablets that are too small or too large out, when it is switched on (normalizing.py makes the
plans, merges.py merges). The master's cycle begins it, and goes on: a merge that waits for a server holds up nobody but
its table.

A long run of neighbours is merged a few at a time, and each time they are away for as long as a merge takes. Between
two of these the table's lock is free, for whoever waits for it.
"""

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Final, final

from hbtable.errors import HbtableError, LockLost
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import MERGES, NORMALIZER
from hbtable.lockservice.toggles import Toggle
from hbtable.master.background_work import BackgroundWork
from hbtable.master.metrics import MasterMetrics
from hbtable.master.servers.server_reports import AskServers
from hbtable.master.tables.tables import TableOperations
from hbtable.master.tablets.assignment import describe
from hbtable.master.tablets.balancing import why_not_calm
from hbtable.master.tablets.merges import METADATA
from hbtable.master.tablets.normalizing import (
    NormalizerOptions,
    Plan,
    PlannedMerge,
    PlannedSplit,
    may_have_plans,
    plans,
)
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.tiling import standing
from hbtable.model.names import shown
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import ROOT_TABLET_ID, TabletRecord, owners
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

log = logging.getLogger(__name__)

_TOGETHER: Final = 8
"""Tablets that nobody serves at a time because they are merged."""
_NOT_CALM_SECONDS: Final = 5.0
"""The time after which all is looked at again, when servers were silent or stopping, or something failed."""


@final
class Normalizer(BackgroundWork):
    """Merges small and emptied neighbours, and splits large tablets of tables that ask for it. `check_acting` raises
    while this is not the master. `wall_millis`: a wall clock that does not jump. `soon` asks for
    begin_if_due(), and does not switch."""

    def __init__(
        self,
        runtime: Runtime,
        session: Session,
        catalog: Catalog,
        transport: Transport,
        reports: AskServers,
        tables: TableOperations,
        metrics: MasterMetrics,
        check_acting: Callable[[], None],
        wall_millis: Callable[[], int],
        soon: Callable[[], None],
        options: NormalizerOptions | None = None,
    ) -> None:
        super().__init__(runtime, "normalizer", "normalizer: could not look at the tablets, and will later")
        self.toggle = Toggle(session, NORMALIZER)
        self.rests: Callable[[], bool] = lambda: False
        """Whether nothing is to be rewritten now: the disk is full. Does not switch."""
        self._merges_toggle = Toggle(session, MERGES)
        self._catalog = catalog
        self._transport = transport
        self._reports = reports
        self._tables = tables
        self._metrics = metrics
        self._check_acting = check_acting
        self._wall_millis = wall_millis
        self._soon = soon
        self._options = options or NormalizerOptions()
        self._period = self._options.period_seconds or math.inf
        self._due = runtime.clock_seconds() + self._period
        self._asked: set[bytes] = set()
        """Tables that are to be looked at now."""
        self._asked_for_all = False

    # ---------------------------------------------------------------- life

    def begin_if_due(self) -> None:
        """Begins what is due. Called in the master's cycle, when everything is served. Does not switch."""
        if not self._may_begin():
            return
        everything = self._asked_for_all or self._runtime.clock_seconds() >= self._due
        names = None if everything else self._asked
        if everything or names:
            self._asked, self._asked_for_all = set(), False
            self._begin(partial(self._look_and_plan_next, names))

    @switches
    def ask(self, tables: Sequence[bytes]) -> bool:
        """The tables of these names, all without any, are looked at soon, in the background. False: it is off."""
        if not self.toggle.is_on():
            return False
        self._asked.update(tables)
        self._asked_for_all |= not tables
        self._soon()
        return True

    @switches
    def _look_and_plan_next(self, names: set[bytes] | None) -> None:
        """`names`: of tables; None: of all."""
        done = False
        try:
            done = self._look(names)
        finally:
            if names is None or not done:
                # What was not done of a few tables is done with all of them, a moment later.
                self._due = self._runtime.clock_seconds() + (self._period if done else _NOT_CALM_SECONDS)

    # ---------------------------------------------------------------- work

    @switches
    def _look(self, names: set[bytes] | None) -> bool:
        """Carries out what there is to do in these tables, or in all. False: the cluster was not calm."""
        self._check_acting()
        if not self.toggle.is_on():
            return True
        reports = self._reports()
        if self.rests() or why_not_calm((), reports.loads, reports.silent):
            return False
        tables = {one.table_id: one for one in self._catalog.tables() if one.state is TableState.ENABLED}
        if names is not None and METADATA.schema.name in names:  # not with all: a master of an older release may follow
            tables[METADATA.table_id] = METADATA
        for table, tablets in self._of_tables(tables):
            if names is not None and table.schema.name not in names:
                continue
            if not may_have_plans(table.schema, tablets, self._options, self._wall_millis()):
                continue
            for plan in self._plans(table, tablets):
                if not self._carry_out(table, plan):
                    return False
        return True

    @switches
    def _of_tables(self, tables: dict[int, TableRecord]) -> Iterator[tuple[TableRecord, list[TabletRecord]]]:
        rows = self._catalog.all_tablet_rows()
        for table_id, of_table in groupby(rows, key=lambda row: row.table_id):
            found = [row for row in standing(of_table) if row.tablet_id != ROOT_TABLET_ID]
            if table_id in tables:
                yield tables[table_id], found

    @switches
    def _plans(self, table: TableRecord, tablets: list[TabletRecord]) -> list[Plan]:
        """Nothing while a server of the cluster is silent or stops, or a tablet of this table is not served."""
        reports = self._reports(table.table_id)
        if why_not_calm(tablets, reports.loads, reports.silent):
            return []
        sizes: dict[int, int] = {}
        for server in owners(tablets):
            for status in self._transport.tablet_admin(server).tablets(table.table_id):
                if status.record.owner == server and not status.damaged:
                    sizes[status.record.tablet_id] = status.sstable_bytes + status.memtable_bytes
        now, merges_on = self._wall_millis(), self._merges_toggle.is_on()
        return plans(table.schema, tablets, sizes, self._options, now, merges_on, reports.tablet_loads)

    @switches
    def _carry_out(self, table: TableRecord, plan: Plan) -> bool:
        """False when it is no time for it any more."""
        try:
            if isinstance(plan, PlannedSplit):
                self._split(table, plan)
                return not self._stopping
            return self._merge(table, plan)
        except LockLost:
            raise
        except HbtableError as error:  # it was split, moved or dropped meanwhile: the next plan knows
            log.info("normalizer: table %s: %s; not done: %s", shown(table.schema.name), plan.why, error)
            return True

    @switches
    def _split(self, table: TableRecord, plan: PlannedSplit) -> None:
        self._check_acting()
        log.info("normalizer: table %s: splits %s: %s", shown(table.schema.name), describe(plan.tablet), plan.why)
        if self._transport.tablet_admin(plan.tablet.owner).split(plan.tablet.tablet_id, None):
            self._metrics.normalizer_splits.value += 1

    @switches
    def _merge(self, table: TableRecord, plan: PlannedMerge) -> bool:
        name = table.schema.name
        log.info("normalizer: table %s: merges from %s on: %s", shown(name), describe(plan.tablets[0]), plan.why)
        first, *rest = [tablet.tablet_id for tablet in plan.tablets]
        while rest:
            self._check_acting()
            if self._stopping or self.rests() or not self.toggle.is_on() or not self._merges_toggle.is_on():
                return False
            part, rest = rest[: _TOGETHER - 1], rest[_TOGETHER - 1 :]
            with self._tables.followed_up():
                first = self._tables.merges.merge(name, [first, *part], plan.why)
            self._metrics.normalizer_merges.value += len(part)
        return True
