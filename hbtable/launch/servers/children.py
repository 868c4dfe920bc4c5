"""The N server processes of a launcher: each that dies is replaced. And the connections among them, to the launcher,
and from clients, which the launcher makes or accepts and hands over."""

import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, final

from hbtable.errors import Unavailable
from hbtable.launch.roles.supervisor import SupervisorOptions, described
from hbtable.launch.servers.handed_connections import LAUNCHER, PROCESS
from hbtable.launch.servers.inheritance import Inheritance
from hbtable.launch.servers.server_child import ServerChild
from hbtable.lockservice.interface import LockService
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.network.handed_sockets import HandedListener, connected, stream_pair
from hbtable.runtime.network.sockets import Address, Socket
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches

log = logging.getLogger(__name__)

_OPTIONS: Final = SupervisorOptions()
_LOOK_SECONDS: Final = 0.05


@final
class ServerChildren:
    """start(), then stop(). `gets`: what a process with this serial number is told, in this place among the `count`.
    `roles`: takes the connections that they make to the launcher; to be set before start()."""

    roles: HandedListener

    def __init__(
        self, runtime: Runtime, service: LockService, count: int, gets: Callable[[int, int], Inheritance]
    ) -> None:
        self._runtime = runtime
        self._service = service
        self._count = count
        self._gets = gets
        self._serial = LAUNCHER
        self._running: dict[int, ServerChild] = {}
        """By serial number."""
        self._tasks: list[Task] = []
        self._started = False
        """Each of the first ones was ready."""
        self._failed = ""
        """The reason why one of the first ones never was."""
        self._stopping = runtime.event()
        self._turn = 0

    # ------------------------------------------------------------ lives

    @switches
    def start(self, seconds: float) -> None:
        """All are ready on return. Unavailable when one is not in time, or ended instead."""
        self._tasks = [
            supervise(self._runtime, lambda slot=slot: self._tend(slot), name=f"server process {slot}")  # type: ignore[misc]
            for slot in range(self._count)
        ]
        until = self._runtime.clock_seconds() + seconds
        while not self._failed and len(self._ready()) < self._count and self._runtime.clock_seconds() < until:
            self._runtime.sleep(_LOOK_SECONDS)
        if len(self._ready()) < self._count:
            raise Unavailable(self._failed or f"not all of {self._count} server processes were ready in {seconds:g} s")
        self._started = True

    @switches
    def stop(self, number: int = signal.SIGTERM) -> None:
        """All are gone on return. SIGTERM: each drains; SIGKILL: at once. *Switches* for long."""
        self._stopping.set()
        self.signal(number)
        for task in self._tasks:
            task.join()

    def signal(self, number: int) -> None:
        for child in self._running.values():
            child.signal(number)

    @property
    def is_any_ready(self) -> bool:
        return bool(self._ready())

    def _ready(self) -> list[ServerChild]:
        return [child for child in self._running.values() if child.ready.is_set()]

    @switches
    def _tend(self, slot: int) -> None:
        """Keeps a process in this place until all are to stop."""
        pause = _OPTIONS.first_pause_seconds
        while not self._stopping.is_set():
            born = self._runtime.clock_seconds()
            code = self._one_life(slot)
            if self._stopping.is_set():
                return
            if not self._started:
                self._failed = f"server process {slot} did not start: {_in_words(code)}; it said why"
                return
            if self._runtime.clock_seconds() - born >= _OPTIONS.calm_seconds:
                pause = _OPTIONS.first_pause_seconds
            log.warning("server process %d ended with %s; the next one starts in %.1f s", slot, _in_words(code), pause)
            self._stopping.wait(pause)
            pause = min(2 * pause, _OPTIONS.longest_pause_seconds)

    @switches
    def _one_life(self, slot: int) -> int:
        self._serial += 1
        child = ServerChild(self._runtime, self._service, self._gets(self._serial, slot), self._connect_child)
        child.start()
        self._running[child.serial] = child
        try:
            return child.live()
        finally:
            del self._running[child.serial]

    # ------------------------------------------------------------ connections

    def hand_over(self, descriptor: int, address: Address) -> bool:
        """Gives a client to the next process that takes it; the connection stays the caller's, too. False: none does.
        Does not switch."""
        ready = self._ready()
        for _ in range(len(ready)):
            self._turn += 1
            child = ready[self._turn % len(ready)]
            if child.handover.give(b"client %s %d" % (address[0].encode(), address[1]), descriptor):
                return True
        return False

    def connect(self, host: str, port: int, timeout_seconds: float) -> Socket:
        """The launcher's own, as runtime.sockets.connect, of an address_of()."""
        child = self._running.get(port)
        try:
            with _pair() as (ours, theirs):
                if child is None or not child.handover.give(b"role %d" % LAUNCHER, theirs):
                    raise Unavailable(f"{host}:{port} cannot be reached: there is no such process any more")
                return connected(os.dup(ours))
        except OSError as error:
            raise Unavailable(f"{host}:{port} cannot be reached: {error.strerror}") from error

    def _connect_child(self, child: ServerChild, number: int, serial: int, kind: bytes) -> None:
        """A process that asks in vain asks again; this one must go on hearing it."""
        try:
            self._make_connection(child, number, serial, kind)
        except OSError as error:
            log.warning("server process %d gets no connection to another: %s", child.slot, error.strerror)
            child.handover.give(b"absent %d" % number)

    def _make_connection(self, child: ServerChild, number: int, serial: int, kind: bytes) -> None:
        with _pair() as (ours, theirs):
            if serial == LAUNCHER:
                self.roles.take(os.dup(ours), (PROCESS, child.serial))
                found = True
            else:
                target = self._running.get(serial)
                found = target is not None and target.handover.give(b"%s %d" % (kind, child.serial), ours)
            if found:
                child.handover.give(b"connected %d" % number, theirs)
            else:
                child.handover.give(b"absent %d" % number)


@contextmanager
def _pair() -> Iterator[tuple[int, int]]:
    """A connection's two ends, for as long as it takes to hand them on."""
    ours, theirs = stream_pair()
    try:
        yield ours, theirs
    finally:
        os.close(ours)
        os.close(theirs)


def _in_words(code: int) -> str:
    """`code`: as subprocess has it, negative for a signal."""
    return described(code if code >= 0 else 128 - code)
