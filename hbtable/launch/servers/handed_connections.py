"""Connections of a server process, all of which the launcher hands over: those of clients, which it accepted, and those
between the roles, which it makes when one asks for another.

Messages on the Handover (runtime.handed_sockets), words with a space between them; * comes with a connection:

    from the launcher   client HOST PORT *   role SERIAL *   relayed SERIAL *   connected NUMBER *   absent NUMBER
    to the launcher     ready                connect NUMBER SERIAL KIND         (KIND: role or relayed)

SERIAL is the number of a process, 0 the launcher's. An address between roles is "process:SERIAL".
"""

import logging
from typing import Final, final

from hbtable.errors import Unavailable
from hbtable.hbase.relays.relay import RELAYED
from hbtable.runtime.interface import Event, Runtime
from hbtable.runtime.network.handed_sockets import Handed, HandedListener, Handover, connected
from hbtable.runtime.network.sockets import ServedSocket, Socket
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

log = logging.getLogger(__name__)

PROCESS: Final = "process"
LAUNCHER: Final = 0
READY: Final = b"ready"
ROLE: Final = "role"
_WARN_SECONDS: Final = 10.0


def address_of(serial: int) -> str:
    """An address as rpc.connections understands it."""
    return f"{PROCESS}:{serial}"


@final
class _Asked:
    """A connection that was asked for. `descriptor` -1: there is no such process."""

    __slots__ = ("descriptor", "done")

    def __init__(self, done: Event) -> None:
        self.done = done
        self.descriptor = -1


@final
class HandedConnections:
    """Takes what the launcher hands over. `clients`, `roles`: where connections of that kind go, once they are there;
    start() comes after them."""

    clients: HandedListener
    roles: HandedListener

    def __init__(self, runtime: Runtime, handover: Handover) -> None:
        self._runtime = runtime
        self._handover = handover
        self._asked: dict[int, _Asked] = {}
        self._number = 0
        self._warned = -_WARN_SECONDS

    def start(self) -> None:
        spawn_counted(self._runtime, self._take, name="handed connections")

    def say_ready(self) -> None:
        """Clients may come from now on."""
        self._handover.give(READY)

    @switches
    def connect(self, host: str, port: int, timeout_seconds: float) -> Socket:
        """As runtime.sockets.connect, of an address_of()."""
        return self._connect(host, port, timeout_seconds, ROLE)

    @switches
    def connect_relayed(self, address: str, timeout_seconds: float) -> Socket:
        """Connects to the gateway of the process at an address_of(). Unavailable."""
        host, _, port = address.rpartition(":")
        return self._connect(host, int(port), timeout_seconds, RELAYED)

    @switches
    def _connect(self, host: str, port: int, timeout_seconds: float, kind: str) -> Socket:
        self._number = number = self._number + 1
        asked = self._asked[number] = _Asked(self._runtime.event())
        try:
            if self._handover.give(b"connect %d %d %s" % (number, port, kind.encode())):
                asked.done.wait(timeout_seconds)
        finally:
            del self._asked[number]
        if asked.descriptor < 0:
            raise Unavailable(f"{host}:{port} cannot be reached: there is no such process any more")
        return ServedSocket(connected(asked.descriptor))

    @switches
    def _take(self) -> None:
        while (handed := self._handover.take()) is not None:
            self._sort(handed)

    def _sort(self, handed: Handed) -> None:
        word, *rest = handed.message.decode().split(" ")
        if handed.descriptor < 0 and word in ("client", RELAYED, ROLE):
            self._warn()  # the kernel has closed it
        elif word == "client":
            self.clients.take(handed.descriptor, (rest[0], int(rest[1])))
        elif word == RELAYED:
            self.clients.take(handed.descriptor, (RELAYED, int(rest[0])))
        elif word == ROLE:
            self.roles.take(handed.descriptor, (PROCESS, int(rest[0])))
        else:
            asked = self._asked.get(int(rest[0]))
            if asked is not None:
                asked.descriptor = handed.descriptor
                asked.done.set()
            elif handed.descriptor >= 0:
                connected(handed.descriptor).close()  # it came too late

    def _warn(self) -> None:
        now = self._runtime.clock_seconds()
        if now - self._warned >= _WARN_SECONDS:
            self._warned = now
            log.warning("connections are cut: this process has no file descriptor left for them (ulimit -n)")
