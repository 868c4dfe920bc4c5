"""Changes in ZooKeeper whose answers may be lost: each is settled by looking, so that its caller learns what happened.

A connection may end after a request was sent. After the next sync the service has either carried it out or never will
(requests of a session are kept in order, also over a change of servers), so looking decides: whose the lock is
(ephemeralOwner), whose write stands there (the mark in the data). Only when the time is up OutcomeUnknown is raised.

All functions block and belong into the runtime's threads. `by`: time of the clock at which they give up.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError
from kazoo.handlers.threading import AsyncResult
from kazoo.protocol.states import ZnodeStat
from kazoo.security import ACL

from hbtable.errors import AlreadyExists, Conflict, Corruption, FileNotFound, OutcomeUnknown, Unavailable
from hbtable.lockservice.zookeeper import nodes
from hbtable.lockservice.zookeeper.connection import Doubtful, ZooKeeperConnection
from hbtable.switches import switches

T = TypeVar("T")

_AT_LEAST_SECONDS: Final = 0.001


class ZNode(NamedTuple):
    """The content of a path, and ZooKeeper's own facts about it."""

    mark: str
    data: bytes
    stat: ZnodeStat


class Target(NamedTuple):
    """A path and its node."""

    path: str
    node: str


class NotDone(Exception):
    """Raised by a look: the request that was in doubt had no effect and will have none."""


def read(connection: ZooKeeperConnection, by: float, target: Target, foreign: bool = False) -> ZNode | None:
    """None when there is no node. Doubtful, Unavailable, LockLost. Corruption when something else wrote the node,
    unless `foreign`: then all that it has are the data."""
    try:
        value, stat = connection.call(by, lambda client: client.get_async(target.node), target.node)
    except NoNodeError:
        return None
    try:
        return ZNode(*nodes.decode(target.path, value), stat)
    except Corruption:
        if not foreign:
            raise
        return ZNode("", value, stat)


def read_latest(connection: ZooKeeperConnection, by: float, target: Target, foreign: bool = False) -> ZNode | None:
    """As read(), after a sync: a server of ZooKeeper may be behind its leader."""
    connection.call(by, lambda client: client.sync_async(target.node), target.node)
    return read(connection, by, target, foreign)


@switches
def _settled(by: float, clock: Callable[[], float], act: Callable[[], T], look: Callable[[], T]) -> T:
    """Returns the result of `act`. `look` tells it after a doubt; NotDone: act again. OutcomeUnknown when the time is
    up."""
    doubt: Doubtful | None = None
    while True:
        try:
            return act() if doubt is None else look()
        except NotDone:
            doubt = None
        except Doubtful as error:
            doubt = error
        except Unavailable:
            if doubt is None:
                raise
        if clock() >= by - _AT_LEAST_SECONDS:
            if doubt is None:
                raise Unavailable("ZooKeeper did not answer in time; nothing was changed")
            raise OutcomeUnknown(f"whether the lock service made a change is unknown: {doubt}") from doubt


def _make_folder(node: str, acl: list[ACL] | None, client: KazooClient) -> AsyncResult:
    return client.create_async(node, b"", acl=acl)


