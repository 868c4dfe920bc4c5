"""Ends this process when its parent dies: by the kernel (Linux's), also while it is stopped (SIGSTOP) and could not do
so by itself; or by a pipe, where the parent's thread may end before the parent."""

import ctypes
import os
import signal
from multiprocessing.connection import Connection
from typing import Final

from hbtable.runtime.threads.native_threads import NativeThread

_PR_SET_PDEATHSIG: Final = 1


def die_with(parent: int) -> None:
    """The kernel kills this process (SIGKILL) as soon as its parent's thread that started it is gone. `parent`: the
    process id of the parent, which may be gone by now: then this process ends here."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    if os.getppid() != parent:
        os._exit(1)  # nobody is left to read a message


def end_with(held: Connection) -> None:
    """Ends this process at once when no other one holds the other end of the pipe any longer."""

    def wait() -> None:
        try:
            held.recv_bytes()
        finally:
            os._exit(1)

    NativeThread(wait, "end with the parent").start()


def stop_with(held: int) -> None:
    """Sends this process SIGTERM when no other one holds the other end of the pipe any longer, or writes to it. `held`:
    the descriptor of its end for reading."""

    def wait() -> None:
        try:
            os.read(held, 1)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    NativeThread(wait, "stop with the parent").start()
