"""Protects all nodes of a cluster in ZooKeeper by its digest, also nodes that were made without it.

A node has the ACL that its maker gave it. So two kinds of nodes are open to everybody at first: those from before the
cluster had a digest, and those made by roles that do not know the digest yet. The acting master protects them, when it
begins to act and then every ten minutes.
"""

import logging
from collections.abc import Callable
from typing import Final, Protocol, final

from hbtable.errors import HbtableError
from hbtable.runtime.interface import Runtime
from hbtable.runtime.rounds import Rounds
from hbtable.switches import switches

log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 2.0
_AGAIN_SECONDS: Final = 600.0


class Protecting(Protocol):
    """As ZooKeeperSession."""

    @switches
    def protect_nodes(self) -> int: ...


@final
class NodeProtection(Rounds):
    """start() once, stop() once. `acting`: whether this process is the master now."""

    def __init__(self, runtime: Runtime, session: Protecting, acting: Callable[[], bool]) -> None:
        super().__init__(runtime, _LOOK_SECONDS, "node protection")
        self._session = session
        self._acting = acting
        self._due = 0.0

    def _failed(self, error: HbtableError) -> None:
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
        count = self._session.protect_nodes()
        self._due = now + _AGAIN_SECONDS
        if count:
            log.warning(
                "%d nodes of ZooKeeper were everybody's: now they are for those alone who know the digest", count
            )
