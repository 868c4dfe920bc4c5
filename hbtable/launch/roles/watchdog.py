"""Ends a role's process after a signal, the death of its supervisor, the loss of its lock, or a hub that hangs.

A signal asks for an orderly stop, a second one for the end at once. The death of the supervisor asks for an orderly
stop as well, or whoever starts the role again would find its ports taken. A lost lock ends the process at once, from a
thread that is not the hub's: a hub that hangs in a native call must not keep a process alive that others have declared
dead (paper, section 5.2: a tablet server stops serving when it loses its lock).

A hub that hangs for long ends the process as well. The lease has a thread of its own and would be kept for ever; then
nobody else would ever get the tablets, or the master's lock, of this process (Accumulo's ZombieTServer).

A process that was asked to stop while the lock service is away ends after a while as well. It can give nothing up in
order, and each of its steps would wait until its own time is up: minutes, if the file system is away, too. Its log
makes the end safe.
"""

import faulthandler
import logging
import os
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Final, final

from hbtable.lockservice.interface import Session
from hbtable.runtime.interface import Runtime
from hbtable.runtime.processes.signals import on_stop_signals
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches

log = logging.getLogger(__name__)

LOST: Final = 3
"""Exit code when the lock was lost: a supervisor may start the process again."""

LIFE: Final = "HBTABLE_SUPERVISOR_LIFE"
"""Of the environment: the number of a descriptor that reads as ended once the supervisor is dead. Not set: nobody
supervises this process."""

_LOOK_SECONDS: Final = 0.05
_LAST_WORDS_SECONDS: Final = 1.0
_BEATS: Final = 10
"""Of the hub, in the time after which it counts as hanging."""


@final
class Watchdog:
    """Ends the process when it must not go on. Owns the watching thread from watch() to release(). `end` ends the
    process with an exit code. `hung_seconds`: for how long the hub may come to nothing; far above any pause that it
    makes, and above what a busy machine costs. `stranded_seconds`: for how long a stop waits for a lock service that is
    away."""

    def __init__(
        self,
        runtime: Runtime,
        end: Callable[[int], object] = os._exit,
        hung_seconds: float = 30.0,
        stranded_seconds: float = 10.0,
    ) -> None:
        self._runtime = runtime
        self._end = end
        self._hung_seconds = hung_seconds
        self._stranded_seconds = stranded_seconds
        self._stopping = False
        self._beats = 0
        self._stop_asked = runtime.event()
        self._released = threading.Event()

    def handle_signals(self, reload: Callable[[], object] | None = None) -> None:
        """Handles the signals that ask a process to stop or, with `reload`, to read its files again."""
        on_stop_signals(self.ask_to_stop, reload)

    def watch_supervisor(self, environ: Mapping[str, str]) -> None:
        """Asks to stop, by a signal, when the supervisor that `environ` tells of has died. After handle_signals()."""
        if descriptor := environ.get(LIFE):
            name = "hbtable supervisor's life"
            threading.Thread(target=_outlive, args=(int(descriptor),), name=name, daemon=True).start()

    def ask_to_stop(self) -> None:
        """The second time: at once."""
        if self._stop_asked.is_set():
            log.warning("stopping at once; what is not in SSTables will be recovered from the log")
            logging.shutdown()
            self._end(0)
        self._stopping = True
        self._stop_asked.set()

    @switches
    def wait(self) -> None:
        """Returns when somebody asks to stop."""
        self._stop_asked.wait()

    def watch(self, session: Session) -> None:
        """Ends the process as soon as the session is over, or the hub hangs, until release()."""
        supervise(self._runtime, self._beat, name="watchdog")
        thread = threading.Thread(target=self._guard, args=(session,), name="hbtable watchdog", daemon=True)
        thread.start()

    def release(self) -> None:
        """Before the session is closed in order."""
        self._released.set()

    def lost(self, why: str = "the lock was lost: another process may own this data now") -> None:
        """Ends the process, unless it was released. Any thread."""
        if not self._released.is_set():
            _last_words(f"{why}; stopping\n")
            self._end(LOST)

    def _guard(self, session: Session) -> None:
        try:
            self._watch(session)
        except Exception as error:  # noqa: BLE001  a bug: nobody would end this process any more when it must
            self.lost(f"the watchdog died of {type(error).__name__}: {error}")

    def _watch(self, session: Session) -> None:
        beats = looks = stranded = 0
        while not self._released.wait(_LOOK_SECONDS):
            if session.over():
                self.lost()
                return
            stranded = stranded + 1 if self._stopping and not session.valid() else 0
            if stranded * _LOOK_SECONDS >= self._stranded_seconds:
                self.lost("the lock service is away, so this process cannot stop in order; its log will be recovered")
                return
            # Looks are counted, not seconds: while the whole process was frozen there were none.
            looks = looks + 1 if beats == self._beats else 0
            beats = self._beats
            if looks * _LOOK_SECONDS >= self._hung_seconds:
                self._hung()
                return

    @switches
    def _beat(self) -> None:
        while not self._released.is_set():
            self._beats += 1
            self._runtime.sleep(self._hung_seconds / _BEATS)

    def _hung(self) -> None:
        message = (
            f"nothing was done in this process for {self._hung_seconds:g} s; stopping. What its threads were at:\n"
        )
        _last_words(message, faulthandler.dump_traceback)
        self._end(LOST)


def _last_words(message: str, more: Callable[[int], None] = lambda descriptor: None) -> None:
    """Not by the log, whose lock may be held by whatever hangs; and in a thread, because a pipe that nobody reads takes
    no more, and the process must end all the same."""

    def write() -> None:
        os.write(2, message.encode())
        more(2)

    writer = threading.Thread(target=write, name="hbtable last words", daemon=True)
    writer.start()
    writer.join(_LAST_WORDS_SECONDS)


def _outlive(descriptor: int) -> None:
    """Nothing is ever written: the read returns when the last process that could write is gone."""
    os.read(descriptor, 1)
    log.error("the supervisor died; stopping in order")
    os.kill(os.getpid(), signal.SIGTERM)
