"""A cluster whose masters are seen at each of their changes: of files, the lock service and METADATA; and at the orders
that they give to servers."""

from collections import Counter
from functools import partial

from hbtable.lockservice.paths import MASTER
from hbtable.master.master import Master, MasterOptions
from hbtable.metadata import layout
from hbtable.rpc.declaration import calls_of
from hbtable.rpc.services import TabletService
from tests.harness.delegating_fake import DelegatingFake
from tests.harness.many_servers import Cluster, Node, Remote

OF_FILES = ("create", "write_file", "put_new", "seal", "rename", "delete", "delete_folder")
OF_LOCKS = ("lock", "create", "write", "delete")
OF_METADATA = tuple(name for name, call in calls_of(TabletService).items() if not call.changes_nothing)
OF_ORDERS = ("load_tablet", "unload_tablet", "update_schema", "sort_log_part")
"""To tablet servers: each carries the epoch of its master's lock."""


class Seen:
    """The changes of one master. `before` is called at each."""

    def __init__(self, cluster):
        self._scheduler = cluster.runtime.scheduler
        self._looked_at = -1
        self.changes = []
        self.held = None
        """The task of a stop that waits for one of them."""
        self.resigned_at = 0
        self.unlooked = Counter()
        self.before = lambda: None
        self.carry = lambda what, name, call: call()
        """Carries each out."""

    def look(self):
        self._looked_at = self._scheduler.steps

    def gave_up(self, path):
        if path == MASTER:
            self.resigned_at = len(self.changes)

    def change(self, what, name, method, *arguments):
        self.changes.append(f"{what}.{name}")
        if self._looked_at != self._scheduler.steps and arguments[0] != MASTER:  # without it there is nothing to lose
            self.unlooked[f"{what}.{name}"] += 1
        self.before()
        return self.carry(what, name, partial(method, *arguments))


class SeenPart(DelegatingFake):
    """A file system, a session or a service: what changes something is seen, and so are looks at the session, and that
    the lock is given up."""

    def __init__(self, inner, seen, what, changing):
        super().__init__(inner)
        self._seen, self._what, self._changing = seen, what, changing

    def __getattr__(self, name):
        method = getattr(self.inner, name)
        if name in ("valid", "over"):
            return lambda: (self._seen.look(), method())[1]
        if name == "unlock":
            return lambda path: (self._seen.gave_up(path), method(path))[1]
        if name not in self._changing:
            return method
        return partial(self._seen.change, self._what, name, method)


class SeenMetadata(SeenPart):
    def mutate(self, tablet_id, mutations):
        assert all(mutation.row.startswith(layout.HISTORY_PREFIX) for mutation in mutations)
        return self.inner.mutate(tablet_id, mutations)


class SeenTransport(DelegatingFake):
    """With `orders` those to tablet servers are seen, too."""

    def __init__(self, inner, seen, orders):
        super().__init__(inner)
        self._seen, self._orders = seen, OF_ORDERS if orders else ()

    def tablet_service(self, server):
        return SeenMetadata(self.inner.tablet_service(server), self._seen, "METADATA", OF_METADATA)

    def tablet_admin(self, server):
        return SeenPart(self.inner.tablet_admin(server), self._seen, "order", self._orders)


class SeenCluster(Cluster):
    """The changes of its masters are seen, from the first one's first on."""

    orders, scan_seconds = False, 5.0

    def start_master(self):
        node = self.master_node = Node(self, self._name("master"))
        seen = self.seen = Seen(self)
        session = SeenPart(node.session, seen, "lock service", OF_LOCKS)
        files = SeenPart(node.fs, seen, "files", OF_FILES)
        transport, lost = SeenTransport(self.transport, seen, self.orders), lambda: self.lost.append("master")
        options = MasterOptions(scan_seconds=self.scan_seconds)
        rules = self.normalizer
        master = self.master = Master(node.runtime, session, files, transport, lost, options, normalizer_options=rules)
        self.transport.register_master(Remote(self, node, master.calls))
        master.start()
        return seen
