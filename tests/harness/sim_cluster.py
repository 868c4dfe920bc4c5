"""A whole cluster in one Python process, under a seeded scheduler: masters, tablet servers, clients, each a process.

    cluster = SimCluster(SimOptions(seed=7))
    cluster.runtime.run(body)         # body: cluster.start(), then whatever a test does

Every process has a supervisor (a Slot), which starts it again some time after it ended. What is shared is what a
real cluster shares: the network, the lock service, the file system.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hbtable.client.client import Client
from hbtable.client.options import ClientOptions
from hbtable.commitlog.options import LogOptions
from hbtable.errors import HbtableError
from hbtable.fs.interface import HDFS
from hbtable.fs.memory import MemoryFileSystem
from hbtable.lockservice.files import MemoryFiles
from hbtable.master.files.collector import CollectorOptions
from hbtable.master.master import Master, MasterOptions
from hbtable.master.metrics import MasterMetrics
from hbtable.master.servers.log_sorting import LogSortingOptions
from hbtable.master.tablets.normalizing import NormalizerOptions
from hbtable.master.tablets.quarantine import QuarantineOptions
from hbtable.master.tablets.relocations import Relocations
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.locator import Locator, LocatorOptions
from hbtable.metadata.retry_policy import RetryPolicy
from hbtable.metrics.registry import Registry
from hbtable.reachability.evidence import OBSERVING_MASTER
from hbtable.reachability.giving_up import GivingUp
from hbtable.reachability.observing import Observer
from hbtable.reachability.options import ReachabilityOptions
from hbtable.tablet.options import TabletOptions
from hbtable.tabletserver.maintenance_plan import MaintenanceOptions
from hbtable.tabletserver.role import TabletServerOptions, TabletServerRole
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime, SimulationOptions
from tests.harness.sim_fakes import Fakes, FakeStorage
from tests.harness.sim_network import Network, SimTransport
from tests.harness.sim_sessions import SimSession
from tests.harness.sim_storage import SimStorage


def small_server() -> TabletServerOptions:
    """So small that flushes, compactions, splits and log rotation happen within seconds."""
    return TabletServerOptions(
        block_cache_bytes=2 << 10,
        log=LogOptions(segment_bytes=3000, give_up_seconds=5.0, cluster_mark_seconds=0.5),
        tablet=TabletOptions(memtable_bytes=2500, merge_files=3, write_wait_seconds=2.0, worker_bytes=1500),
        maintenance=MaintenanceOptions(period_seconds=0.2, split_bytes=9000, log_bytes=9000, retry_seconds=0.5),
        drain_wait_seconds=4.0,
    )


@dataclass(frozen=True, slots=True)
class Seams:
    """What a test may put between production parts: each takes the right one and gives one to use in its place."""

    session: Callable[["SimProcess", SimSession], Any] = lambda process, session: session
    storage: Callable[["SimProcess", SimStorage], Any] = lambda process, storage: storage
    catalog: Callable[["SimProcess", Catalog], Any] = lambda process, catalog: catalog
    transport: Callable[["SimProcess", SimTransport], Any] = lambda process, transport: transport
    service: Callable[["ServerProcess"], Any] = lambda server: server.role.service
    observed: Callable[["SimProcess", Any], Any] = lambda process, session: session
    """The session by which a role says, and hears, who is unreachable."""


@dataclass(frozen=True, slots=True)
class SimOptions:
    """One run."""

    seed: int
    servers: int = 3
    masters: int = 2
    log_kind: str = HDFS
    fakes: bool = False
    """The storage is the production adapter over its fake, and not a memory file system."""
    session_seconds: float = 1.5
    server: TabletServerOptions = field(default_factory=small_server)
    reachability: ReachabilityOptions = field(
        default_factory=lambda: ReachabilityOptions(
            period_seconds=0.25, unreachable_seconds=1.0, give_up_seconds=1.0, limit_seconds=20.0
        )
    )
    seams: Seams = field(default_factory=Seams)


class SimProcess:
    """A process: its clock, its session, its view of the shared storage."""

    def __init__(self, cluster: "SimCluster", name: str) -> None:
        self.cluster = cluster
        self.name = name
        self.runtime = cluster.runtime.another_process(name)
        self.runtime.wall_offset_millis = cluster.chance.choice((0, 0, 0, 700, -700)) + cluster.clock_millis
        self.stolen_seconds = 0.0
        """How far the clock of its lease is behind, because it did not count pauses."""
        self.ended = cluster.runtime.event()
        self.why = ""
        self.disk = disk = cluster.storage_of(self)
        self.fs = cluster.options.seams.storage(self, disk.fs if isinstance(disk, FakeStorage) else disk)
        self.transport = cluster.options.seams.transport(self, SimTransport(cluster.network, self))
        self.lease: SimSession | None = None

    def connect(self) -> Any:
        """*Switches.* A session of the lock service. Runs in the process."""
        options = self.cluster.options
        self.lease = SimSession(self.cluster.lock_service, self.cluster.network, self, options.session_seconds)
        self.lease.watch_over(self.cluster.runtime)
        return options.seams.session(self, self.lease)

    def catalog(self, session: Any, patience_seconds: float = 3.0) -> Catalog:
        retry_policy = RetryPolicy(deadline_seconds=patience_seconds)
        locator = Locator(session, self.transport, self.runtime, LocatorOptions(retry_policy=retry_policy))
        return self.cluster.options.seams.catalog(self, Catalog(session, locator, self.fs))

    def broke(self, error: HbtableError) -> None:
        self.exit(f"storage failed: {error}")

    def exit(self, why: str) -> None:
        """The process ends a moment later, by its own will."""
        self.cluster.runtime.spawn(self.kill, why, name=f"exit of {self.name}")

    def kill(self, why: str = "killed") -> None:
        """Its tasks end where they are; nothing it still tries to write arrives, its callers get no answer."""
        if self.ended.is_set():
            return
        self.why = why
        self.disk.died()
        self.runtime.crash()
        self.cluster.network.process_ended(self.name)
        if self.lease is not None and not self.lease.over() and self.cluster.chance.random() < 0.5:
            self.lease.end()  # its supervisor closes the session at once
        self.cluster.ended[why.split(":", 1)[0]] += 1
        self.ended.set()

    def launch(self, begin: Callable[[], None]) -> None:
        """A process of a role: ends when it cannot begin, and when its session is over (launch.watchdog)."""

        def run() -> None:
            try:
                begin()
                while self.lease is None or not self.lease.over():
                    self.runtime.sleep(0.1)
                self.exit("session over")
            except HbtableError as error:
                self.exit(f"did not start: {error}")

        self.runtime.spawn(run, name=f"start of {self.name}")


class ServerProcess(SimProcess):
    """A tablet server."""

    role: TabletServerRole
    observer: Observer
    giving_up: GivingUp

    def begin(self) -> None:
        session = self.connect()
        catalog = self.catalog(session)
        server = self.cluster.options.server
        self.role = role = TabletServerRole(
            self.runtime, session, self.fs, catalog, Registry(), lambda: self.exit("lock lost"), server
        )
        service = self.cluster.options.seams.service(self)
        self.cluster.network.servers[role.incarnation] = (self, service, role.admin)
        self.cluster.roles.append(role)
        role.start()
        self._observe(session)

    def _observe(self, session: Any) -> None:
        options, role, session = self.cluster.options, self.role, self.cluster.options.seams.observed(self, session)
        registry = Registry()
        self.observer = Observer(
            self.runtime, session, self.transport, role.incarnation, options.reachability, registry
        )
        self.giving_up = GivingUp(
            self.runtime,
            session,
            role.incarnation,
            options.reachability,
            registry,
            role.serves_tablets,
            self._gave_up,
            role.shared.wall.millis,
        )
        self.observer.start()
        self.giving_up.start()

    def _gave_up(self, why: str) -> None:
        self.role.end_serving()
        self.exit(f"gave up: {why}")

    def stop(self) -> None:
        """*Switches.* In order: tablets flushed and given up, log closed, session ended. Runs in the process, which
        ends even when the lock service does not hear of it."""
        why = "stop failed"
        try:
            if hasattr(self, "role"):
                self._drain()
                self.role.stop(clean=False)
            if self.lease is not None:
                self.lease.close()
            why = "stopped"
        finally:
            self.exit(why)

    def _drain(self) -> None:
        try:
            self.role.drain()
            self.cluster.drains["done"] += 1
        except HbtableError:
            self.cluster.drains["not done"] += 1


class MasterProcess(SimProcess):
    """A master, or one that waits to become it."""

    master: Master
    observer: Observer

    def begin(self) -> None:
        session = self.connect()
        self.master = master = Master(
            self.runtime,
            session,
            self.fs,
            self.transport,
            lambda: self.exit("master's lock lost"),
            MasterOptions(
                period_seconds=0.3,
                scan_seconds=1.0,
                lock_retry_seconds=0.3,
                metadata_patience_seconds=0.6,
                balance_after_seconds=0.5,
            ),
            CollectorOptions(period_seconds=2.0, trash_seconds=1.0),
            LogSortingOptions(),
            QuarantineOptions(3, 3.0, 0.5, 3.0),
            normalizer_options=NormalizerOptions(0.0, 0.0, 0.0, 2),  # when it is asked to, whatever their age
        )
        self.cluster.normalizers.append(master._metrics)
        self.cluster.relocations.append(master.tables.relocations)
        self.runtime.spawn(self._announce, name="announce")
        master.start()
        options = self.cluster.options
        self.observer = Observer(
            self.runtime,
            options.seams.observed(self, session),
            self.transport,
            OBSERVING_MASTER,
            options.reachability,
            Registry(),
            lambda: master.acting,
        )
        self.observer.start()

    def stop(self) -> None:
        """*Switches.* In order: another one can be the master at once. Runs in the process."""
        if hasattr(self, "master"):
            self.master.stop()
        if self.lease is not None:
            self.lease.close()
        self.exit("stopped")

    def _announce(self) -> None:
        """The network knows the master by its lock's data; here it is asked."""
        while not self.master.acting:
            self.runtime.sleep(0.05)
        self.cluster.network.master = (self, self.master.calls)
        before = ""
        while True:
            message = self.master.last_message
            self.cluster.reassigned += message != before and message.endswith("could not load it")
            before = message
            self.runtime.sleep(0.05)


