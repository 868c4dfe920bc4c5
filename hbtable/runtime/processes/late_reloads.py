"""SIGHUP for a process that is just starting. Where it asks to read files again, it must not end a process that has no
handler for it yet, and must not be lost either: that process may have read the files just before they changed."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reloads_wait() -> Iterator[None]:
    """A process that the calling thread starts meanwhile gets a SIGHUP only once it calls take_reloads()."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def take_reloads() -> None:
    """A SIGHUP that came since this process was started comes now. In the main thread."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
