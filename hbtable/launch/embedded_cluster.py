"""The composition root of the single machine: one master and one tablet server in one process (design, idea 1).

The same roles as on a cluster, with the embedded transport between them; fs, lock service and runtime are handed in, so
tests run it on simulated ones.
"""

import logging
import math
from dataclasses import dataclass, field, replace
from typing import Final

from hbtable.client.client import Client
from hbtable.client.options import ClientOptions
from hbtable.client.suspects import Marks, Suspects
from hbtable.errors import HbtableError
from hbtable.fs.ballast import Ballast, BallastOptions
from hbtable.fs.interface import DiskSpace, FileSystem
from hbtable.lockservice import features
from hbtable.lockservice.interface import LockService, Session
from hbtable.master.files.collector import CollectorOptions
from hbtable.master.files.trash import TRASH
from hbtable.master.master import Master, MasterOptions
from hbtable.master.tablets.normalizing import NormalizerOptions
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.locator import Locator, LocatorOptions
from hbtable.metrics.registry import Registry
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.read_only import ReadOnlyTransport
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches
from hbtable.tabletserver.role import TabletServerOptions, TabletServerRole

log = logging.getLogger(__name__)

_MERGED_AT_STOP_BYTES: Final = 64 << 20
"""An orderly stop merges what is due of tablets up to this size: larger ones would keep it waiting, and have lived long
enough to be merged meanwhile."""


@dataclass(frozen=True, slots=True)
class EmbeddedOptions:
    """The options of every part."""

    server: TabletServerOptions = field(default_factory=TabletServerOptions)
    master: MasterOptions = field(default_factory=MasterOptions)
    disk: BallastOptions = field(default_factory=BallastOptions)
    collector: CollectorOptions = field(default_factory=CollectorOptions)
    client: ClientOptions = field(default_factory=ClientOptions)
    locator: LocatorOptions = field(default_factory=LocatorOptions)
    normalizer: NormalizerOptions = field(default_factory=NormalizerOptions)


class EmbeddedCluster:
    """A master and a tablet server in this process. start() once, stop() once. `client`, `server` and `master` exist
    between the two."""

    client: Client
    server: TabletServerRole
    master: Master

    def __init__(
        self,
        runtime: Runtime,
        fs: FileSystem,
        lock_service: LockService,
        options: EmbeddedOptions | None = None,
        registry: Registry | None = None,
        room: DiskSpace | None = None,
        marks: Marks | None = None,
        refusal: str = "",
    ) -> None:
        """`room`: of the disk below `fs`; without it none is kept back for a full one. `marks`: without them nobody
        knows at the next start what this process was at when it died. `refusal`: why clients may change nothing; then
        no file is replaced or collected, either."""
        self._runtime = runtime
        self._fs = fs
        self.log_kind = fs.log_kind
        self._lock_service = lock_service
        options = options or EmbeddedOptions()
        self._options = _only_read(options) if refusal else options
        self.registry = registry or Registry()
        self.transport = LocalTransport()
        self.session: Session
        self._marks = marks
        self._refusal = refusal
        self._ballast = Ballast(runtime, fs, room, self._options.disk) if room is not None else None
        self.lost = runtime.event()
        """Set when the lock is lost: this process must stop."""

    @switches
    def start(self) -> None:
        """Every tablet that can be served is on return; one that cannot is logged. Conflict when another process runs
        on the same lock service."""
        runtime, options = self._runtime, self._options
        self._begin_ballast()
        self.session = session = self._lock_service.open_session("hbtable")
        try:
            features.check(session)  # before anything is read or written
            locator = Locator(session, self.transport, runtime, options.locator)
            catalog = Catalog(session, locator, self._fs)
            self.master = Master(
                runtime,
                session,
                self._fs,
                self.transport,
                self.lost.set,
                options.master,
                options.collector,
                registry=self.registry,
                normalizer_options=options.normalizer,
            )
            # Before anything else: whoever holds the master's lock is alone on this machine's files.
            self.master.acquire()
            self.server = TabletServerRole(
                runtime, session, self._fs, catalog, self.registry, self.lost.set, options.server
            )
            self.server.shared.compactions_on = not self._refusal
            self._watch_room()
            self.server.start()
            self.transport.register_server(self.server.incarnation, self.server.service, self.server.admin)
            self.transport.register_master(self.master.calls)
            suspects = Suspects(runtime, session, self._marks)
            suspects.start()
            transport = ReadOnlyTransport(self.transport, self._refusal) if self._refusal else self.transport
            self.client = Client(runtime, session, transport, options.client, locator, suspects)
            self.master.settle()
            self.master.collections.replaced_bytes = lambda: self.server.shared.replaced_bytes
            if not self._refusal:
                self.master.collections.soon()  # what the last process left: this one may end before a period does
            if self._ballast is not None:
                self._ballast.started()
            self.master.start()
        except BaseException:
            session.close()
            self._end_ballast()
            raise

    @switches
    def stop(self, clean: bool = True) -> str:
        """Clean: everything is in SSTables on return, so the next start reads no log. Otherwise what a crash would
        leave, but for the tidy end of the log. "", or what went so wrong that the process should say so by its exit
        code."""
        failure = ""
        # The master first: it would give tablets back that the server unloads.
        self.transport.register_master(None)
        if clean:
            self._tidy()
        try:
            self.master.stop()
            self.server.stop(clean)
            failure = self.server.failure
        except HbtableError as error:
            log.warning("not everything could be stopped in order; the next start recovers it: %s", error)
            failure = str(error)
        self.transport.remove_server(self.server.incarnation)
        self.session.close()
        self._end_ballast()
        return failure

    @switches
    def _begin_ballast(self) -> None:
        """Before anything is written, for there may be no room at all."""
        if self._ballast is not None:
            self._ballast.start()
            if self._ballast.full:
                self._fs.delete_folder(TRASH)

    def _watch_room(self) -> None:
        ballast = self._ballast
        if ballast is None:
            return
        shared = self.server.shared
        shared.room_bytes, shared.last_room_bytes = ballast.free_bytes, ballast.last_room_bytes
        shared.kept_bytes = ballast.kept_bytes
        self.master.watch_room(lambda: bool(ballast.full), lambda: not shared.has_room_for(0))
        ballast.on_change = lambda: shared.set_out_of_space(ballast.full)
        ballast.on_change()
        self.registry.gauge(
            "hbtable_out_of_space", "1 while the disk is full and puts are refused.", lambda: float(bool(ballast.full))
        )

    @switches
    def _end_ballast(self) -> None:
        if self._ballast is not None:
            self._ballast.stop()

    @switches
    def _tidy(self) -> None:
        """A process that always ends before maintenance and collections begin would leave everything it overwrites."""
        try:
            self.server.finish_merges(_MERGED_AT_STOP_BYTES)
            self.master.collect_garbage()
        except HbtableError as error:
            log.warning("garbage was not collected and stays for the next start: %s", error)


def _only_read(options: EmbeddedOptions) -> EmbeddedOptions:
    """The options without garbage collection, splits and merges: over an overlay these would keep whole files in
    memory."""
    collector = replace(options.collector, period_seconds=math.inf)
    maintenance = replace(options.server.maintenance, split_bytes=0)
    normalizer = replace(options.normalizer, period_seconds=0)
    server = replace(options.server, maintenance=maintenance)
    return replace(options, collector=collector, server=server, normalizer=normalizer)