class ClientProcess(SimProcess):
    """A program that uses the cluster; reconnect() after its session was lost."""

    client: Client

    def reconnect(self) -> None:
        options = ClientOptions(retry_policy=RetryPolicy(deadline_seconds=6.0))
        session = self.connect()
        retry_policy = RetryPolicy(deadline_seconds=3.0)
        locator = Locator(session, self.transport, self.runtime, LocatorOptions(retry_policy=retry_policy))
        self.client = Client(self.runtime, session, self.transport, options, locator)


class Slot:
    """A supervisor: keeps one process running."""

    def __init__(self, cluster: "SimCluster", kind: type[SimProcess], name: str) -> None:
        self._cluster = cluster
        self._kind = kind
        self._name = name
        self.lives = 0
        self.process: SimProcess
        self._start()
        cluster.runtime.spawn(self._run, name=f"supervisor of {name}")

    def _start(self) -> None:
        self.lives += 1
        self.process = process = self._kind(self._cluster, f"{self._name}.{self.lives}")
        process.launch(process.begin)  # type: ignore[attr-defined]

    def _run(self) -> None:
        while True:
            self.process.ended.wait()
            self._cluster.runtime.sleep(self._cluster.chance.uniform(0.1, 1.0))
            while self._cluster.down:
                self._cluster.runtime.sleep(0.1)
            self._start()


