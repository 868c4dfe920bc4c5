"""One round over the tablets of the cluster: every tablet that should be served gets a server (paper, sections 5.1 and
5.2).

The round begins with what is needed to read the rest: the root tablet, then METADATA's others. Then it goes through the
tables, each in a task of its own (tables/tending.py): operations that were interrupted, tablets without a server,
servers that have an older schema. When nothing of this is left to do, tablets leave decommissioned servers; after that
they are balanced. On the way the round finishes splits and merges that a crash interrupted. It remembers only which
loads failed (failed_loads.py), which servers died of what (quarantine.py), and which tables are worked on.
"""

import logging
from collections.abc import Callable
from typing import Final, final

from hbtable.errors import DataDamaged
from hbtable.master.bootstrap import first_metadata_row
from hbtable.master.servers.server_reports import AskServers, ServerReports
from hbtable.master.tables.tables import TableOperations
from hbtable.master.tables.tending import Decision, Tending
from hbtable.master.tablets.assignment import Action, describe
from hbtable.master.tablets.handovers import to_hand_over
from hbtable.master.tablets.placement import Placement
from hbtable.master.tablets.server_load import takers
from hbtable.metadata import layout
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.split_repair import complete_split
from hbtable.model.names import shown
from hbtable.model.schema import TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import METADATA_TABLE_ID, ROOT_TABLET_ID, GoneTablet, TabletRecord
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

log = logging.getLogger(__name__)

_NOTHING_TO_DO: Final = Decision("")
_LOG_SECONDS: Final = 1.0
"""The time for which a table's tablets wait for the logs that some of them need. Longer: the others wait longer for a
log that cannot be ended yet; shorter: METADATA is read once more before tablets are placed whose log takes longer."""


