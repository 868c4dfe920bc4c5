"""Builds a tablet server from its parts, starts and stops it (paper, section 5.2).

Start: name -> clock compared -> lock -> log -> server file (from then on the master gives it tablets) -> maintenance.
Stop, clean: draining -> maintenance off -> tablets flushed and unloaded -> log closed -> server file and lock gone.
Each step of the stop makes the one after it safe: without tablets nobody needs the log, without log nobody needs the
name.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from hbtable.access.data_checks import DataChecks
from hbtable.commitlog.interface import CommitLog
from hbtable.commitlog.opening import open_log
from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.recovery.fencing import is_fenced
from hbtable.commitlog.recovery.log_ranges import decode_range
from hbtable.commitlog.recovery.sorted_runs import SortedRun
from hbtable.commitlog.recovery.sorting import sort_range
from hbtable.commitlog.segments.segment import log_folder
from hbtable.errors import FileNotFound, HbtableError
from hbtable.fs.interface import LOCAL, FileSystem
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import SPLITS, ServerFile
from hbtable.lockservice.toggles import Toggle
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.id_allocator import TABLET_IDS, IdAllocator
from hbtable.metadata.numbers_in_use import latest_log
from hbtable.metadata.tablet_history import TabletHistory
from hbtable.metrics.registry import Registry
from hbtable.model.schema import TableSchema
from hbtable.model.tablet import FIRST_FREE_TABLET_ID, TabletRecord
from hbtable.model.tablet_event import NOT_SPLIT
from hbtable.quotas.quotas_file import WatchedQuotas
from hbtable.quotas.throttling import Throttling
from hbtable.rpc.services import TabletService
from hbtable.runtime.interface import Runtime
from hbtable.sstable.cache import BlockCache
from hbtable.switches import switches
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.shared import SharedState
from hbtable.tablet.start_clock import refuse_other_time
from hbtable.tablet.tablet import Tablet
from hbtable.tabletserver.commits import RecordCommits
from hbtable.tabletserver.draining import Draining
from hbtable.tabletserver.family_usage import FAMILY_MEASURES, FamilySamples
from hbtable.tabletserver.guarded_service import GuardedTabletService
from hbtable.tabletserver.highest_id import highest_tablet_id
from hbtable.tabletserver.hot_tablets import HotTablets
from hbtable.tabletserver.maintenance import Maintenance
from hbtable.tabletserver.maintenance_plan import MaintenanceOptions
from hbtable.tabletserver.membership import Membership, new_incarnation
from hbtable.tabletserver.online_tablets import OnlineTablets
from hbtable.tabletserver.server import TabletServer
from hbtable.tabletserver.split import Splitter
from hbtable.tabletserver.suspension import Suspension
from hbtable.tabletserver.tabletserver_admin import TabletServerAdmin
from hbtable.tabletserver.throttled_service import ThrottledTabletService

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TabletServerOptions:
    """One tablet server."""

    block_cache_bytes: int = 128 << 20
    """Memory for blocks of SSTables. Larger: fewer reads from the file system."""
    parallel_unloads: int = 8
    """Tablets flushed at a time when the server stops. More: faster stop, more memory."""
    drain_wait_seconds: float = 30.0
    """The time for which a server that stops keeps METADATA for others that stop too and still have tablets to give up.
    Longer: slower ones need no recovery at the next start."""
    suspended_seconds: float = 10.0
    """The time for which answers and commits wait while the lock service cannot be reached and the lease has run out.
    Longer: a longer absence of the service is seen as slowness instead of errors, and more requests wait meanwhile."""
    throttled_wait_seconds: float = 1.0
    """The longest that a call waits for a quota before it is refused. Longer: fewer errors for clients that do not try
    again, and more of their calls wait meanwhile."""
    shares_folder: bool = False
    """Whether other tablet servers of this machine work in the same folder, and take over what this one has to give up.
    On a cluster's file system they always do."""
    log: LogOptions = field(default_factory=LogOptions)
    tablet: TabletOptions = field(default_factory=TabletOptions)
    maintenance: MaintenanceOptions = field(default_factory=MaintenanceOptions)


