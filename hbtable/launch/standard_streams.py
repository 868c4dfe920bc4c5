"""Standard streams that were closed before the program began, as service managers and `<&-` leave them.

Python has None for such a stream, and the next file that is opened gets its number: one of the data folder's would take
what a crash, a library in C or a child writes to standard error. So these numbers are taken first.
"""

import os
import sys
from typing import Final

_NAMES: Final = ("stdin", "stdout", "stderr")
_opened: Final[set[str]] = set()
"""The names of those that were closed."""


def open_closed_streams() -> None:
    """Opens /dev/null in the place of each. To be called before any other file is opened."""
    for number, name in enumerate(_NAMES):
        if getattr(sys, name) is None and _is_closed(number):
            opened = os.open(os.devnull, os.O_RDWR)  # the least number that is free
            os.set_inheritable(opened, True)
            setattr(sys, name, open(opened, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115
            _opened.add(name)


def fail_to_write_where_closed() -> None:
    """For a command that answers: what it writes to a standard output that was closed is lost, so writing fails (EBADF)
    as on a full disk. A server goes on without its first lines."""
    if "stdout" in _opened:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), "w", encoding="utf-8")  # noqa: SIM115


def _is_closed(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return True
    return False
