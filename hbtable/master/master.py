"""The master (paper, sections 4 and 5.2): one at a time, by a lock; everything it knows it reads again.

cycle() is all it does: look who lives, see that everything is served (reconciler.py), and now and then begin what goes
on beside it, such as a collection of garbage. It returns the message it decided. Nothing is remembered between two
cycles but what saves work or spares servers (failed_loads.py, quarantine.py), so a new master just runs cycle().
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from hbtable.errors import Conflict, HbtableError, InvalidConfiguration, LockLost, Unavailable
from hbtable.fs.interface import LOCAL, FileSystem
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import MERGES, SERVERS, MasterCandidate, candidate_lock
from hbtable.lockservice.toggles import Toggle
from hbtable.master.bootstrap import bootstrap
from hbtable.master.files.collector import Collected, CollectionTimes, Collector, CollectorOptions
from hbtable.master.full_disk_start import FullDiskStart
from hbtable.master.mastership import Mastership
from hbtable.master.metrics import MasterMetrics
from hbtable.master.new_ids import NewIds
from hbtable.master.own_changes import OwnFiles, OwnSession
from hbtable.master.reconciler import Reconciler
from hbtable.master.servers.liveness import expire_server
from hbtable.master.servers.log_sorting import LogSorting, LogSortingOptions
from hbtable.master.servers.server_reports import ReportCollector, ServerReports
from hbtable.master.service import MasterCalls
from hbtable.master.space_quotas import SpaceQuotas
from hbtable.master.state_counter import StateCounter
from hbtable.master.tables.tables import TableOperations
from hbtable.master.tablets.left_tablets import LeftTablets
from hbtable.master.tablets.normalizer import Normalizer
from hbtable.master.tablets.normalizing import NormalizerOptions
from hbtable.master.tablets.placement import Placement
from hbtable.master.tablets.quarantine import QuarantineOptions
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.locator import Locator, LocatorOptions
from hbtable.metadata.retry_policy import RetryPolicy
from hbtable.metadata.tablet_history import TabletHistory
from hbtable.metrics.registry import Registry
from hbtable.model.status import EVERY_TABLE, Collection
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.supervision import spawn_counted, supervise
from hbtable.switches import switches
from hbtable.tablet.files import shared_file
from hbtable.tablet.start_clock import refuse_other_time
from hbtable.tablet.wall_clock import SteadyWallClock

log = logging.getLogger(__name__)

_ALL_SERVED = "everything is served"
_LONGEST_DOUBLING = 10
_ROUNDS = 1000
_SHORT_PAUSE_SECONDS = 0.02
_MAX_CLOCK_SKEW_SECONDS = 300.0
"""A jump of the wall clock by more is refused: it would make all garbage old, which is kept for a while on purpose."""


@dataclass(frozen=True, slots=True)
class MasterOptions:
    """Options: how often the master looks, and how much it does at once."""

    period_seconds: float = 1.0
    """Time between looks at the servers folder; a change there wakes the master at once. Longer: a death that was
    not announced is noticed later."""
    scan_seconds: float = 30.0
    """Time between scans of METADATA when no server came or went. Longer: less reading, later repair of a split
    whose server died right after the commit."""
    lock_retry_seconds: float = 1.0
    """Seconds between a standby master's tries for the lock. Longer: later takeover."""
    metadata_patience_seconds: float = 0.25
    """The time for which a step waits for a METADATA tablet before the master looks again who serves it. Longer:
    METADATA is brought back later when its server dies during a step."""
    suspended_seconds: float = 5.0
    """A master that could not reach the lock service for so long after its lease ran out stops, so that another one
    takes over. Half a session, which is what 0 means to a cluster's roles. Longer: fewer changes of masters, later
    takeover."""
    balance_after_seconds: float = 10.0
    """Tablets are evened out when no server came or went for so long. Longer: a server that is restarted gets its
    share later, and a cluster that is being started moves fewer tablets."""
    parallel_loads: int = 16
    """Tablets loaded or unloaded at a time. More: faster recovery, more memory and disk seeks at once."""

    def __post_init__(self) -> None:
        if self.parallel_loads < 1 or self.period_seconds <= 0:
            raise InvalidConfiguration("parallel_loads is at least 1 and period_seconds above 0")


