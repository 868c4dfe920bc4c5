"""Carries assignments out (paper, sections 5.2 and 6: log sort before recovery).

Order of each step, and why:
    sort     the logs of dead servers that the tablet needs, each once, fenced before, before anyone recovers from them
    own      compare-and-set of the owner; from here on an earlier owner's compare-and-sets fail (bug class 10)
    load     the server recovers and serves; if it does not, the next plan is a Load of the same generation

After a few loads that failed (failed_loads.py) the owner has to give the tablet up before any of these steps: a load
that is still under way, or comes late, must fail (Placement.vacate, tabletserver.online_tablets).

No step waits longer for a server than its caller says: what takes longer is left to end by itself (slow_loads.py).
"""

import logging
from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from hbtable.errors import (
    Conflict,
    Corruption,
    HbtableError,
    LockLost,
    MoveFailed,
    OutcomeUnknown,
    OutOfSpace,
    StaleLocation,
    TabletWithheld,
    Unavailable,
)
from hbtable.master.metrics import MasterMetrics
from hbtable.master.servers.log_sorting import LogSorting
from hbtable.master.servers.recoveries import Recoveries
from hbtable.master.servers.server_reports import ServerReports
from hbtable.master.tablets.assignment import Action, Assign, ClusterSnapshot, Load, Reassign, describe, plan
from hbtable.master.tablets.coming import Coming
from hbtable.master.tablets.failed_loads import FailedLoads
from hbtable.master.tablets.own_unloads import OwnUnloads
from hbtable.master.tablets.ownership import assigned, given_back, released
from hbtable.master.tablets.quarantine import Quarantine, QuarantineOptions
from hbtable.master.tablets.server_load import takers
from hbtable.master.tablets.slow_loads import WAIT_SECONDS, SlowLoads
from hbtable.master.tablets.unanswered_unloads import AGAIN_SECONDS, ALONE_SECONDS, TimeToAsk, UnansweredUnloads
from hbtable.metadata.catalog import Catalog
from hbtable.metrics.registry import Registry
from hbtable.model.schema import TableSchema
from hbtable.model.tablet import TabletRecord
from hbtable.model.tablet_event import GIVEN, NOT_LOADED, TAKEN
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import run_all
from hbtable.runtime.slices import with_pauses
from hbtable.switches import switches, switches_if_given

log = logging.getLogger(__name__)


class NotPlaced(NamedTuple):
    """The failure of an attempt to place a tablet."""

    message: str
    refused: bool
    """Its server answered that the tablet is damaged, or withheld: another try changes nothing by itself."""


