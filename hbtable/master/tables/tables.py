"""Creates, deletes, enables, disables and alters tables (paper, section 4: the master handles schema changes).

A table's state in its name row says which operation is under way; each begins with the compare-and-set into that state
and ends with the one out of it, and everything between may be repeated. So the master that finds a CREATING, ENABLING,
DISABLING or DELETING table after a crash finishes the operation (resume).

    create     name row CREATING -> tablet rows -> loaded -> ENABLED
               A crash before all tablet rows stand is undone: the caller was told nothing, and the split rows are lost.
    disable    DISABLING -> every tablet flushed, unloaded, without owner -> DISABLED
    enable     ENABLING -> every tablet loaded, or refused as damaged -> ENABLED
    delete     DELETING -> tablet rows gone -> nobody serves them -> grants gone -> name row gone; files go with the
               next garbage collection
    truncate   tablet rows of a new table id -> name row points at that id, ENABLING -> old rows gone -> nobody serves
               them -> ENABLED
    alter      one compare-and-set of the schema, then servers are told (alterations.py)

No name row ever comes back as it was: the states follow each other in one direction, and the schema's version is raised
by each alter and each time that the table begins to be enabled (_enter); truncate takes a new table id. So a
compare-and-set that METADATA carries out after its master gave it up, a whole disable and enable later, finds another
row; for the rows that a truncate writes before its own see late_truncates.py. A request that was given up by its caller
is no danger either: it waits in a fair queue for the table, and is refused when that took longer than callers wait.

One operation per table at a time: its lock is held throughout, also by the cycle when it assigns that table's tablets,
so that a tablet is never assigned while its table is being disabled. Beside moves, which leave the table as it is,
tablets are placed that come without a server (table_locks.py).
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial

from hbtable.access.grants_file import forget
from hbtable.access.scopes import of_table
from hbtable.errors import (
    Conflict,
    MoveFailed,
    OutcomeUnknown,
    OutOfSpace,
    StaleLocation,
    TableExists,
    TableNotDisabled,
    TableNotEnabled,
    Unavailable,
)
from hbtable.lockservice.interface import Session
from hbtable.master.new_ids import NewIds
from hbtable.master.quotas import QuotaSettings
from hbtable.master.servers.decommissions import Decommissions
from hbtable.master.servers.liveness import holds_its_lock
from hbtable.master.servers.server_reports import AskServers, ServerReports
from hbtable.master.tables.alterations import Alterations, warn_of_many_families
from hbtable.master.tables.carrying_on import carry_on
from hbtable.master.tables.creation import TableCreation
from hbtable.master.tables.dropped_tablets import DroppedTablets
from hbtable.master.tables.file_settings_check import check_file_settings
from hbtable.master.tables.late_truncates import LateTruncates
from hbtable.master.tables.namespaces import Namespaces
from hbtable.master.tables.removable import Removable
from hbtable.master.tables.schema_check import check_schema, check_split_rows
from hbtable.master.tables.table_locks import TableLocks
from hbtable.master.tables.tablet_rows import TabletRows
from hbtable.master.tables.whole_tables import check_whole
from hbtable.master.tablets.balancer import Balancer
from hbtable.master.tablets.handovers import Handovers
from hbtable.master.tablets.late_unloads import LateUnloads
from hbtable.master.tablets.merges import Merges
from hbtable.master.tablets.moves import Moves
from hbtable.master.tablets.pace import MovePace
from hbtable.master.tablets.placement import Placement
from hbtable.master.tablets.relocations import MOST_AT_ONCE, Relocations
from hbtable.master.tablets.server_load import takers
from hbtable.master.tablets.unanswered_unloads import ALONE_SECONDS, TimeToAsk
from hbtable.metadata import layout
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.split_repair import complete_split
from hbtable.model import names
from hbtable.model.names import shown
from hbtable.model.schema import TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord
from hbtable.quotas.quotas_file import forget as forget_quotas
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import results, run_all
from hbtable.switches import switches

log = logging.getLogger(__name__)

_ROUNDS = 20
"""The most times that an operation plans again because tablets split or servers died under it."""
_LONGEST_WAIT_SECONDS = 20.0
"""For the table. Less than a caller waits for an answer (rpc.connections, write_seconds): what he was told may or may
not happen must not happen hours later, when a merge has ended."""


class TableOperations:
    """The calls of rpc.services.MasterService about tables; service.py has the others. `reports` asks the servers now;
    `check_master` raises when this is not the master."""

    def __init__(
        self,
        runtime: Runtime,
        session: Session,
        catalog: Catalog,
        placement: Placement,
        reports: AskServers,
        check_master: Callable[[], None],
        new_ids: NewIds,
        parallel_rows: int,
        shared_file: Callable[[TabletRecord], str],
        unnamed: set[int] | None = None,
        request_cycle: Callable[[], None] = lambda: None,
        wall_millis: Callable[[], int] | None = None,
    ) -> None:
        """`shared_file` is that of Merges. `unnamed`: ids of tables that are being filled before a name row says so;
        the collector spares them. `request_cycle` makes the cycle look at every tablet at once. `wall_millis`: a wall
        clock that does not jump; None: the machine's."""
        self._runtime = runtime
        wall_millis = wall_millis or runtime.wall_millis
        self._session = session
        self._catalog = catalog
        self._placement = placement
        self._reports = reports
        self._check_master = check_master
        self._parallel_rows = parallel_rows
        self._removable = Removable(self.settled)
        self._locks = locks = TableLocks(runtime)
        rows = TabletRows(runtime, catalog, placement, reports, parallel_rows)
        self.dropped = DroppedTablets(runtime, catalog, placement, rows, self.settled, reports)
        self.namespaces = Namespaces(runtime, session, catalog, check_master)
        self.quotas = QuotaSettings(session)
        self.late_truncates = LateTruncates(catalog, self.operation, self.is_busy)
        self._creation = TableCreation(
            runtime, session, catalog, rows, self.namespaces, new_ids, wall_millis,
            unnamed if unnamed is not None else set(), self._finish_enabling, self._delete,
            self.late_truncates.may_come_back,
        )  # fmt: skip
        placement.unanswered.lives = partial(holds_its_lock, session)
        placement.given_up_late = LateUnloads(catalog, placement, reports, locks.visit).place
        moving, pace = locks.hold_beside_guests, MovePace(runtime, MOST_AT_ONCE)
        self.moves = Moves(catalog, placement, reports, moving, self.settled)
        self.handovers = Handovers(runtime, catalog, placement, reports, moving, parallel_rows, pace)
        new_id, ask = new_ids.tablet, request_cycle
        self.merges = Merges(
            catalog, placement, reports, self.operation, self.settled, shared_file, new_id, wall_millis, ask
        )
        self.relocations = Relocations(
            runtime, catalog, placement, reports, moving, self.is_busy, check_master, request_cycle, pace
        )
        self.balancer = Balancer(runtime.clock_seconds, session, catalog, reports, self.relocations)
        self.decommissions = Decommissions(runtime, session, placement, reports, self.relocations)
        self.alterations = Alterations(runtime, session, catalog, placement, reports, self.settled)
        self._request_cycle = request_cycle

    # ---------------------------------------------------------------- what others ask for

    @switches
    def create_table(self, schema: TableSchema, split_rows: Sequence[bytes] = (), creator: str = "") -> None:
        check_schema(schema)
        check_file_settings(None, schema)
        if schema.name == layout.SCHEMA.name:  # clients see METADATA there, and would never see a table of this name
            raise TableExists(f"table {shown(schema.name)} exists already")
        bounds = check_split_rows(schema, split_rows)
        self._check_master()
        with self._asked_for(schema.name):
            self._creation.create(schema, bounds, creator)
        warn_of_many_families(schema)

    @switches
    def delete_table(self, name: bytes) -> None:
        self._check_master()
        with self._asked_for(name):
            record = self._existing(name)
            if record.state is not TableState.DELETING:
                self._removable.check(record)
            self._delete(record)

    @switches
    def enable_table(self, name: bytes, begins: Callable[[], None] = lambda: None) -> None:
        """`begins` may switch, and is called before anything is changed. What it raises ends this call."""
        self._check_master()
        with self._asked_for(name):
            record = self._existing(name)
            if record.state not in (TableState.DISABLED, TableState.ENABLING):
                raise TableNotDisabled(shown(name))
            begins()
            self._finish_enabling(self._enter(record, TableState.ENABLING))

    @switches
    def disable_table(self, name: bytes, begins: Callable[[TableState], None] = lambda _: None) -> None:
        """`begins` as of enable_table(), with the table's state: DISABLING where another call began to disable it, and
        DISABLED where it is done, and this call is refused."""
        self._check_master()
        with self._asked_for(name):
            record = self._existing(name)
            if record.state in (TableState.ENABLED, TableState.DISABLING, TableState.DISABLED):
                begins(record.state)
            if record.state not in (TableState.ENABLED, TableState.DISABLING):
                raise TableNotEnabled(f"{shown(name)} is disabled.")
            self._finish_disabling(self._enter(record, TableState.DISABLING))

    @switches
    def alter_table(self, schema: TableSchema) -> None:
        check_schema(schema)
        self._check_master()
        with self._asked_for(schema.name):
            record = self._existing(schema.name)
            self.alterations.alter(record, schema)
        warn_of_many_families(schema, len(record.schema.families))

    @switches
    def truncate_table(self, name: bytes, keep_splits: bool) -> None:
        self._check_master()
        with self._asked_for(name):
            record = self._existing(name)
            self._removable.check(record)
            old = self.settled(record.table_id)
            bounds = [tablet.range.start for tablet in old[1:]] if keep_splits else []
            fresh = self._creation.replace_by_empty(record, bounds)
            self._removable.goes_on(record)
            self.dropped.add(record)
            done = f"table {shown(name)} is empty, and not enabled yet"
            carry_on(self._runtime, done, lambda: self._finish_enabling(fresh))

    @contextmanager
    def followed_up(self) -> Iterator[None]:
        """Requests a cycle at once when the body fails: the cycle finishes what may be half done. Not for what the
        cycle itself begins: it would never rest."""
        try:
            yield
        except (Conflict, MoveFailed, OutcomeUnknown, StaleLocation, Unavailable):
            self._request_cycle()
            raise

    @contextmanager
    @switches
    def _asked_for(self, name: bytes) -> Iterator[None]:
        names.parse(name)
        with self.followed_up(), self._locks.hold(name, _LONGEST_WAIT_SECONDS):
            self._check_master()
            yield

    # ---------------------------------------------------------------- for the master's cycle

    @switches
    def operation(self, name: bytes) -> AbstractContextManager[object]:
        """Holds the table against other operations. *Switches* while another one runs."""
        return self._locks.hold(name)

    def is_busy(self, name: bytes) -> bool:
        return self._locks.is_held(name)

    @switches
    def resume(self, record: TableRecord) -> str:
        """Finishes what a crash interrupted; the message that says so."""
        name = record.schema.name
        with self.operation(name):
            current = self._catalog.read_table(name)
            if current is None or current.state != record.state:
                return f"table {shown(name)} was finished meanwhile"
            match current.state:
                case TableState.CREATING:
                    return self._creation.resume(current)
                case TableState.ENABLING:
                    self._finish_enabling(current)
                case TableState.DISABLING:
                    self._finish_disabling(current)
                case TableState.DELETING:
                    self._finish_deleting(current)
                case _:
                    return f"table {shown(name)} needs nothing"
        return f"table {shown(name)}: finished {record.state.value}"

    # ---------------------------------------------------------------- steps

    @switches
    def _existing(self, name: bytes) -> TableRecord:
        record = self._catalog.read_table(name)
        if record is None:
            raise layout.no_table(name)
        return record

    @switches
    def _enter(self, record: TableRecord, state: TableState) -> TableRecord:
        if record.state == state:
            return record
        schema = record.schema
        if state is TableState.ENABLING:
            schema = replace(schema, version=schema.version + 1)
        entered = replace(record, state=state, schema=schema)
        self._catalog.replace_table(record, entered)
        self._removable.goes_on(record)
        return entered

    @switches
    def _finish_enabling(self, record: TableRecord) -> None:
        """From CREATING or ENABLING: every tablet is served, or refused as damaged, and none of those that had the name
        before; then the state says so. Those that are refused are tried again by the cycle, as of any enabled table:
        what is sound must not wait for them. Corruption when there are rows without a tablet."""
        self.dropped.end(record.schema.name)
        problems: list[str] = []
        for _ in range(_ROUNDS):
            # A table with a hole must not look as if it were whole.
            tablets = check_whole(lambda: self.settled(record.table_id))
            self._runtime.sleep(0)  # each step goes over all tablets, of which there may be thousands
            reports = self._reports(record.table_id)
            actions = self._placement.plan(record.schema.name, tablets, reports, lambda: self._runtime.sleep(0))
            able = takers(reports.loads)
            held = self._placement.quarantine.message(tablets)
            waits = held or not able or any(tablet.owner in reports.silent for tablet in tablets)
            self._runtime.sleep(0)
            failed = self._placement.place_all(actions, lambda _tablet: record.schema, reports.living, None)
            problems = [one.message for one in failed]
            if not waits and (problems or not actions) and all(one.refused for one in failed):
                for message in problems:
                    log.error("master: table %s is enabled, but %s", shown(record.schema.name), message)
                self._enter(record, TableState.ENABLED)
                return
            problems = problems or ([held] if held else [])
            if problems or not able:
                break
        reason = problems[0] if problems else _why_not_served(reports)
        raise Unavailable(f"table {shown(record.schema.name)} is not enabled yet, the master goes on trying: {reason}")

    @switches
    def _finish_disabling(self, record: TableRecord) -> None:
        time = TimeToAsk(ALONE_SECONDS)
        for _ in range(_ROUNDS):
            served = [tablet for tablet in self.settled(record.table_id) if tablet.owner]
            if not served:
                self._enter(record, TableState.DISABLED)
                return
            living = self._reports(record.table_id).living

            def job(tablet: TabletRecord, living: frozenset[str] = living) -> Callable[[], None]:
                return lambda: self._placement.vacate_to_disable(tablet, living, time)

            outcomes = run_all(self._runtime, self._parallel_rows, [job(tablet) for tablet in served], "disable")
            # A Conflict is a tablet that changed under us, for example split: the next round sees it as it is.
            try:
                results([outcome for outcome in outcomes if not isinstance(outcome, Conflict)])
            except OutOfSpace as error:
                self._removable.found_no_room(record)
                name = shown(record.schema.name)
                raise OutOfSpace(
                    f"table {name} is not disabled yet, for want of room to flush it: {error}. If it is not needed, "
                    f"table {name} may be dropped or truncated as it is"
                ) from error
            except OutcomeUnknown as error:
                raise OutcomeUnknown(
                    f"table {shown(record.schema.name)} is not disabled yet, the master goes on trying: {error}"
                ) from error
        raise Unavailable(f"table {shown(record.schema.name)} is not disabled yet, the master goes on trying")

    @switches
    def _delete(self, record: TableRecord) -> None:
        self._finish_deleting(self._enter(record, TableState.DELETING))

    @switches
    def _finish_deleting(self, record: TableRecord) -> None:
        self.dropped.add(record)
        self.dropped.end(record.schema.name)
        forget(self._session, of_table(record.schema.name))
        forget_quotas(self._session, table=record.schema.name)
        # The name row goes last: tablet rows without a name row are swept as left-overs, a name row without tablet
        # rows would look like a damaged table.
        self._catalog.delete_table(record)

    @switches
    def settled(self, table_id: int) -> list[TabletRecord]:
        """The table's rows, unfinished splits completed and unfinished merges finished or undone first. The caller
        holds the table's operation lock. Conflict: another master is at it."""
        for _ in range(_ROUNDS):
            rows = self._catalog.tablet_rows(table_id)
            unsettled = [row for row in rows if row.left is not None or row.is_merging()]
            if not unsettled:
                return rows
            for row in unsettled:
                complete_split(self._catalog, row)
                try:
                    self.merges.settle(row)
                except Conflict as error:  # the other row of the same merge, or another master
                    log.info("master: a merge was changed meanwhile: %s", error)
        raise Conflict(f"the tablets of table {table_id} go on changing; try again")


def _why_not_served(reports: ServerReports) -> str:
    if reports.silent:
        return f"tablet server {min(reports.silent)} does not answer"
    return "no tablet server can take its tablets"