class Master:
    """One candidate for mastership. `calls` serves rpc.services.MasterService while this is the master."""

    def __init__(
        self,
        runtime: Runtime,
        session: Session,
        fs: FileSystem,
        transport: Transport,
        on_lost: Callable[[], None],
        options: MasterOptions | None = None,
        collector_options: CollectorOptions | None = None,
        sorting_options: LogSortingOptions | None = None,
        quarantine_options: QuarantineOptions | None = None,
        registry: Registry | None = None,
        normalizer_options: NormalizerOptions | None = None,
    ) -> None:
        """`on_lost` is called when the lock is lost: the process must stop being master."""
        self._runtime, self._session, self._fs, self._transport = runtime, session, fs, transport
        self._on_lost = on_lost
        self._options = options = options or MasterOptions()
        locator = Locator(session, transport, runtime, _impatient(self._options.metadata_patience_seconds))
        mastership = self._mastership = Mastership(runtime, session, fs, options.suspended_seconds, self._lose)
        change = mastership.check_change
        session, fs = OwnSession(session, change), OwnFiles(fs, change)
        self._own_session, self._own_fs = session, fs
        self._catalog = catalog = Catalog(session, locator, fs, change)
        garbage, many = collector_options or CollectorOptions(), options.parallel_loads
        logs = LogSorting(runtime, fs, transport, lambda name: expire_server(session, name), sorting_options)
        self._metrics = metrics = MasterMetrics(registry or Registry())
        history = self._history = TabletHistory(runtime, locator.calls, session, kept=fs.log_kind != LOCAL)
        self._placement = Placement(runtime, catalog, transport, logs, many, quarantine_options, metrics, history.note)
        check, check_own, admit = mastership.check, mastership.check_own, mastership.admit
        collector = self._report_collector = ReportCollector(runtime, session, transport, metrics.count_death)
        unnamed: set[int] = set()
        wall = self._wall = SteadyWallClock(runtime, _MAX_CLOCK_SKEW_SECONDS, Registry(), "the master goes on").millis
        self._collector = Collector(runtime, fs, catalog, transport, check_own, garbage, unnamed, wall)
        new_ids = NewIds(session, fs, catalog)
        placing, shared, looks, wake = self._placement, partial(shared_file, fs), self.reports, self.request_cycle
        self.tables = tables = TableOperations(
            runtime, session, catalog, placing, looks, admit, new_ids, many, shared, unnamed, wake, wall
        )
        self._collector.exclude_truncates = tables.late_truncates.exclude
        self._left = LeftTablets(runtime, catalog, placing, collector, self.reports, wake)
        act, rules = (check, wall, self.wake), normalizer_options
        self._normalizer = Normalizer(runtime, session, catalog, transport, looks, tables, metrics, *act, rules)
        self._space = SpaceQuotas(runtime, session, catalog, tables, check, self.wake)
        self.calls = self._offered(Toggle(session, MERGES))
        self._reconciler = Reconciler(runtime, catalog, self._placement, self.tables, self.reports, new_ids.saw)
        self.last_message = "the master has not worked yet"
        self._wake = runtime.event()
        self._stopping = self._announced = self._system_served = False
        self._task: Task | None = None
        self._full_disk_start = FullDiskStart(
            runtime, fs, catalog, transport, lambda: self._collect_now(rows=False), partial(expire_server, session)
        )
        self._placement.emptied = self._full_disk_start.emptied
        self._looked_at: tuple[object, ...] | None = None
        """ServerReports.seen() at the last cycle that found nothing it could do; None after one that did something."""
        self._cycle_asked_for = False
        """Since the present cycle began, or the last one ended."""
        self._scan_due, self._failures, self._servers, self._servers_since = 0.0, 0, frozenset[str](), 0.0
        self.collections, self._states = CollectionTimes(runtime, garbage), StateCounter(runtime, session, fs, check)

    def _offered(self, merges: Toggle) -> MasterCalls:
        admit, deaths = self._mastership.admit, self._runtime.deaths.ever
        ask, normalizer = self.request_cycle, self._normalizer
        return MasterCalls(self.tables, admit, self._collected, ask, merges, normalizer, self._space, deaths)

    # ---------------------------------------------------------------- life

    @switches
    def acquire(self, address: str = "") -> None:
        """Becomes the master, or Conflict when there is one. Makes the cluster when there is none."""
        self._placement.epoch = self._mastership.take(address)
        bootstrap(self._runtime, self._own_session, self._own_fs, self._catalog)
        self._reconciler.on_left_over(self.request_cycle)
        self._session.watch(SERVERS, self.wake)

    def start(self, address: str = "") -> None:
        """Spawns the task that waits for the lock and then works until stop()."""
        self._task = supervise(self._runtime, lambda: self._live(address), name="master")
        self._mastership.start()

    @switches
    def stop(self, patience_seconds: float | None = None) -> None:
        """Ends the task after the step it is in, and frees the lock. Idempotent. What has not ended after
        `patience_seconds` is left, as at a death: a server that hangs keeps no next master waiting."""
        self._stopping = self._placement.unanswered.ends = True
        self._mastership.end()
        self._wake.set()
        ending = spawn_counted(self._runtime, self._end_work, name="end of the master's work")
        in_time = ending.join(patience_seconds)
        self._mastership.stop()
        self._states.stop()
        self._mastership.resign()
        if not in_time:
            ending.kill()
            log.warning("master: it stops beside calls that servers have not answered within %g s", patience_seconds)
        self._history.stop()
        if in_time and ending.error is not None:
            raise ending.error

    @switches
    def _end_work(self) -> None:
        if self._task is not None:
            self._task.join()
            self._task = None
        self._left.stop()
        self.tables.relocations.stop()
        self._reconciler.stop()
        self._normalizer.stop()
        self._space.stop()
        self.collections.stop()

    @property
    def acting(self) -> bool:
        """Whether this one is the master, and not a standby."""
        return self._mastership.acting

    def wake(self) -> None:
        """Work now. Does not switch."""
        self._wake.set()

    def request_cycle(self) -> None:
        """Work now, and look at every tablet whether or not servers came or went. Does not switch."""
        self._cycle_asked_for = True
        self._wake.set()

    @switches
    def reports(self, table_id: int = EVERY_TABLE) -> ServerReports:
        return self._report_collector.collect(self._placement.struggling(), table_id)

    @switches
    def _announce(self, address: str) -> None:
        """Whoever asks how many stand by finds it among the masters, until the session ends."""
        about = MasterCandidate(address, self._runtime.wall_millis())
        self._session.lock(candidate_lock(self._session.session_id), about.encode())

    @switches
    def _live(self, address: str) -> None:
        # The embedded one has no address, and nobody stands by beside it. Started again after a bug, this task may be
        # announced, and the master, already.
        compared = self.acting
        acquired, announced = self.acting, self._announced or not address
        while not self._stopping and not acquired:
            try:
                if not compared:
                    refuse_other_time(self._runtime, self._fs, self._wall, _MAX_CLOCK_SKEW_SECONDS)
                    compared = True
                if not announced:
                    self._announce(address)
                    announced = self._announced = True
                self.acquire(address)
                acquired = True
            except LockLost as error:
                self._lose(str(error))
                return
            except Conflict:
                self._runtime.sleep(self._options.lock_retry_seconds)
            except HbtableError as error:
                if not compared and isinstance(error, InvalidConfiguration):
                    log.error("master: %s", error)
                    self._lose(str(error))  # what this process has counted since is wrong as well
                    return
                # It may hold the lock by now, in which case nobody else can be master: again, from the start.
                self._note(f"could not become master: {error}")
                self._runtime.sleep(self._options.lock_retry_seconds)
        if acquired:
            self._states.start()
            self._left.start()
        while not self._stopping:
            self._wake.clear()
            failed = False
            try:
                with self._metrics.cycle(self._runtime.clock_seconds):
                    self._note(self.cycle())
            except LockLost as error:
                self._lose(str(error))
                return
            except HbtableError as error:
                self._looked_at = None
                failed = True
                self._note(f"could not finish: {error}")
            # After work the next look comes at once, yet not so soon that a step without effect becomes a busy loop.
            idle = failed or self._looked_at is not None
            self._wake.wait(self._options.period_seconds if idle else _SHORT_PAUSE_SECONDS)

    def _lose(self, why: str) -> None:
        if self._stopping:
            return  # in order, or for this
        self._note(f"{why}; this master stops, another one takes over")
        self._stopping = True
        self._mastership.end()
        self._wake.set()
        self._on_lost()

    def _note(self, message: str) -> None:
        if message != self.last_message:
            log.info("master: %s", message)
        self.last_message = message

    # ---------------------------------------------------------------- the cycle

    @switches
    def cycle(self) -> str:
        """One round. Returns what it decided; `everything is served` when there was nothing to do."""
        self._mastership.check()
        reports = self.reports()
        self._metrics.saw_servers(reports)
        now = self._runtime.clock_seconds()
        if self._servers != reports.living:
            self._servers, self._servers_since = reports.living, now
            self._states.soon()
        balanced_at = self._servers_since + self._options.balance_after_seconds
        if self._looked_at == reports.seen() and now < self._scan_due and not self._cycle_asked_for:
            self._begin_what_is_due()
            return self.last_message
        self._looked_at = None
        # What is asked for from here on may be for a tablet that this cycle has passed already.
        self._cycle_asked_for = False
        self._system_served = False
        try:
            message, waits = self._reconciler.system(reports)
            self._system_served = not message
        finally:  # also where nobody can read it
            self._metrics.saw_metadata(self._system_served)
        if self._system_served:
            self._full_disk_start.give_back(reports, self.collections.out_of_space())
            message, waits = self._reconciler.users(reports, now >= balanced_at, self._wake.is_set)
        if waits:
            self._failures = min(self._failures + 1, _LONGEST_DOUBLING)
            pause = min(self._options.scan_seconds, self._options.period_seconds * 2**self._failures)
        else:
            self._failures = 0
            pause = self._options.scan_seconds
        if message and not waits:
            return message  # something was done: look again at once whether that was all
        # A tablet that could not be placed is tried again soon, and less and less often, or when servers come and go.
        self._looked_at = reports.seen()
        self._scan_due = min(now + pause, balanced_at) if now < balanced_at else now + pause
        # On a full disk a table may wait for room, and callers who try again ask for one cycle after the other.
        if not message or self.collections.out_of_space():
            self._begin_what_is_due()
        return message or _ALL_SERVED

    @switches
    def settle(self) -> None:
        """Cycles until all that can be served is, for starts and tests. Unavailable when METADATA cannot be; a user
        tablet that cannot be is only logged, and tried again by the task."""
        for _ in range(_ROUNDS):
            self._note(self.cycle())
            if self._reconciler.at_work():
                self._reconciler.finish()
                self._cycle_asked_for = True  # the last cycle's answer was of before: a log is recovered by now, say
            elif self._looked_at is not None and not self._cycle_asked_for:
                break
        if not self._system_served:
            raise Unavailable(f"METADATA is not served: {self.last_message}")

    def _begin_what_is_due(self) -> None:
        self._normalizer.begin_if_due()
        self._space.begin_if_due()
        if self._system_served:  # without METADATA it would come to nothing
            self.collections.begin_if_due(self._collect_by_itself)

    @switches
    def _collect_by_itself(self) -> None:
        if message := self.collect_garbage():
            log.info("master: %s", message)

    def watch_room(self, out_of_space: Callable[[], bool], in_last_room: Callable[[], bool]) -> None:
        """On a full disk nothing is written that can wait. In the last room only what makes more room is written.
        Garbage is deleted at once."""
        self.collections.out_of_space = self._placement.logs.out_of_space = self._normalizer.rests = out_of_space
        self._placement.in_last_room = in_last_room

    @switches
    def collect_garbage(self) -> str:
        """One collection now; what it did, "" when there was no garbage."""
        return self._collect_now().message

    @switches
    def _collect_now(self, rows: bool = True) -> Collected:
        collected = self._collector.collect(self.reports, self.collections.out_of_space(), rows)
        for incarnation in collected.dead_logs:
            self._placement.recoveries.forget(incarnation)
        return collected

    @switches
    def _collected(self) -> Collection:
        """One that was asked for."""
        try:
            collected = self._collect_now()
        except LockLost as error:
            raise Unavailable(f"{error}; ask that one") from error  # as in admit(); and it may be asked for twice
        if collected.message:
            log.info("master: %s, because it was asked to", collected.message)
        return collected.result


def _impatient(seconds: float) -> LocatorOptions:
    """The options of a locator that gives up soon: while the master waits for METADATA nobody brings METADATA back."""
    return LocatorOptions(retry_policy=RetryPolicy(deadline_seconds=seconds, longest_pause_seconds=seconds / 4))