class Placement:
    """Gives tablets to servers. `logs` ends and sorts the log of one dead incarnation; it may be asked again for the
    same one."""

    def __init__(
        self,
        runtime: Runtime,
        catalog: Catalog,
        transport: Transport,
        logs: LogSorting,
        parallel_loads: int,
        quarantine: QuarantineOptions | None = None,
        metrics: MasterMetrics | None = None,
        note: Callable[[TabletRecord, str, str, str], None] = lambda record, what, server, why: None,
    ) -> None:
        """`note` is TabletHistory.note."""
        self.epoch = 0
        """Of the master's lock; sent with every call, also by what goes on after the master stopped: servers refuse it
        once there is a next one."""
        self._runtime = runtime
        self._catalog = catalog
        self._transport = transport
        self.logs = logs
        self._parallel_loads = parallel_loads
        self.failed_loads = FailedLoads(runtime.clock_seconds)
        self.quarantine = Quarantine(runtime.clock_seconds, quarantine)
        self.metrics = metrics or MasterMetrics(Registry())
        self.note = note
        self.recoveries = Recoveries(runtime, logs, self.metrics)
        self.slow_loads = SlowLoads(runtime)
        self.coming = Coming()
        self.own_unloads = OwnUnloads(runtime.clock_seconds)
        self.unanswered = UnansweredUnloads(runtime, catalog, self._ask_to_unload)
        self.given_up_late: Callable[[TabletRecord, bytes], None] = lambda record, table: None
        """Called, and may switch, when a server gave a tablet of the table up after vacate() raised that it had not."""
        self.in_last_room: Callable[[], bool] = _never
        """The disk is full, but for what is kept for deletes and drops (Master.watch_room)."""
        self.emptied: Set[str] = frozenset()
        """Logs of dead servers in which nothing is needed: FullDiskStart."""

    @switches_if_given
    def plan(
        self,
        table: bytes,
        tablets: Sequence[TabletRecord],
        reports: ServerReports,
        pause: Callable[[], object] = lambda: None,
    ) -> list[Action]:
        """The actions for `tablets` of the table with this name, which were read before the list of servers was taken.
        `pause` is called between many."""
        served = 0
        for tablet in with_pauses(tablets, pause):
            load = reports.loads.get(tablet.owner)
            if load is not None and tablet.tablet_id in load.tablet_ids:
                served += 1
                self.failed_loads.served(tablet.tablet_id)
                self.quarantine.answered(tablet.tablet_id)
        self.quarantine.look(table, tablets, reports.living, reports.listed_at)
        if served == len(tablets):
            return []  # what follows goes over what is remembered of all tablets, and this is asked for each table
        refusals = self.failed_loads.refusals(takers(reports.loads))
        for tablet in tablets if self.slow_loads.any() else ():
            if tablet.owner not in reports.loads and (at_it := self.slow_loads.servers_at(tablet.tablet_id)):
                refusals[tablet.tablet_id] = refusals.get(tablet.tablet_id, frozenset()) | at_it
        held, suspects = self.quarantine.held(), self.quarantine.suspects()
        return plan(ClusterSnapshot(tablets, reports.loads, reports.silent, refusals, held, suspects), pause)

    def struggling(self) -> frozenset[str]:
        """The servers that get tablets only where no other takes any: loads fail on them, or calls hang. Does not
        switch."""
        return self.failed_loads.struggling() | self.slow_loads.hanging()

    def keep_only(self, tablet_ids: Collection[int]) -> None:
        """Forgets every tablet but these."""
        self.failed_loads.keep_only(tablet_ids)
        self.quarantine.keep_only(tablet_ids)

    @switches
    def place(
        self,
        action: Action,
        schema: TableSchema,
        living: Collection[str],
        patience_seconds: float | None = WAIT_SECONDS,
    ) -> None:
        """The tablet is served on return. Conflict when its record changed since the plan; Corruption when its log or
        files are damaged; Unavailable or StaleLocation when the server could not load it now, or takes so long that it
        is left to do so. `patience_seconds`, here and below: for each server's answer; None: however long it takes."""
        if patience_seconds is not None:  # before METADATA says that the server owns it
            self.slow_loads.check_free(replace(action.record, owner=action.server))
        record = self._owned(action, schema, living, patience_seconds)
        self.slow_loads.run(record, lambda: self.load(record, schema), patience_seconds)

    @switches
    def move(
        self,
        record: TabletRecord,
        target: str,
        why: str,
        schema: TableSchema,
        living: Collection[str],
        back: str,
        patience_seconds: float | None = WAIT_SECONDS,
    ) -> None:
        """Takes the tablet from its owner, who lives, and places it on `target`; where that cannot load it, on the
        server `back`, unless it is "". Unavailable, and it stays where it is, when its owner does not give it up, or
        `target` would not be asked to load it now; MoveFailed when it was taken, and `target` has not loaded it: who
        asked must not ask again by itself, for each time the tablet would be away. Other errors of place()."""
        self.slow_loads.check_free(replace(record, owner=target))
        with self.coming.to(target, record.tablet_id):
            taken = self.taken(record, living, schema.name, patience_seconds)
            owned = self._owned(Assign(taken, target, why), schema, living, patience_seconds)
        try:
            self.slow_loads.run(owned, lambda: self.load(owned, schema), patience_seconds)
        except (LockLost, Corruption):
            raise  # no server could do better with what is damaged
        except HbtableError as error:
            whereabouts = self._brought_back(owned, back, schema, living, patience_seconds)
            raise MoveFailed(
                f"{describe(record)} is not on {target}, which did not load it: {error}. {whereabouts}"
            ) from error
        if target != record.owner:
            self.metrics.moves.value += 1

    @switches
    def _brought_back(
        self,
        record: TabletRecord,
        back: str,
        schema: TableSchema,
        living: Collection[str],
        patience_seconds: float | None,
    ) -> str:
        """Has the server `back` serve the tablet, which its owner could not load. Where it is now, as a sentence."""
        if self.slow_loads.is_left(record.tablet_id, living):
            return "If that fails, another server gets it"
        if back:
            why = f"{describe(record)} goes to {back} because its owner {record.owner} could not load it"
            try:
                self.place(Reassign(record, back, why), schema, living, patience_seconds)
            except LockLost:
                raise
            except HbtableError as error:
                log.info("master: %s was not loaded by %s either: %s", describe(record), back, error)
            else:
                return f"{back} serves it"
        return "The master's next rounds see to it that one serves it"

    @switches
    def _owned(
        self, action: Action, schema: TableSchema, living: Collection[str], patience_seconds: float | None
    ) -> TabletRecord:
        """The record by which the server is to load the tablet; METADATA has it."""
        record = action.record
        if isinstance(action, Reassign):
            reason = self.failed_loads.reason(record.tablet_id, record.owner)
            log.warning("master: %s%s", action.why, f"; what it said last: {reason}" if reason else "")
            record = self.taken(record, living, schema.name, patience_seconds)
        # Also of servers that live (bug class 39): recover() refuses those, for they may serve the tablet.
        for name in sorted(self.recoveries.missing([record], {action.server})):
            self.recoveries.recover(self.epoch, name, living)
        if not isinstance(action, Load):
            unowned, record = record, assigned(record, action.server, self.emptied)
            self._catalog.replace_tablet(unowned, record)
            self.note(record, GIVEN, action.server, action.why)
        return record

    @switches
    def taken(
        self, record: TabletRecord, living: Collection[str], table: bytes, patience_seconds: float | None = WAIT_SECONDS
    ) -> TabletRecord:
        """The tablet without its owner, who lives. Conflict when it changed meanwhile; errors of vacate."""
        current = self.vacate(record, living, table, patience_seconds)
        if current is None or current.owner or current.is_merging():
            raise Conflict(f"{describe(record)} was changed when it was to be taken from {record.owner}")
        return current

    @switches
    def load(self, record: TabletRecord, schema: TableSchema) -> None:
        self.quarantine.given(record.tablet_id, record.owner)
        try:
            with self.coming.to(record.owner, record.tablet_id):
                self._transport.tablet_admin(record.owner).load_tablet(self.epoch, record, schema)
        except LockLost:
            raise
        except HbtableError as error:
            self.metrics.failed_loads.value += 1
            self.note(record, NOT_LOADED, record.owner, str(error))
            if not isinstance(error, TabletWithheld):  # no server takes it: that is not this one's fault
                self.failed_loads.failed(record.tablet_id, record.owner, str(error))
            if not isinstance(error, OutcomeUnknown):
                self.quarantine.answered(record.tablet_id)
            raise
        self.metrics.loads.value += 1
        self.failed_loads.loaded(record.tablet_id, record.owner)
        self.quarantine.answered(record.tablet_id)

    @switches
    def owners_record(self, tablet_id: int, reports: ServerReports) -> TabletRecord | None:
        """The tablet's record as the server has it that serves the tablet; None: no server says that it does."""
        for name, load in reports.loads.items():
            if tablet_id in load.tablet_ids:
                try:
                    return self._transport.tablet_admin(name).served_record(tablet_id)
                except LockLost:
                    raise
                except HbtableError as error:  # it has left, or its server is of an older release
                    log.debug("%s does not say where tablet %d is: %s", name, tablet_id, error)
        return None

    @switches
    def place_all(
        self,
        actions: list[Action],
        schema_of: Callable[[TabletRecord], TableSchema],
        living: Collection[str],
        patience_seconds: float | None = WAIT_SECONDS,
    ) -> list[NotPlaced]:
        """Several at a time; those that failed, or were left to end by themselves."""

        def job(action: Action) -> Callable[[], None]:
            return lambda: self.place(action, schema_of(action.record), living, patience_seconds)

        outcomes = run_all(self._runtime, self._parallel_loads, [job(action) for action in actions], "place")
        return [
            NotPlaced(
                f"{describe(action.record)} could not be placed on {action.server}: {outcome}",
                isinstance(outcome, Corruption),
            )
            for action, outcome in zip(actions, outcomes, strict=True)
            if isinstance(outcome, HbtableError)
        ]

    @switches
    def compact(self, record: TabletRecord) -> int:
        """A major compaction by its owner, done on return. How many files it left out because they are damaged.
        Unavailable when it has no owner that answers; the server's own errors, as SwitchedOff."""
        if not record.owner:
            raise Unavailable(f"{describe(record)} has no server at the moment; try again")
        try:
            admin = self._transport.tablet_admin(record.owner)
            admin.compact(record.tablet_id, True)
            statuses = admin.tablets(record.table_id)
        except StaleLocation as error:
            raise Unavailable(f"{record.owner} could not compact {describe(record)}: {error}") from error
        return next((one.damaged for one in statuses if one.record.tablet_id == record.tablet_id), 0)

    @switches
    def vacate(
        self, record: TabletRecord, living: Collection[str], table: bytes, patience_seconds: float | None = WAIT_SECONDS
    ) -> TabletRecord | None:
        """Nobody serves the tablet, of the table with this name, on return, and its row has no owner, unless the row
        changed meanwhile (a split). Its row; None when that is another tablet's. Unavailable when its owner lives and
        does not answer: then it may give the tablet up later, and is placed then (given_up_late)."""
        time = TimeToAsk(ALONE_SECONDS if patience_seconds is None else AGAIN_SECONDS)
        if self.recoveries.is_dead(record.owner, living):
            return self._vacate(record, time, is_dead=True)
        found: list[TabletRecord | None] = []

        def work() -> None:
            with self.own_unloads.of(record.tablet_id):
                found.append(self._vacate(record, time))

        def if_late() -> None:
            if found[0] is not None:
                self.given_up_late(found[0], table)

        self.slow_loads.run(record, work, patience_seconds, if_late)
        return found[0]

    @switches
    def _vacate(self, record: TabletRecord, time: TimeToAsk, is_dead: bool = False) -> TabletRecord | None:
        if not is_dead:
            time.check(record.owner)
            try:
                self._ask_to_unload(record)
            except StaleLocation as error:
                raise Unavailable(f"{record.owner} does not answer, so {describe(record)} stays there") from error
            except OutcomeUnknown as error:
                self.unanswered.ask_again(record, error, time)
        current = self._catalog.read_tablet(record.table_id, record.range.stop)
        if current is None or current.tablet_id != record.tablet_id:
            return None
        # Another owner may serve it, and was not asked to unload it; so may this one, in a later generation: a load may
        # have come after it said that it does not (tabletserver.online_tablets).
        if current.owner and (current.owner, current.generation) == (record.owner, record.generation):
            # Of a dead owner no log is dropped: the next one recovers.
            vacated = released(current) if is_dead else given_back(current)
            self._catalog.replace_tablet(current, vacated)
            self.note(current, TAKEN, current.owner, "it was dead" if is_dead else "it did not serve it")
            return vacated
        return current

    @switches
    def vacate_to_disable(self, record: TabletRecord, living: Collection[str], time: TimeToAsk) -> None:
        """As vacate(). OutOfSpace, before anything is written, where a drop, which makes room, could be left without
        any for the first rows that it deletes."""
        if self.in_last_room():
            raise OutOfSpace("the last room on the disk is kept for deletes and drops")
        with self.own_unloads.of(record.tablet_id):  # its caller waits for it, so it never comes late
            self._vacate(record, time, self.recoveries.is_dead(record.owner, living))

    @switches
    def discard(self, server: str, table_id: int) -> list[str]:
        """Has a server give up its tablets of a table whose rows in METADATA are gone, with what only its memory and
        log have of them. Of those that it may still have, why. Errors of the question."""
        statuses = self._transport.tablet_admin(server).tablets(table_id)
        # Some answer with every table.
        served = [replace(one.record, owner=server) for one in statuses if one.record.table_id == table_id]

        def job(tablet: TabletRecord) -> Callable[[], None]:
            def work() -> None:
                with self.own_unloads.of(tablet.tablet_id):
                    self._ask_to_unload(tablet)

            return lambda: self.slow_loads.run(tablet, work)

        outcomes = run_all(self._runtime, self._parallel_loads, [job(tablet) for tablet in served], "discard")
        failed = zip(served, outcomes, strict=True)
        return [f"{server} still has {describe(tablet)}: {error}" for tablet, error in failed if error is not None]

    @switches
    def _ask_to_unload(self, tablet: TabletRecord) -> None:
        self._transport.tablet_admin(tablet.owner).unload_tablet(self.epoch, tablet.tablet_id)

    @switches
    def update_schema(self, server: str, table_id: int, schema: TableSchema) -> None:
        self._transport.tablet_admin(server).update_schema(self.epoch, table_id, schema)


def _never() -> bool:
    """Nobody counts the room."""
    return False
