"""Where the roles of a cluster are, as the lock service has it: servers by incarnation, the master by its lock.

An incarnation's addresses never change, so they are kept; that it died shows when it is called.
"""

from typing import Final, final

from hbtable.errors import FileNotFound, HbtableError
from hbtable.lockservice.interface import Session
from hbtable.lockservice.places import MASTER, ServerFile, server_file

_MOST_KEPT: Final = 10_000


@final
class Addresses:
    """One per process. All calls *switch* when they have to ask, and may raise Unavailable and LockLost then."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[str, ServerFile] = {}

    def server(self, incarnation: str) -> str | None:
        """host:port of a tablet server's internal service; None when there is no such server (any more)."""
        file = self._file(incarnation)
        return file.address if file is not None and file.address else None

    def door(self, incarnation: str) -> tuple[bytes, int] | None:
        """Host and port of a tablet server's Thrift front door; None when it is not known."""
        try:
            file = self._file(incarnation)
        except HbtableError:
            return None  # shown to people and to clients that do not use it: not worth a failed call
        if file is None or not file.door:
            return None
        host, _, port = file.door.rpartition(":")
        return host.encode(), int(port)

    def master(self) -> str | None:
        """host:port of the master's service; None when there is none now."""
        held = self._session.holder(MASTER)
        return held.data.decode() or None if held is not None else None

    def _file(self, incarnation: str) -> ServerFile | None:
        known = self._known.get(incarnation)
        if known is not None:
            return known
        path = server_file(incarnation)
        try:
            file = ServerFile.decode(path, self._session.read(path).data)
        except FileNotFound:
            return None
        if len(self._known) >= _MOST_KEPT:
            self._known.clear()
        self._known[incarnation] = file
        return file