@final
class Reconciler:
    """Gives every tablet a server that should have one and has none. `reports` asks the servers now. The caller is the
    master, and calls one method at a time."""

    def __init__(
        self,
        runtime: Runtime,
        catalog: Catalog,
        placement: Placement,
        tables: TableOperations,
        reports: AskServers,
        saw: Callable[[list[TableRecord], list[TabletRecord], list[GoneTablet]], None],
    ) -> None:
        """`saw` is told what METADATA holds, before any tablet is given to a server."""
        self._runtime = runtime
        self._catalog = catalog
        self._placement = placement
        self._tables = tables
        self._reports = reports
        self._saw = saw
        self._tending = Tending(runtime)
        self._said: set[str] = set()
        """Messages about METADATA's damage that were logged: once is enough."""

    @switches
    def system(self, reports: ServerReports) -> Decision:
        """The root tablet, then METADATA's others: what is needed to read the rest."""
        self._tables.balancer.rest(reports, "METADATA is not served")
        served = any(ROOT_TABLET_ID in load.tablet_ids for load in reports.loads.values())
        root = self._catalog.read_root() if served else self._catalog.read_unserved_root()
        decision = self._place_system([root], reports)
        if decision.message:
            return decision
        try:
            first_metadata_row(self._runtime, self._catalog)
        except DataDamaged as error:
            self._say_damaged([error])  # it was there before; what of METADATA is sound is to be served
        return self._serve_metadata(reports)

    @switches
    def _serve_metadata(self, reports: ServerReports) -> Decision:
        """METADATA's tablets but the root. Those that are being merged are left alone: the merge places what it makes
        of them, and asks for a round when it ends."""
        name, merges = layout.SCHEMA.name, self._tables.merges
        merged_now = merges.of_metadata
        rows = self._settled_rows(METADATA_TABLE_ID)
        if self._tables.is_busy(name):
            if merges.of_metadata != merged_now:
                return Decision("waiting: tablets of METADATA begin or end to be merged", waits=True)
            return self._place_system([row for row in rows if row.tablet_id not in merged_now], reports)
        if not any(row.is_merging() for row in rows) and not self._placement.plan(name, rows, reports):
            return self._place_system(rows, reports)
        with self._tables.operation(name):
            if any(row.is_merging() for row in rows):
                rows = self._placeable(METADATA_TABLE_ID)
            return self._place_system(rows, reports)

    @switches
    def _place_system(self, tablets: list[TabletRecord], reports: ServerReports) -> Decision:
        if self._placement.plan(layout.SCHEMA.name, tablets, reports) and not takers(reports.loads):
            # It goes to one that stops, if that still has tablets to give up: which is over in a moment.
            reports = self._reports()
        return self._place(tablets, reports)

    @switches
    def users(self, reports: ServerReports, may_balance: bool, interrupted: Callable[[], bool]) -> Decision:
        """Interrupted operations and tablets without a server, the tables beside each other, until something else has
        `interrupted` that. When there is nothing of it to do and it `may_balance`, servers begin to be evened out.
        METADATA is served."""
        damage: list[DataDamaged] = []
        tables = self._catalog.tables(damage)
        gone: list[GoneTablet] = []
        rows = self._repaired(list(self._catalog.all_tablet_rows(gone, damage)))
        self._say_damaged(damage)
        self._saw(tables, rows, gone)
        self._tables.merges.forget_old(gone)
        self._placement.keep_only([row.tablet_id for row in rows])
        self._measure(tables, rows, reports)
        if not damage:
            self._take_back(tables, reports)
        by_table: dict[int, list[TabletRecord]] = {}
        for row in rows:
            by_table.setdefault(row.table_id, []).append(row)
        for table in tables:
            if table.state is TableState.DISABLED or self._tables.is_busy(table.schema.name):
                continue
            self._begin_to_tend(table, by_table.get(table.table_id, []), reports)
        decisions = self._tended(interrupted)
        if all(one.waits for one in decisions if one.message):
            left = self._offload(tables, rows, reports)
            if left.message:
                return left
        message = "; ".join(one.message for one in decisions if one.message)
        # Not while servers die of a tablet: each new one is the emptiest, and would get others to take along. One of a
        # disabled table is given to nobody.
        off = {table.table_id for table in tables if table.state is TableState.DISABLED}
        suspects = self._placement.quarantine.suspects().difference(
            row.tablet_id for row in rows if row.table_id in off
        )
        self._tables.balancer.rest(reports, message or _rests(bool(damage), bool(suspects)))
        if damage and not message:
            return Decision(f"waiting: a part of METADATA cannot be read: {damage[0]}", waits=True)
        if not message and may_balance and not suspects:
            return Decision(*self._tables.balancer.round(tables, rows, reports))
        return Decision(message, any(one.waits for one in decisions))

    def _measure(self, tables: list[TableRecord], rows: list[TabletRecord], reports: ServerReports) -> None:
        enabled = {table.table_id for table in tables if table.state is TableState.ENABLED}
        metrics = self._placement.metrics
        of_tables = sum(row.table_id != METADATA_TABLE_ID for row in rows)
        metrics.saw_tablets(len(tables), of_tables, (row for row in rows if row.table_id in enabled), reports)
        metrics.saw_held(len(self._placement.quarantine.held()))

    @switches
    def _offload(self, tables: list[TableRecord], rows: list[TabletRecord], reports: ServerReports) -> Decision:
        """The moves of tablets away from decommissioned servers, METADATA's tablets included."""
        if not any(load.leaving for load in reports.loads.values()):
            return _NOTHING_TO_DO
        names = {table.table_id: table.schema.name for table in tables if table.state is TableState.ENABLED}
        return Decision(*self._tables.decommissions.offload(names, rows, reports))

    @switches
    def _take_back(self, tables: list[TableRecord], reports: ServerReports) -> None:
        """Tablets of tables that are gone, before those that came in their place: a truncated table that a dead master
        left is enabled next. No table waits for long."""
        left_over = self._tables.dropped.left_over(tables, reports)
        for table_id in left_over:

            def work(table_id: int = table_id) -> Decision:
                return Decision(self._tables.dropped.take_back(table_id))

            self._tending.begin(_dropped(table_id), work, first=True, at_once=True)
        self._tending.await_ended([_dropped(table_id) for table_id in left_over], _LOG_SECONDS)

    def _begin_to_tend(self, table: TableRecord, rows: list[TabletRecord], reports: ServerReports) -> None:
        if (
            table.state is not TableState.ENABLED
            or not self._is_served(table, rows, reports)
            or to_hand_over(rows, reports)
        ):
            self._tending.begin(_table(table), lambda: self._tend_table(table, rows, reports))
        # Beside it: one that cannot be told keeps no tablet waiting.
        if table.state is TableState.ENABLED and self._tables.alterations.stragglers(table, reports):
            self._tending.begin(f"the schema of {_table(table)}", lambda: self._tell_schema(table, reports))

    def on_left_over(self, call: Callable[[], None]) -> None:
        """`call` asks for a round, because a table's work ended for which the last one did not wait any more."""
        self._tending.left_over = self._placement.slow_loads.on_end = call

    @switches
    def _tended(self, interrupted: Callable[[], bool]) -> list[Decision]:
        """The outcomes for the tables that were begun, also in rounds before this one."""
        self._tending.wait(interrupted)
        self._placement.slow_loads.check()
        decisions = self._tending.outcomes()
        if under_way := self._tending.under_way():
            decisions.append(Decision(f"waiting for {under_way}, which the master is at work on", waits=True))
        return decisions

    def at_work(self) -> bool:
        """Whether tables or logs are worked on of which the last round did not wait for the end."""
        return bool(self._tending.under_way()) or self._placement.slow_loads.any()

    @switches
    def finish(self) -> None:
        """Ends all work on tables before it returns."""
        self._tending.wait(lambda: False)
        self._placement.slow_loads.finish()

    @switches
    def stop(self) -> None:
        """As finish(); what was not begun yet is not."""
        self._tending.drop_waiting()
        self.finish()

    def _is_served(self, table: TableRecord, rows: list[TabletRecord], reports: ServerReports) -> bool:
        living = reports.living  # put together at each look
        settled = all(row.owner in living and not row.is_merging() for row in rows)
        return settled and not self._placement.plan(table.schema.name, rows, reports)

    @switches
    def _tend_table(self, table: TableRecord, rows: list[TabletRecord], reports: ServerReports) -> Decision:
        if table.state is not TableState.ENABLED:
            return Decision(self._tables.resume(table))
        decision = self._serve_table(table, rows, reports)
        if decision.message and not decision.waits:
            return decision
        # Also beside a tablet that nobody can serve now: the others of a server that stops do not wait for it.
        handed_over = self._tables.handovers.hand_over(table, rows, reports)
        return Decision(handed_over) if handed_over else decision

    @switches
    def _tell_schema(self, table: TableRecord, reports: ServerReports) -> Decision:
        self._tables.alterations.tell_stragglers(table, reports)
        return _NOTHING_TO_DO

    @switches
    def _serve_table(self, table: TableRecord, rows: list[TabletRecord], reports: ServerReports) -> Decision:
        if self._is_served(table, rows, reports):
            return _NOTHING_TO_DO
        if takers(reports.loads):
            # Before the lock is taken: most logs are recovered within this time.
            living = reports.living
            unserved = [row for row in rows if row.owner not in living]
            self._tending.await_ended(self._recover(unserved, reports), _LOG_SECONDS)
        with self._tables.operation(table.schema.name):
            # Read again under the table's lock: it may have been disabled, and its tablets split, since the scan.
            current = self._catalog.read_table(table.schema.name)
            if current is None or current.state is not TableState.ENABLED:
                return _NOTHING_TO_DO
            return self._place(self._placeable(table.table_id), self._reports(table.table_id), current.schema)

    @switches
    def _placeable(self, table_id: int) -> list[TabletRecord]:
        """The table's rows, settled; of those that METADATA can still tell when it cannot tell all."""
        try:
            return self._tables.settled(table_id)
        except DataDamaged:
            damage: list[DataDamaged] = []
            rows = self._repaired(self._catalog.tablet_rows(table_id, damage))
            return [row for row in rows if not row.is_merging()]

    def _say_damaged(self, damage: list[DataDamaged]) -> None:
        for error in damage:
            if str(error) not in self._said:
                self._said.add(str(error))
                log.error("master: a part of METADATA cannot be read, and its tablets are given to nobody: %s", error)

    @switches
    def _place(
        self, tablets: list[TabletRecord], reports: ServerReports, schema: TableSchema = layout.SCHEMA
    ) -> Decision:
        """Plans and acts for tablets of one table; nothing to do when they are all served."""
        actions = self._placement.plan(schema.name, tablets, reports, lambda: self._runtime.sleep(0))
        if not actions:
            living = reports.living
            unserved = [tablet for tablet in tablets if tablet.owner not in living]
            if held := self._placement.quarantine.message(unserved):
                return Decision(f"waiting: {held}", waits=True)
            if unserved:
                more = f" and {len(unserved) - 1} more" if unserved[1:] else ""
                return Decision(f"waiting for a tablet server to serve {describe(unserved[0])}{more}", waits=True)
            return _NOTHING_TO_DO
        return self._carry_out(actions, reports, schema)

    @switches
    def _carry_out(self, actions: list[Action], reports: ServerReports, schema: TableSchema) -> Decision:
        """Places what can be placed now: it waits for no log, and for no load that hangs."""
        left, living = self._placement.slow_loads, reports.living
        loading: list[Action] = []
        wanted: list[Action] = []
        for action in actions:
            owner = {action.record.owner} & living
            (loading if left.is_left(action.record.tablet_id, owner) else wanted).append(action)
        logs = self._recover([action.record for action in wanted], reports)
        if schema is layout.SCHEMA:
            self._tending.await_ended(logs, _LOG_SECONDS)  # nothing else can be done meanwhile
        ready = self._placement.recoveries.ready(wanted, reports.living)
        problems = self._placement.place_all(ready, lambda _tablet: schema, reports.living)
        if problems:
            return Decision(f"waiting: {_first_of([problem.message for problem in problems])}", waits=True)
        if ready:
            return Decision(_first_of([action.why for action in ready]))
        if wanted:
            missing = sorted(self._placement.recoveries.missing([wanted[0].record], reports.living))
            return Decision(f"waiting: {describe(wanted[0].record)} needs {_log(missing[0])}", waits=True)
        return Decision(f"waiting: {loading[0].server} is loading {describe(loading[0].record)}", waits=True)

    def _recover(self, tablets: list[TabletRecord], reports: ServerReports) -> list[str]:
        """Has the logs recovered that the tablets need, each in a task of its own. Returns the tasks' names."""
        names = sorted(self._placement.recoveries.missing(tablets, reports.living))
        of_metadata = any(tablet.table_id == METADATA_TABLE_ID for tablet in tablets)
        for name in names:

            def work(name: str = name) -> Decision:
                return self._recovered(name, reports)

            self._tending.begin(_log(name), work, first=True, at_once=of_metadata)
        return [_log(name) for name in names]

    @switches
    def _recovered(self, name: str, reports: ServerReports) -> Decision:
        self._placement.recoveries.recover(self._placement.epoch, name, reports.living)
        return Decision(f"{_log(name)} is recovered")

    @switches
    def _settled_rows(self, table_id: int) -> list[TabletRecord]:
        damage: list[DataDamaged] = []
        rows = self._repaired(self._catalog.tablet_rows(table_id, damage))
        self._say_damaged(damage)
        return rows

    @switches
    def _repaired(self, rows: list[TabletRecord]) -> list[TabletRecord]:
        """Completes the splits that the rows show; both children are in the answer."""
        repaired: list[TabletRecord] = []
        for row in rows:
            if row.left is None:
                repaired.append(row)
                continue
            current = complete_split(self._catalog, row)
            left = self._catalog.read_tablet(row.table_id, row.left.range.stop)
            repaired.extend(one for one in (left, current) if one is not None)
        # The left child's row may have been there already.
        unique = {layout.key_of(row): row for row in repaired}
        return list(unique.values())


def _table(table: TableRecord) -> str:
    return f"table {shown(table.schema.name)}"


def _dropped(table_id: int) -> str:
    return f"the dropped table {table_id}"


def _log(incarnation: str) -> str:
    return f"the log of {incarnation}"


def _rests(damage: bool, suspects: bool) -> str:
    """The reason why the balancer does nothing although all tablets are served."""
    if damage:
        return "a part of METADATA cannot be read"
    if suspects:
        return "tablets of which servers died are watched"
    return "a server came or went a short while ago (master.balance_after_seconds)"


def _first_of(messages: list[str]) -> str:
    return messages[0] + (f" (and {len(messages) - 1} more)" if messages[1:] else "")
