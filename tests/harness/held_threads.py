"""Threads of other processes that are held up for a while, as by a machine that has no processor for them.

ptrace(2) holds one thread, and lets the others of its process go on. It sends no signal: what a test stopped by one
stays stopped, and what it continues goes on.
"""

import ctypes
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Final

_SEIZE: Final = 0x4206
_INTERRUPT: Final = 0x4207
_DETACH: Final = 17
_WALL: Final = 0x40000000
_STOP_EVENT: Final = 128
"""PTRACE_EVENT_STOP: not on its way to a signal."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_libc.ptrace.restype = ctypes.c_long


class HeldThreads:
    """These threads stand still until the end of the `with`. One that ends, or that nobody may hold, is passed over.

    Nobody waits meanwhile for the end of a child of this process, as Popen.poll() does: he would hear of the halt."""

    def __init__(self, threads: Iterable[int]) -> None:
        self._threads = list(threads)
        self._held: list[int] = []

    def __enter__(self) -> "HeldThreads":
        for thread in self._threads:
            if _ptrace(_SEIZE, thread):
                # Nobody waits for its halt: who starts a process stops no sooner than that process has begun, which is
                # held up perhaps.
                _ptrace(_INTERRUPT, thread)
                self._held.append(thread)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        while self._held:
            self._held = [thread for thread in self._held if not _let_go(thread)]
            if self._held:
                time.sleep(0.001)


def _let_go(thread: int) -> bool:
    """Whether it goes on, or has ended; False while it has not halted yet, or is about to end."""
    try:
        met = os.waitid(os.P_PID, thread, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT | _WALL)
    except ChildProcessError:
        return True
    if met is None:
        return False
    if met.si_code in (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED):
        if not _is_child(thread):  # else who started it here will ask for its exit code
            os.waitpid(thread, os.WNOHANG | _WALL)
        return True
    try:
        met = os.waitid(os.P_PID, thread, os.WSTOPPED | os.WNOHANG | _WALL)
    except ChildProcessError:
        met = None
    if met is None:
        return False  # killed since: its end is to be met, too, or its process would never have ended for anybody
    on_its_way = 0 if met.si_status >> 8 == _STOP_EVENT else met.si_status & 0xFF
    return _ptrace(_DETACH, thread, 0 if on_its_way == signal.SIGTRAP else on_its_way)  # else it was killed just now


def _is_child(thread: int) -> bool:
    """Whether it is the first thread of a process that this one has started."""
    try:
        lines = Path(f"/proc/{thread}/status").read_text().splitlines()
    except OSError:
        return False
    said = dict(line.split(":", 1) for line in lines)
    return (int(said["Tgid"]), int(said["PPid"])) == (thread, os.getpid())


def _ptrace(request: int, thread: int, data: int = 0) -> bool:
    return int(_libc.ptrace(request, thread, None, data)) == 0