class Changes:
    """Makes the changes of one session, and finds out what became of one without an answer. `mark` gives 16
    hexadecimal digits, never the same twice."""

    def __init__(
        self,
        connection: ZooKeeperConnection,
        session: int,
        clock: Callable[[], float],
        mark: Callable[[], str],
        root: str,
        acl: list[ACL] | None,
    ) -> None:
        """`acl`: of new nodes, the root and below; None: they are everybody's, as are those above the root."""
        self._connection = connection
        self._session = session
        self._clock = clock
        self._mark = mark
        self._root = root
        self._acl = acl

    @switches
    def lock(self, by: float, target: Target, data: bytes) -> int:
        """The czxid of the lock's node. Conflict when another session holds it, or a file is there."""
        value = nodes.encode(self._mark(), data)

        def act() -> int:
            try:
                return self._create(by, target, value, ephemeral=True).czxid
            except NodeExistsError:
                return look()

        def look() -> int:
            found = read_latest(self._connection, by, target)
            if found is None:
                raise NotDone
            if found.stat.ephemeralOwner == 0:
                raise Conflict(f"{target.path} is a file, not a lock")
            if found.stat.ephemeralOwner != self._session:
                holder = found.stat.ephemeralOwner & 0xFFFFFFFFFFFFFFFF
                raise Conflict(f"the lock {target.path} is held by {holder:#018x}")
            if found.data != data:
                self._call(by, target.node, lambda client: client.set_async(target.node, value))
            return found.stat.czxid

        return _settled(by, self._clock, act, look)

    @switches
    def unlock(self, by: float, target: Target) -> None:
        """Nothing happens when another session holds it, or nobody."""

        def act() -> None:
            found = read(self._connection, by, target)
            if found is not None and found.stat.ephemeralOwner == self._session:
                self._call(by, target.node, lambda client: client.delete_async(target.node, version=-1))

        def ignoring_absence() -> None:
            try:
                act()
            except NoNodeError:
                pass

        _settled(by, self._clock, ignoring_absence, ignoring_absence)

    @switches
    def create(self, by: float, target: Target, data: bytes) -> None:
        """A new file. AlreadyExists."""
        mark = self._mark()

        def act() -> None:
            try:
                self._create(by, target, nodes.encode(mark, data), ephemeral=False)
            except NodeExistsError:
                raise AlreadyExists(f"{target.path} exists already in the lock service") from None

        def look() -> None:
            found = read_latest(self._connection, by, target)
            if found is None:
                raise NotDone
            if found.mark != mark:
                if found.stat.version > 0:
                    # It was written since it was made; by whom it was made cannot be told any more.
                    raise OutcomeUnknown(f"{target.path} exists; whether this process made it is unknown")
                raise AlreadyExists(f"{target.path} exists already in the lock service")

        _settled(by, self._clock, act, look)

    @switches
    def write(self, by: float, target: Target, data: bytes, expected_version: int) -> int:
        """The port's new version. FileNotFound, Conflict."""
        mark = self._mark()

        def act() -> int:
            self._expected(read(self._connection, by, target), target, expected_version)
            try:
                version = expected_version - 1 if expected_version != -1 else -1
                value = nodes.encode(mark, data)
                stat = self._call(by, target.node, lambda client: client.set_async(target.node, value, version=version))
            except (BadVersionError, NoNodeError):
                raise NotDone from None  # it changed under us: look again, for the message
            return int(stat.version) + 1

        def look() -> int:
            found = read_latest(self._connection, by, target)
            if found is not None and found.mark == mark:
                return found.stat.version + 1
            if found is not None and expected_version in (-1, found.stat.version + 1):
                raise NotDone
            if found is not None and found.stat.version == expected_version:
                return self._conflict(target, found, expected_version)  # another writer made the very next version
            raise OutcomeUnknown(f"{target.path} was changed since; whether this process's write was one is unknown")

        return _settled(by, self._clock, act, look)

    @switches
    def delete(self, by: float, target: Target, expected_version: int) -> None:
        """FileNotFound, Conflict. After a doubt a file that is gone, or a new one, counts as deleted by us. A node that
        something else wrote can be deleted, if any version will do."""
        made: list[int] = []
        foreign = expected_version == -1

        def act() -> None:
            found = self._expected(read(self._connection, by, target, foreign), target, expected_version)
            made[:] = [found.stat.czxid]
            try:
                self._call(by, target.node, lambda client: client.delete_async(target.node, version=found.stat.version))
            except (BadVersionError, NoNodeError):
                raise NotDone from None

        def look() -> None:
            found = read_latest(self._connection, by, target, foreign)
            if found is not None and (not made or found.stat.czxid == made[0]):
                raise NotDone

        _settled(by, self._clock, act, look)

    # ---------------------------------------------------------------- inside

    def _call(self, by: float, node: str, send: Callable[[Any], Any]) -> Any:
        return self._connection.call(by, send, node)

    def _create(self, by: float, target: Target, value: bytes, ephemeral: bool) -> ZnodeStat:
        while True:
            try:
                _, stat = self._call(
                    by,
                    target.node,
                    lambda client: client.create_async(
                        target.node, value, acl=self._acl, ephemeral=ephemeral, include_data=True
                    ),
                )
                found: ZnodeStat = stat
                return found
            except NoNodeError:
                self._make_folders(by, target)

    def _make_folders(self, by: float, target: Target) -> None:
        for folder in nodes.parents_of(target.node):
            above = len(folder) < len(self._root)
            try:
                self._call(by, folder, partial(_make_folder, folder, None if above else self._acl))
            except NodeExistsError:
                continue

    def _expected(self, found: ZNode | None, target: Target, expected_version: int) -> ZNode:
        if found is None or found.stat.ephemeralOwner:
            raise FileNotFound(f"there is no file {target.path} in the lock service")
        if expected_version not in (-1, found.stat.version + 1):
            self._conflict(target, found, expected_version)
        return found

    @staticmethod
    def _conflict(target: Target, found: ZNode, expected_version: int) -> int:
        raise Conflict(
            f"{target.path} has version {found.stat.version + 1}, not {expected_version}: another process changed it"
        )