class SimCluster:
    """The parts that are shared, and the processes."""

    def __init__(self, options: SimOptions) -> None:
        self.options = options
        self.chance = random.Random(f"cluster {options.seed}")
        self.runtime = SimulatedRuntime(options.seed, SimulationOptions(offload_seconds=0.002))
        self.disk = MemoryFileSystem(self.runtime).disk
        self.lock_files = MemoryFiles()
        self.lock_service = MemoryLockService(self.runtime, self.lock_files)
        self.network = Network(random.Random(f"network {options.seed}"))
        self.fakes = Fakes(self.runtime, self.network, options.seed) if options.fakes else None
        self.servers: list[Slot] = []
        self.masters: list[Slot] = []
        self.clients: list[ClientProcess] = []
        self.roles: list[TabletServerRole] = []
        """Of all tablet servers that ever began."""
        self.normalizers: list[MasterMetrics] = []
        """Of all masters that ever began."""
        self.relocations: list[Relocations] = []
        """Of all masters that ever began."""
        self.reassigned = 0
        """How often a master was seen to have taken tablets from a living server because it could not load them; it may
        have done so more often."""
        self.clock_millis = 0
        """How far the wall clocks of processes that start are ahead, besides their own small errors."""
        self.down = False
        """Nothing is started again for now."""
        self.drains: Counter[str] = Counter()
        """Of tablet servers that stopped in order."""
        self.ended: Counter[str] = Counter()
        """Why processes ended, and how many."""

    def start(self) -> None:
        """*Switches.* Runs in the cluster's own process, like everything of this class."""
        self.masters = [Slot(self, MasterProcess, f"master{number}") for number in range(self.options.masters)]
        self.servers = [Slot(self, ServerProcess, f"server{number}") for number in range(self.options.servers)]

    def add_client(self) -> ClientProcess:
        """*Switches.*"""
        process = ClientProcess(self, f"client{len(self.clients)}")
        self.clients.append(process)
        task = process.runtime.spawn(process.reconnect, name="connect")
        task.join()
        return process

    def storage_of(self, process: SimProcess) -> SimStorage | FakeStorage:
        """A new process' view of what is shared."""
        if self.fakes is not None:
            return FakeStorage(self.fakes.view(process, self.options.log_kind))
        view = MemoryFileSystem(process.runtime, self.disk, wall_millis=self.runtime.wall_millis)
        return SimStorage(view, self.network, process, self.options.log_kind)

    def processes(self) -> list[SimProcess]:
        slots = [*self.servers, *self.masters]
        return [*(slot.process for slot in slots), *self.clients]

    def in_process(self, process: SimProcess, function: Callable[..., Any], *arguments: Any) -> Any:
        """*Switches.* Calls it as a task of that process; its result or its error."""
        answers: list[Any] = []
        task = process.runtime.spawn(lambda: answers.append(function(*arguments)), name="test")
        task.join()
        if task.error is not None:
            raise task.error
        return answers[0]
