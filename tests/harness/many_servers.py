"""One master and several tablet servers, each a process of its own under simulation, over one disk and lock service."""

import random
from collections import Counter

from hbtable.client.client import Client
from hbtable.errors import HbtableError, LockLost, StaleLocation, StorageFailed, no_answer
from hbtable.fs.memory import MemoryFileSystem
from hbtable.master.master import Master, MasterOptions
from hbtable.metadata.catalog import Catalog
from hbtable.metadata.locator import Locator
from hbtable.metadata.tiling import verify_tiling
from hbtable.metrics.registry import Registry
from hbtable.rpc.local import LocalTransport
from hbtable.tabletserver.role import TabletServerRole
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.sim_network import READS


class Node:
    """A process of its own: runtime, session, its view of the shared disk."""

    def __init__(self, cluster, name):
        self.runtime = cluster.runtime.another_process(name)
        self.fs = MemoryFileSystem(self.runtime, cluster.disk)
        self.session = cluster.lock_service.open_session(name, self.runtime)
        self.registry = Registry()
        self.pending = []
        self.calls = Counter()
        """By name: those that it carried out for others."""
        locator = Locator(self.session, cluster.transport, self.runtime)
        self.catalog = Catalog(self.session, locator, self.fs)

    def crash(self):
        """Its tasks end where they are, nothing it still tries to write arrives, its callers get no answer."""
        self.fs.restarted()
        self.runtime.crash()
        for done in self.pending:
            done.set()


class Remote:
    """A service as seen from another process: a call runs there, and its answer is lost when that process dies."""

    def __init__(self, cluster, node, service):
        self._cluster = cluster
        self._node = node
        self._service = service

    def __getattr__(self, name):
        method = getattr(self._service, name)

        def call(*arguments):
            answer = []
            done = self._cluster.runtime.event()

            def run():
                self._node.calls[name] += 1
                try:
                    answer.append((method(*arguments), None))
                except HbtableError as error:
                    answer.append((None, error))
                done.set()

            self._node.pending.append(done)
            self._node.runtime.spawn(run, name=name)
            done.wait()
            self._node.pending.remove(done)
            value, error = answer[0] if answer else (None, LockLost("the process is gone"))
            if isinstance(error, LockLost | StorageFailed):
                lost = StaleLocation if name in READS else no_answer
                raise lost(f"the connection broke: {error}")
            if error is not None:
                raise error
            return value

        return call


class Cluster:
    def __init__(self, seed, options, catalog=lambda catalog: catalog):
        """`catalog`: makes what a tablet server uses in place of its own."""
        self.catalog = catalog
        self.runtime = SimulatedRuntime(seed)
        self.disk = MemoryFileSystem(self.runtime).disk
        self.lock_service = MemoryLockService(self.runtime)
        self.transport = LocalTransport()
        self.options = options
        self.servers = {}
        self.chance = random.Random(f"cluster {seed}")
        self.lost = []
        self.normalizer = None
        self._names = 0

    def start(self, servers):
        self.start_master()
        for _ in range(servers):
            self.start_server()
        self.runtime.sleep(2)
        node = Node(self, "client")
        self.client = Client(self.runtime, node.session, self.transport)

    def start_master(self):
        node = self.master_node = Node(self, self._name("master"))
        master = self.master = Master(
            node.runtime,
            node.session,
            node.fs,
            self.transport,
            lambda: self.lost.append("master"),
            MasterOptions(scan_seconds=5.0),
            registry=node.registry,
            normalizer_options=self.normalizer,
        )
        self.transport.register_master(Remote(self, node, master.calls))
        master.start()

    def start_server(self):
        node = Node(self, self._name("server"))

        def begin():
            role = TabletServerRole(
                node.runtime,
                node.session,
                node.fs,
                self.catalog(node.catalog),
                Registry(),
                lambda: self.lost.append(role.incarnation),
                self.options.server,
            )
            service, admin = Remote(self, node, role.service), Remote(self, node, role.admin)
            self.transport.register_server(role.incarnation, service, admin)
            role.start()
            self.servers[role.incarnation] = (node, role)

        task = node.runtime.spawn(begin, name="start")
        task.join()
        assert task.error is None

    def kill_server(self, incarnation):
        """Its tasks end where they are; the lock service notices a while later."""
        node, _ = self.servers.pop(incarnation)
        self.transport.remove_server(incarnation)
        node.crash()
        self.lock_service.expire(node.session, 0.3)

    def expire_server(self, incarnation):
        """A zombie: it lost its session and does not know."""
        node, _ = self.servers.pop(incarnation)
        self.lock_service.expire(node.session, 0.3)

    def kill_master(self):
        self.transport.register_master(None)
        self.master_node.crash()
        self.lock_service.expire(self.master_node.session, 0.3)

    def replace(self, kind):
        """A "server" at random, or the "master", dies, and another one starts."""
        if kind == "server":
            self.kill_server(self.chance.choice(sorted(self.servers)))
            self.start_server()
        else:
            self.kill_master()
            self.start_master()

    def write_at_random(self, put, times, acknowledged, name=b"t"):
        """`times` puts to one of 300 rows each; `put` makes one of row and value. Fills `acknowledged` with the last
        value of each row that has one for certain."""
        for number in range(times):
            row = b"row%06d" % self.chance.randrange(300)
            acknowledged.pop(row, None)
            try:
                self.client.table(name).mutate([put(row, b"%d" % number)])
                acknowledged[row] = b"%d" % number
            except HbtableError:
                continue

    def _name(self, kind):
        self._names += 1
        return f"{kind} {self._names}"

    def owners(self, name=b"t"):
        return {record.owner for record in self.client.admin.tablets(name)}

    def check_tiling(self, name=b"t"):
        verify_tiling(self.client.catalog.tablet_rows(self.client.catalog.read_table(name).table_id))
