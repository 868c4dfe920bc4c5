"""One server process, as the launcher sees it, from its start to its death.

Invariants: its session ends when the kernel has said that it is gone (wait()), and never before: so nothing of it, no
append and no sync, is under way when others take its tablets over. It inherits the lock on the data folder, so nobody
else has the folder before it is gone, even when the launcher dies first; and the kernel kills it then
(runtime.parent_death).
"""

import contextlib
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Final, final

from hbtable.launch.servers.handed_connections import READY
from hbtable.launch.servers.inheritance import Inheritance
from hbtable.lockservice.interface import LockService
from hbtable.lockservice.over_sockets.service import ServedSession
from hbtable.runtime.interface import Runtime
from hbtable.runtime.network.handed_sockets import Handover, connected, handover_pair, stream_pair
from hbtable.runtime.processes.late_reloads import reloads_wait
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

log = logging.getLogger(__name__)

_COMMAND: Final = [sys.executable, "-P", "-m", "hbtable.launch.servers.server_process"]
_LOOK_SECONDS: Final = 0.02
_BEAT_LOOKS: Final = 50
"""Looks between two at its beats: a second's."""
_SILENT: Final = 10
"""Looks at its beats that find none, before it counts as hanging: ten seconds. They are counted in looks: while this
process was stopped, too, there were none."""


@final
class ServerChild:
    """A server process that runs. start() once, then live(), which returns when it is gone. `connect`: is asked for a
    connection between two processes by (who asks, number of the question, serial of the other, kind)."""

    def __init__(
        self,
        runtime: Runtime,
        service: LockService,
        gets: Inheritance,
        connect: Callable[["ServerChild", int, int, bytes], None],
    ) -> None:
        """`gets`: without the descriptors that are made for it here."""
        self.serial = gets.serial
        self.slot = gets.slot
        self.ready = runtime.event()
        self.gone = runtime.event()
        self._runtime = runtime
        self._service = service
        self._gets = gets
        self._connect = connect
        self._process: subprocess.Popen[bytes]
        self._session: ServedSession
        self._beats = -1
        self.handover: Handover

    @property
    def pid(self) -> int:
        return self._process.pid

    @switches
    def start(self) -> None:
        """OSError when the system has no process or no descriptor for it. Then nothing of it is left."""
        with contextlib.ExitStack() as childs, contextlib.ExitStack() as ours:
            session, childs_session = stream_pair()
            childs.callback(os.close, childs_session)
            socket = connected(session)
            ours.callback(socket.close)
            handover, childs_handover = handover_pair()
            childs.callback(os.close, childs_handover)
            self.handover = Handover(handover)
            ours.callback(self.handover.close)
            self._beats, childs_beats = os.pipe()
            childs.callback(os.close, childs_beats)
            ours.callback(os.close, self._beats)
            os.set_blocking(self._beats, False)
            gets = replace(self._gets, session_fd=childs_session, handover_fd=childs_handover, beat_fd=childs_beats)
            with reloads_wait():
                # In a session of its own: Ctrl-C is the launcher's, which stops it in order.
                self._process = subprocess.Popen(  # noqa: S603  our own program
                    _COMMAND,
                    env=gets.environment(),
                    start_new_session=True,
                    pass_fds=gets.descriptors(),
                    stdin=subprocess.DEVNULL,
                )
            ours.pop_all()
        self._session = ServedSession(self._runtime, self._service, socket)
        spawn_counted(self._runtime, self._session.serve, name="lock service of a server")
        spawn_counted(self._runtime, self._hear, name="messages of a server")

    @switches
    def live(self) -> int:
        """*Switches.* Returns when it is gone and its session over: its exit code, negative for a signal."""
        looks = silent = 0
        while (code := self._process.poll()) is None:
            self._runtime.sleep(_LOOK_SECONDS)
            looks += 1
            if looks % _BEAT_LOOKS == 0:
                silent = 0 if self._has_beaten() else silent + 1
                if silent == _SILENT:
                    log.error("server process %d (pid %d) does not move: it is killed", self.slot, self.pid)
                    self.signal(signal.SIGKILL)
        self.gone.set()
        self.handover.close()
        os.close(self._beats)
        self._session.end()
        return code

    def signal(self, number: int) -> None:
        """Nothing happens when it is gone."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def _has_beaten(self) -> bool:
        try:
            return bool(os.read(self._beats, 4096))
        except BlockingIOError:
            return not self.ready.is_set()  # a start, with much to import on a busy machine

    @switches
    def _hear(self) -> None:
        while (handed := self.handover.take()) is not None:
            if handed.message == READY:
                self.ready.set()
                continue
            _, number, serial, kind = handed.message.split(b" ")
            self._connect(self, int(number), int(serial), kind)
