"""Protects all nodes of a cluster in ZooKeeper by its digest, also nodes that were made without it.

A node has the ACL that its maker gave it. So two kinds of nodes are open to everybody at first: those from before the
cluster had a digest, and those made by roles that do not know the digest yet. The acting master protects them, when it
begins to act and then every ten minutes, and remembers it in the folder of files (lockservice.protection_mark).
"""

import logging
from collections.abc import Callable
from typing import Final, Protocol, final

from hbtable.errors import HbtableError
from hbtable.fs.interface import FileSystem
from hbtable.lockservice.protection_mark import remember_protected
from hbtable.lockservice.zookeeper.access import Protected
from hbtable.runtime.interface import Runtime
from hbtable.runtime.rounds import Rounds
from hbtable.switches import switches

log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 2.0
_AGAIN_SECONDS: Final = 600.0
_MOST_NAMED: Final = 20
_OF_USERS: Final = ("/users", "/access+/grants")


class Protecting(Protocol):
    """As ZooKeeperSession."""

    @property
    def protects(self) -> bool: ...

    @switches
    def protect_nodes(self) -> Protected: ...


@final
class NodeProtection(Rounds):
    """start() once, stop() once. `acting`: whether this process is the master now."""

    def __init__(self, runtime: Runtime, session: Protecting, acting: Callable[[], bool], fs: FileSystem) -> None:
        super().__init__(runtime, _LOOK_SECONDS, "node protection")
        self._session = session
        self._acting = acting
        self._fs = fs
        self._due = 0.0
        self._said = ""

    def _failed(self, error: HbtableError) -> None:
        """Once for each reason: it is tried again soon."""
        if str(error) != self._said:
            self._said = str(error)
            log.warning("some nodes of ZooKeeper may be everybody's; they are looked at again: %s", error)

    @switches
    def look(self) -> None:
        """Protects every node, if that is due. Any error: not every one was."""
        if not self._acting():
            self._due = 0.0
            return
        now = self._runtime.clock_seconds()
        if now < self._due:
            return
        self._due = now + _LOOK_SECONDS
        found = self._session.protect_nodes()
        self._due = now + _AGAIN_SECONDS
        if found.changed:
            log.warning(
                "%d nodes of ZooKeeper were everybody's, and are believed: now they are for those alone who know the "
                "digest; look at what the first ones say: %s",
                len(found.changed),
                _first(found.changed),
            )
        if found.refused:
            log.warning(
                "%d nodes of ZooKeeper are others', who may change them: delete them (deleteall in zkCli.sh): %s",
                len(found.refused),
                _first(found.refused),
            )
            self._said = ""
        elif self._session.protects:
            self._remember(now)

    @switches
    def _remember(self, now: float) -> None:
        try:
            remember_protected(self._fs)
            self._said = ""
        except HbtableError as error:
            self._due = now + _LOOK_SECONDS
            if str(error) != self._said:
                self._said = str(error)
                log.warning("the folder of files does not say yet that nodes are protected; tried again: %s", error)


def _first(nodes: list[str]) -> str:
    """Some of their names: those that say who the users are before all others."""
    ordered = sorted(nodes, key=lambda node: (not node.endswith(_OF_USERS), node))
    return ", ".join(ordered[:_MOST_NAMED]) + (" ..." if len(nodes) > _MOST_NAMED else "")
