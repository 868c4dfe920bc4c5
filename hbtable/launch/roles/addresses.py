"""Addresses of a cluster's roles, from the lock service: servers by incarnation, the master by its lock.

Whether a tablet server lives is asked anew each time; the transport keeps its address, and asks when it has doubts.
"""

from typing import Final, NamedTuple, final

from hbtable.errors import Corruption, FileNotFound, HbtableError
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import MASTER, ServerFile, server_lock
from hbtable.switches import switches

_MOST_KEPT: Final = 10_000
_MOST_ASKED: Final = 5
SERVER: Final = "tablet server"
MASTER_ROLE: Final = "master"


class KnownRole(NamedTuple):
    """A role that the lock service names. `who`: in a message."""

    who: str
    address: str


@final
class Addresses:
    """Finds the other roles of the cluster. One per process. All calls *switch* when they have to ask, and may raise
    Unavailable and LockLost then."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._gateways: dict[str, tuple[bytes, int]] = {}

    @switches
    def server(self, incarnation: str) -> str | None:
        """host:port of a tablet server's internal service; None when no such server lives (any more), and for "", the
        owner of a tablet that nobody has at the moment."""
        if not incarnation:
            return None
        try:
            file = ServerFile.read(self._session, incarnation)
        except FileNotFound:
            return None
        if not file.address or self._session.holder(server_lock(incarnation)) is None:
            return None
        return file.address

    @switches
    def gateway(self, incarnation: str) -> tuple[bytes, int] | None:
        """Host and port of a tablet server's Thrift gateway, which never change; None when they are not known."""
        known = self._gateways.get(incarnation)
        if known is not None or not incarnation:
            return known
        try:
            gateway = ServerFile.read(self._session, incarnation).door
        except HbtableError:
            return None  # it is shown to people, and to clients that do not use it: not worth a failed call
        if not gateway:
            return None
        host, _, port = gateway.rpartition(":")
        if len(self._gateways) >= _MOST_KEPT:
            self._gateways.clear()
        self._gateways[incarnation] = host.encode(), int(port)
        return self._gateways[incarnation]

    @switches
    def master(self) -> str | None:
        """host:port of the master's service; None when there is none now."""
        held = self._session.holder(MASTER)
        return held.data.decode() or None if held is not None else None

    @switches
    def first_roles(self) -> list[KnownRole]:
        """The master, if there is one now, and some living tablet servers: they can say whether this process is of the
        cluster. No servers where what the lock service has of them is damaged."""
        master = self.master()
        found = [KnownRole(MASTER_ROLE, master)] if master is not None else []
        return found + self.living_servers()[:_MOST_ASKED]

    @switches
    def living_servers(self) -> list[KnownRole]:
        """All tablet servers that may serve, ascending by address; none where what the lock service has is damaged."""
        try:
            living = [file.address for file in ServerFile.living(self._session).values() if file.address]
        except Corruption:
            return []
        return [KnownRole(SERVER, address) for address in sorted(living)]
