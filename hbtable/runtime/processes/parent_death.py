"""Ends this process when its parent dies, also while it is stopped (SIGSTOP) and could not do so by itself. Linux's."""

import ctypes
import os
import signal
from typing import Final

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