class TabletServerRole:
    """A tablet server, built from its parts. `service` and `admin` are what a transport offers to others. `on_lost` is
    called once when the lock is lost: the process must stop."""

    failure = ""
    """After stop(): why it may be that not all is stored that was acknowledged; "": all is well."""

    @switches
    def __init__(
        self,
        runtime: Runtime,
        session: Session,
        fs: FileSystem,
        catalog: Catalog,
        registry: Registry,
        on_lost: Callable[[], None],
        options: TabletServerOptions,
    ) -> None:
        self._runtime = runtime
        self._fs = fs
        self._options = options
        self._on_lost = on_lost
        self._has_peers = options.shares_folder or fs.log_kind != LOCAL
        self.incarnation = new_incarnation(session, runtime, lambda: _latest_log(fs))
        self.shared = shared = _shared(runtime, self.incarnation, registry, options)
        refuse_other_time(runtime, fs, shared.wall.millis, options.tablet.max_clock_skew_seconds)
        self._membership = Membership(session, self.incarnation)
        # Lock, log, server file: the collector takes the log of a server that it does not know for garbage, and
        # METADATA never names a log that is not there.
        self._membership.claim()
        self.commit_log = self._open_log(registry)
        self.cache = _block_cache(options.block_cache_bytes, registry)
        suspension = Suspension(runtime, session, options.suspended_seconds)
        self._commits = RecordCommits(catalog, self._abandon, suspension.outwait)
        self._history = TabletHistory(runtime, catalog.calls, session, fs.log_kind != LOCAL, self.incarnation)
        self._online_tablets = online_tablets = self._make_online_tablets(catalog, suspension.outwait)
        tablet_ids = _tablet_ids(session, online_tablets, catalog)
        splitter = Splitter(
            online_tablets,
            catalog,
            self._commits,
            tablet_ids.next,
            self.shared.wall.millis,
            Toggle(session, SPLITS).is_on,
            insist=self._has_peers,
        )
        self._maintenance = Maintenance(
            runtime,
            online_tablets.tablets,
            self.commit_log,
            shared,
            splitter.split,
            session,
            options.maintenance,
            options.tablet.memtable_bytes,
            self._hot_tablets(registry),
        )
        throttling = Throttling(runtime, options.throttled_wait_seconds, registry)
        self._quotas = WatchedQuotas(runtime, session, throttling.use)
        self.service = self._service(session, suspension, registry, throttling)
        self.admin = self._administration(splitter, suspension.refuse)
        self._measure(registry)

    def guard(self, checks: DataChecks) -> None:
        """Calls are carried out for users who may make them, from now on. Before `service` is given to anybody."""
        self.service = GuardedTabletService(self.service, self._online_tablets.tablets, checks)

    def _service(
        self, session: Session, suspension: Suspension, registry: Registry, throttling: Throttling
    ) -> TabletService:
        server = TabletServer(
            self.incarnation,
            self._online_tablets.tablets,
            session.valid,
            suspension.wait,
            self._lose,
            registry,
            self._online_tablets.refused,
        )
        self.shared.may_compact = throttling.may_compact
        return ThrottledTabletService(server, self._online_tablets.tablets, throttling)

    def _administration(self, splitter: Splitter, refuse: Callable[[], None]) -> TabletServerAdmin:
        merging = self._maintenance.merging
        return TabletServerAdmin(
            self._runtime,
            self._online_tablets,
            splitter,
            self.shared,
            refuse,
            self._sort_range,
            self.cache,
            merging,
            self.commit_log.roll,
            self._membership.master_epoch,
            lambda: [*self._runtime.deaths.ever(), *self.broken()],
        )

    def _make_online_tablets(self, catalog: Catalog, check: Callable[[], None]) -> OnlineTablets:
        return OnlineTablets(
            self._runtime,
            self.incarnation,
            catalog,
            self._open_tablet,
            check,
            self.commit_log.highest_needed,
            self._left_unflushed,
            shares_cluster=self._has_peers,
            note=self._history.note,
        )

    def _hot_tablets(self, registry: Registry) -> HotTablets | None:
        """None on a single server: the halves of a tablet would be as much for it as the whole."""
        if not self._has_peers:
            return None

        def note(record: TabletRecord, why: str) -> None:
            self._history.note(record, NOT_SPLIT, self.incarnation, why)

        tablets = self._online_tablets.tablets
        return HotTablets(self._runtime, tablets, self.shared.wall.millis, note, registry, self._options.maintenance)

    def _measure(self, registry: Registry) -> None:
        tablets = self._online_tablets.tablets
        registry.gauge("hbtable_tablets", "Tablets served.", lambda: float(len(tablets)))
        damaged = "Tablets with damage: files that cannot be read whole, or lost writes in a log."
        registry.gauge("hbtable_damaged_tablets", damaged, lambda: float(self._online_tablets.damaged_tablets()))
        registry.gauge(
            "hbtable_damaged_files",
            "SSTables and logs that reads found damaged or missing.",
            lambda: float(len(self._online_tablets.damage())),
        )
        registry.gauge(
            "hbtable_sstables",
            "SSTables that reads look into; those that split children share count for each.",
            lambda: float(sum(tablet.status().sstables for tablet in tablets.values())),
        )
        registry.gauge(
            "hbtable_compaction_queue", "Tablets that wait for a merging compaction.", self._maintenance.waiting
        )
        registry.gauge("hbtable_block_cache_bytes", "Memory of the block cache.", lambda: float(self.cache.used_bytes))
        registry.gauge(
            "hbtable_clock_ahead_seconds",
            "How far the recorded time of a tablet is ahead of the clock, of the one that is ahead most.",
            lambda: max((tablet.clock_ahead_millis for tablet in tablets.values()), default=0) / 1000,
        )
        registry.gauge(  # as launch's pages have it: a database of hbtable.open() has no pages
            "hbtable_task_deaths",
            "How often a background task died of a bug.",
            lambda: float(self._runtime.deaths.total),
        )
        registry.gauge(
            "hbtable_log_broken",
            "1 since the commit log failed: nothing is written until this process is started again.",
            lambda: float(bool(self.commit_log.broken)),
        )
        samples = FamilySamples()
        registry.listing(FAMILY_MEASURES, lambda: samples.of(self.admin.accounts()))
        registry.gauge("hbtable_log_bytes", "Commit log that recovery would read.", lambda: self.commit_log.size_bytes)

    @switches
    def start(self, address: str = "", gateway: str = "") -> None:
        """The master may assign tablets from now on. LockLost when the session ended meanwhile. `address`: by which
        other roles reach this server; "": they are all in this process. `gateway`: of the gateway beside it."""
        self._quotas.start()
        self._membership.join(ServerFile(address, self._runtime.wall_millis(), self._fs.log_kind, door=gateway))
        self._maintenance.start()

    def serves_tablets(self) -> bool:
        """Does not switch."""
        return bool(self._online_tablets.tablets)

    def end_serving(self) -> None:
        """Ends serving at once, and flushes nothing: the process must end, and others recover the tablets from its log.
        Does not switch. Idempotent."""
        self._online_tablets.end()

    def broken(self) -> list[str]:
        """The reason why this server takes no writes until it is started again, if there is one, for people. Does not
        switch."""
        return [reason] if (reason := self.commit_log.broken) else []

    def damage(self) -> list[str]:
        """A message about each damaged file that its tablets have met."""
        return self._online_tablets.damage()

    @switches
    def finish_merges(self, limit_bytes: int) -> None:
        """Has merges that are due of tablets of up to `limit_bytes` end before it returns. For a process that may never
        run for long."""
        self._maintenance.finish_merges(limit_bytes)

    @switches
    def drain(self) -> None:
        """Every tablet is flushed and unloaded on return, and the next start needs no log. Unavailable when one could
        not be: it is still served, and the log still has what it needs."""
        try:
            self._membership.drain()
        except FileNotFound:
            log.warning("%s was declared dead; its tablets are unloaded all the same", self.incarnation)
        self._maintenance.stop()
        parallel, wait = self._options.parallel_unloads, self._options.drain_wait_seconds
        Draining(self._runtime, self._membership, self._online_tablets, parallel, wait, self._history.stop).drain()
        self._maintenance.join()

    @switches
    def stop(self, clean: bool = True) -> None:
        """Not clean: nothing is flushed, the log stays needed, and the tablets are recovered from it at the next start;
        so is what a failed drain leaves."""
        self._quotas.stop()
        if clean:
            try:
                self.drain()
            except HbtableError as error:
                log.warning("%s stops without having flushed everything: %s", self.incarnation, error)
        else:
            self._maintenance.stop()
        self._history.stopped = True
        left = list(self._online_tablets.tablets.values())
        self._online_tablets.end()
        for tablet in left:
            tablet.close()
        try:
            self.commit_log.close()
        except HbtableError as error:
            self.failure = f"the commit log could not be closed cleanly: {error}"
            log.warning("%s: %s", self.incarnation, self.failure)
        self._membership.leave()

    @switches
    def _open_tablet(self, record: TabletRecord, schema: TableSchema) -> Tablet:
        self.shared.loading += 1
        try:
            return Tablet.load(
                self._runtime,
                self._fs,
                self.commit_log,
                record,
                schema,
                self._options.tablet,
                self.cache,
                self.shared,
                self._commits.commit,
            )
        finally:
            self.shared.loading -= 1

    @switches
    def _open_log(self, registry: Registry) -> CommitLog:
        fs, incarnation = self._fs, self.incarnation
        fenced, has_peers = partial(is_fenced, fs, incarnation), self._options.shares_folder
        return open_log(self._runtime, fs, incarnation, self._options.log, registry, fenced, self._lose, has_peers)

    @switches
    def _sort_range(self, incarnation: str, part: bytes) -> SortedRun:
        return sort_range(self._runtime, self._fs, log_folder(incarnation), decode_range(part))

    def _left_unflushed(self) -> None:
        if self._has_peers:  # alone, nobody else could serve its tablets meanwhile
            self._lose()

    def _lose(self) -> None:
        # What is asked from now on was surely not applied: StaleLocation, which may be retried elsewhere.
        self._online_tablets.end()
        self._on_lost()

    def _abandon(self, record: TabletRecord) -> None:
        self._online_tablets.abandon(record)


