"""Runs a role as a child process, and makes its death known at once (docs/faults.md: ZooKeeper; HBase does so as well).

A process that was killed leaves its lock service session behind, and its tablets wait for the session's timeout. The
supervisor sees the death immediately, ends the session in the child's name, and starts the next child.

    exit code of the child        what follows
    0, or asked to stop           the supervisor ends with the same code
    2 (misused, configuration)    the same: another try would fail alike
    3 (lock lost), 1, a signal    the next child, after a pause that doubles while children die young

Invariants: the session is closed before the next child starts, or was tried to be; a session that could not be closed
ends by its timeout, which is safe and only slower. A child does not outlive its supervisor for longer than its orderly
stop takes: it holds one end of a pipe (LIFE) and sees the other end close, however the supervisor died (watchdog.py).
A supervisor that is killed leaves nothing behind: it has no files, only pipes.
"""

import contextlib
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Final, Protocol, final

from hbtable.errors import HbtableError
from hbtable.launch.roles.session_pipe import VARIABLE, SessionRecord, take_over
from hbtable.launch.roles.watchdog import LIFE, LOST
from hbtable.lockservice.zookeeper import wire
from hbtable.runtime.processes.late_reloads import reloads_wait

log = logging.getLogger(__name__)

_FINAL_CODES: Final = (0, 2)
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class SupervisorOptions:
    """Options: how soon the next child starts."""

    first_pause_seconds: float = 0.2
    """Before the first new child. Longer: a later restart."""
    longest_pause_seconds: float = 10.0
    """The limit to which the pause grows while children die young. Longer: less work for nothing, later recovery."""
    calm_seconds: float = 30.0
    """A child that lived for so long did not die young. Longer: pauses stay long after a bad time."""
    close_seconds: float = 5.0
    """The longest wait for the end of a session, for each lock service host. Longer: a later restart while the service
    is away."""


class ChildProcess(Protocol):
    """A child as the supervisor uses it (subprocess.Popen)."""

    def wait(self) -> int: ...
    def send_signal(self, number: int, /) -> None: ...


INHERITED: Final = (LIFE, VARIABLE)

Spawn = Callable[[list[str], Mapping[str, str]], ChildProcess]
"""Command and environment. The child inherits the descriptors that are named there (INHERITED)."""


def supervise(
    command: list[str],
    close_session: Callable[[SessionRecord], None] | None = None,
    options: SupervisorOptions | None = None,
    spawn: Spawn | None = None,
    clock: Callable[[], float] = time.monotonic,
    reloads: bool = False,
    name: str = "",
) -> int:
    """Runs `command`, again and again, until it ends for good or a signal to stop was forwarded to it; the exit code
    (128 + n for a signal). Takes over the signal handlers; from the main thread only. Blocks.

    `reloads`: SIGHUP is forwarded, and makes the child read its files again instead of stopping it. `name`: of the
    role, for messages; "": the command's.

    The environment tells the child its ends of two pipes: one takes its session (session_pipe.VARIABLE), the other one
    ends with the supervisor (LIFE).
    """
    options = options or SupervisorOptions()
    close = close_session or (lambda handed: close_zookeeper_session(handed, options.close_seconds))
    childs_end, own_end = os.pipe()
    sessions, childs_session = os.pipe()
    os.set_blocking(sessions, False)
    environ = {**os.environ, VARIABLE: str(childs_session), LIFE: str(childs_end)}
    start = spawn or _spawn
    supervisor = _Supervisor(command, close, options, start, clock, environ, sessions, reloads, name or command[0])
    # What is ignored stays so: nohup means to outlive the terminal.
    taken = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    handlers = {number: signal.signal(number, supervisor.forward) for number in taken}
    try:
        return supervisor.run()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for descriptor in (childs_end, own_end, sessions, childs_session):
            os.close(descriptor)


def close_zookeeper_session(handed: SessionRecord, deadline_seconds: float) -> None:
    """The session's locks are free on return. Unavailable."""
    wire.close_session(wire.parse_hosts(handed.hosts), handed.credentials, deadline_seconds)


def described(code: int) -> str:
    """An exit code as _Supervisor has it, in words."""
    if code == LOST:
        return f"code {code}: it lost its lock"
    try:
        return f"code {code}: {signal.Signals(code - 128).name}" if code > 128 else f"code {code}"
    except ValueError:
        return f"code {code}"


@final
class _Supervisor:
    """One command and its children, one after the other."""

    def __init__(
        self,
        command: list[str],
        close: Callable[[SessionRecord], None],
        options: SupervisorOptions,
        spawn: Spawn,
        clock: Callable[[], float],
        environ: Mapping[str, str],
        sessions: int,
        reloads: bool,
        name: str,
    ) -> None:
        """`sessions`: the end of the pipe from which a dead child's session is read."""
        self._reloads = reloads
        self._name = name
        self._command = command
        self._close = close
        self._options = options
        self._spawn = spawn
        self._clock = clock
        self._environ = environ
        self._sessions = sessions
        self._child: ChildProcess | None = None
        self._asked_to_stop = threading.Event()

    def forward(self, number: int, _frame: FrameType | None) -> None:
        """The signal handler. A second signal is forwarded as well: the child stops at once then."""
        if number != signal.SIGHUP or not self._reloads:
            self._asked_to_stop.set()
        self._send(number)

    def run(self) -> int:
        pause = self._options.first_pause_seconds
        while True:
            born = self._clock()
            code = self._one_life()
            if self._asked_to_stop.is_set() or code in _FINAL_CODES:
                return code
            if self._clock() - born >= self._options.calm_seconds:
                pause = self._options.first_pause_seconds
            log.warning("%s ended with %s; the next one starts in %.1f s", self._name, described(code), pause)
            if self._asked_to_stop.wait(pause):
                return code
            pause = min(2 * pause, self._options.longest_pause_seconds)

    def _one_life(self) -> int:
        """The child's exit code; its session is closed on return if that was possible."""
        with reloads_wait() if self._reloads else contextlib.nullcontext():
            child = self._child = self._spawn(self._command, self._environ)
        if self._asked_to_stop.is_set():
            self._send(signal.SIGTERM)  # it was asked before there was a child to send it to
        code = child.wait()
        self._child = None
        self._end_session()
        return code if code >= 0 else 128 - code

    def _send(self, number: int) -> None:
        child = self._child
        if child is not None:
            try:
                child.send_signal(number)
            except ProcessLookupError:
                pass  # it has just ended

    def _end_session(self) -> None:
        try:
            handed = take_over(self._sessions)
            if handed is not None:
                self._close(handed)
        except (HbtableError, OSError, ValueError, KeyError) as error:
            log.warning("the lock service session of the last %s ends by its timeout only: %s", self._name, error)


def _spawn(command: list[str], environ: Mapping[str, str]) -> ChildProcess:
    # In a session of its own: Ctrl-C would reach the child twice, from the terminal and forwarded, and the second
    # signal stops it at once.
    return subprocess.Popen(  # noqa: S603  the operator's
        command, env=dict(environ), start_new_session=True, pass_fds=[int(environ[name]) for name in INHERITED]
    )
