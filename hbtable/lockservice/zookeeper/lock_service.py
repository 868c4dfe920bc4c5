"""The lock service of a cluster: ZooKeeper through kazoo (paper, section 4: Chubby; docs/faults.md: ZooKeeper).

A session is opened by hand (zookeeper_wire), so that its id, password and granted timeout are known, then carried by
kazoo's client (zookeeper_connection) and kept by a thread of its own (zookeeper_keeper). A session that ended is over
for ever: nothing is done in another one.

Invariants: every call ends by its deadline, plus one turn of the hub; a call holds one of the runtime's threads of kind
"lock-service" until then. What nodes look like says nodes.py.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, TypeVar, final

from hbtable.errors import FileNotFound, OutcomeUnknown, Unavailable
from hbtable.lockservice.files import check_data, check_path
from hbtable.lockservice.interface import VersionedFile
from hbtable.lockservice.lease import Lease
from hbtable.lockservice.paths import CLUSTER, MASTER
from hbtable.lockservice.zookeeper import nodes, wire
from hbtable.lockservice.zookeeper.access import FoundNode, NodeAccess, Protected, look_at, protect
from hbtable.lockservice.zookeeper.changes import Changes, Target, read, read_latest
from hbtable.lockservice.zookeeper.connection import ANSWERS, Doubtful, ZooKeeperConnection
from hbtable.lockservice.zookeeper.keeper import HeldLocks, LeaseKeeper
from hbtable.lockservice.zookeeper.options import ZooKeeperOptions
from hbtable.lockservice.zookeeper.watches import Watches
from hbtable.lockservice.zookeeper.wire import Credentials, Granted
from hbtable.runtime.interface import Runtime
from hbtable.runtime.keyed_locks import KeyedLocks
from hbtable.switches import switches

log = logging.getLogger(__name__)

T = TypeVar("T")

_THREADS: Final = "lock-service"
_MOST_FOUND: Final = 50_000


@final
class ZooKeeperLockService:
    """Implements lockservice.interface.LockService. `hosts`: "host:port,host:port"; `root`: the node under which all of
    a cluster lives."""

    def __init__(
        self,
        runtime: Runtime,
        hosts: str,
        root: str = "/hbtable",
        options: ZooKeeperOptions | None = None,
        access: NodeAccess | None = None,
    ) -> None:
        self._runtime = runtime
        self._hosts = wire.parse_hosts(hosts)
        self._root = nodes.check_root(root)
        self._access = access or NodeAccess()
        self._access.check_root(self._root)
        self._options = options or ZooKeeperOptions()

    @switches
    def open_session(self, name: str, check: Callable[[float], object] = lambda seconds: None) -> "ZooKeeperSession":
        """*Switches.* Unavailable when no server grants a session within the time of a call. `name` is for the log.
        `check` may refuse the length that was granted, in seconds, before anything is done in the session: it may be
        shorter than what comes next."""
        runtime, options = self._runtime, self._options
        hosts = list(self._hosts)
        runtime.random.shuffle(hosts)
        sent = runtime.clock_seconds()
        granted = runtime.offload(
            _THREADS,
            wire.open_session,
            hosts,
            options.session_seconds,
            runtime.clock_seconds,
            sent + options.call_seconds,
        )
        try:
            check(granted.timeout_millis / 1000)
        except BaseException:
            self._close(hosts, granted)
            raise
        session = ZooKeeperSession(runtime, hosts, self._root, granted, sent, options, self._access)
        log.info("%s: session %s, %d ms", name, session.session_id, granted.timeout_millis)
        return session

    @switches
    def _close(self, hosts: list[wire.Host], granted: Granted) -> None:
        """A session in which nothing was done; it may end by its timeout as well."""
        with suppress(Unavailable):
            self._runtime.offload(_THREADS, wire.close_session, hosts, granted.credentials, self._options.call_seconds)


@final
class ZooKeeperSession:
    """Implements lockservice.interface.Session. All calls but valid() and over() *switch*."""

    def __init__(
        self,
        runtime: Runtime,
        hosts: list[wire.Host],
        root: str,
        granted: Granted,
        sent: float,
        options: ZooKeeperOptions,
        access: NodeAccess,
    ) -> None:
        """`sent`: when the session was asked for."""
        timeout_seconds = granted.timeout_millis / 1000
        clock = runtime.clock_seconds
        self.session_id = f"{granted.credentials.session & 0xFFFFFFFFFFFFFFFF:#018x}"
        self.credentials: Credentials = granted.credentials
        """For a supervisor, which ends the session when this process died."""
        self.timeout_seconds = timeout_seconds
        self._runtime = runtime
        self._clock = clock
        self._call_seconds = options.call_seconds
        self._lease = lease = Lease(clock, timeout_seconds * (1 - options.margin_share))
        lease.renew(sent)
        self.valid = lease.valid
        self.over = lease.over
        self._held = HeldLocks()
        self._turns = KeyedLocks[str](runtime)
        """By node. Where one task gives a lock up while another gets it once more, the keeper would miss it."""
        self._connection = connection = ZooKeeperConnection(hosts, granted, lease, clock, access.credentials)
        self.root = root
        """The node of the cluster; "" for ZooKeeper's own."""
        self._access = access
        self._keeper = LeaseKeeper(connection, lease, self._held, root, timeout_seconds, clock, runtime.deaths.died)
        self._watches = Watches(connection, lease, clock, options.call_seconds, runtime.deaths.died)
        self._changes = Changes(
            connection,
            granted.credentials.session,
            clock,
            lambda: f"{runtime.random.getrandbits(4 * nodes.MARK_BYTES):0{nodes.MARK_BYTES}x}",
            root,
            access.acl,
        )
        connection.changed = self._state_changed
        connection.start()
        self._keeper.start()

    def _state_changed(self) -> None:
        self._keeper.wake()
        self._watches.wake()

    # ------------------------------------------------------------ locks

    @switches
    def lock(self, path: str, data: bytes = b"") -> int:
        """A session that holds the lock already gets its epoch once more; the data become the new ones."""
        target = self._target(path)
        check_data(path, data)

        def work(by: float) -> int:
            epoch = self._changes.lock(by, target, data)
            self._held.add(target.node, epoch)
            return epoch

        with self._turns.hold(target.node):
            return self._run(work)

    @switches
    def unlock(self, path: str) -> None:
        """Nothing happens when this session does not hold the lock."""
        target = self._target(path)

        def work(by: float) -> None:
            self._held.discard(target.node)
            self._changes.unlock(by, target)

        with self._turns.hold(target.node):
            self._run(work)

    @switches
    def holder(self, path: str) -> VersionedFile | None:
        target = self._target(path)
        found = self._run(lambda by: read(self._connection, by, target))
        return VersionedFile(found.data, found.stat.czxid) if found is not None and found.stat.ephemeralOwner else None

    # ------------------------------------------------------------ files

    @switches
    def create(self, path: str, data: bytes) -> None:
        target = self._target(path)
        check_data(path, data)
        self._run(lambda by: self._changes.create(by, target, data))

    @switches
    def read(self, path: str, latest: bool = False) -> VersionedFile:
        target, reading = self._target(path), read_latest if latest else read
        found = self._run(lambda by: reading(self._connection, by, target))
        if found is None or found.stat.ephemeralOwner:
            raise FileNotFound(f"there is no file {path} in the lock service")
        return VersionedFile(found.data, found.stat.version + 1)

    @switches
    def write(self, path: str, data: bytes, expected_version: int) -> int:
        target = self._target(path)
        check_data(path, data)
        return self._run(lambda by: self._changes.write(by, target, data, expected_version))

    @switches
    def delete(self, path: str, expected_version: int = -1) -> None:
        target = self._target(path)
        self._run(lambda by: self._changes.delete(by, target, expected_version))

    @switches
    def list(self, folder: str) -> list[str]:
        """A folder below `folder` that became empty is still listed."""
        node = self._folder(folder)

        def work(by: float) -> list[str]:
            try:
                children: list[str] = self._connection.call(by, lambda client: client.get_children_async(node), node)
            except ANSWERS:
                return []
            return nodes.names_of(children)

        return self._run(work)

    @switches
    def watch(self, folder: str, changed: Callable[[], None]) -> None:
        """`changed` is called as a task, also after each reconnection; no more once the session is over. Each change
        costs one request per node below `folder`: for small folders."""
        node = self._folder(folder)

        def call() -> None:
            if not self._lease.over():
                changed()

        waker = self._runtime.waker(call)
        self._run(lambda by: self._watches.add(node, waker.wake, by))

    # ------------------------------------------------------------ access

    @switches
    def protect_nodes(self) -> Protected:
        """Every node of the cluster that is there is for those alone who know the digest, on return, but for those that
        are others'. Nothing happens where new ones are for everybody. Those that others make meanwhile without it stay
        everybody's."""
        acl, found = self._access.acl, Protected([], [])
        if acl is None:
            return found
        left = [self.root]
        while left:
            node = left.pop()
            done, children = self._run(lambda by, node=node: protect(self._connection, by, node, acl))  # type: ignore[misc]
            left += children
            found.changed.extend(done.changed)
            found.refused.extend(done.refused)
        return found

    @property
    def protects(self) -> bool:
        """Whether what this session makes is for those alone who know the digest."""
        return self._access.acl is not None

    @switches
    def find_nodes(self) -> Sequence[FoundNode]:
        """Every node of the cluster that is there and can be seen, up to so many as no cluster has: somebody may have
        made a million. Without a digest, or at ZooKeeper's own root, the master's alone: there everybody may do
        everything in any case."""
        found: dict[str, FoundNode] = {}
        left = [CLUSTER, ""] if self._access.credentials and self.root else [MASTER]
        while left and len(found) < _MOST_FOUND:
            one = left.pop()
            if one in found:
                continue
            node, children = self._run(lambda by, one=one: look_at(self._connection, by, self._access, self.root, one))  # type: ignore[misc]
            if node is not None:
                found[one] = node
            left[:0] = children
        return tuple(found.values())

    # ------------------------------------------------------------ the end

    @switches
    def close(self) -> None:
        """The locks are free on return, or when the session times out if the service cannot be reached within the time
        of a call. Idempotent."""
        if not self._lease.over():
            self._runtime.offload(_THREADS, self._connection.stop, self._clock() + self._call_seconds)

    # ------------------------------------------------------------ inside

    def _target(self, path: str) -> Target:
        return Target(path, nodes.node_of(self.root, path))

    def _folder(self, folder: str) -> str:
        if folder != "/":
            check_path(folder)
        return nodes.folder_node(self.root, folder)

    @switches
    def _run(self, work: Callable[[float], T]) -> T:
        """Reads that are in doubt are Unavailable: nothing was to be applied."""
        if self._lease.over():
            raise self._connection.lost()
        by = self._clock() + self._call_seconds

        def until_answered() -> T:
            while True:
                try:
                    return work(by)
                except Doubtful as error:
                    if self._clock() >= by:
                        raise Unavailable(f"the lock service did not answer: {error}") from error

        try:
            return self._runtime.offload(_THREADS, until_answered)
        except ANSWERS as error:
            raise OutcomeUnknown(f"the lock service refused a change half-way: {error}") from error