def _shared(runtime: Runtime, incarnation: str, registry: Registry, options: TabletServerOptions) -> SharedState:
    # Maintenance flushes at the limit; twice the limit is where writers wait for it.
    limit = 2 * options.maintenance.total_memtable_bytes
    return SharedState(runtime, incarnation, registry, limit, options.tablet.max_clock_skew_seconds)


def _block_cache(capacity_bytes: int, registry: Registry) -> BlockCache:
    return BlockCache(
        capacity_bytes,
        registry.counter("hbtable_block_cache_hits_total", "Blocks found in the block cache."),
        registry.counter("hbtable_block_cache_misses_total", "Blocks read from the file system."),
        registry.counter("hbtable_block_cache_evictions_total", "Blocks that made room for others."),
        denied=registry.counter("hbtable_bloom_negative_total", "SSTables a read left out thanks to their filter."),
    )


@switches
def _latest_log(fs: FileSystem) -> int:
    """A shared file system has the logs of a whole cluster: there the master looks after the counter of starts."""
    return latest_log(fs) if fs.log_kind == LOCAL else 0


@switches
def _tablet_ids(session: Session, online_tablets: OnlineTablets, catalog: Catalog) -> IdAllocator:
    in_use = highest_tablet_id(online_tablets.tablets, catalog)
    return IdAllocator(session, TABLET_IDS, FIRST_FREE_TABLET_ID, in_use=in_use, makes=False)
