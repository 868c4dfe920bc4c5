"""Gives a process of Python the wall clock that a test sets (harness/wrong_clock.py). Python imports a module of this
name at each start where its folder is in PYTHONPATH."""

import mmap
import os
import struct
import time


def _follow(path: str) -> None:
    """Adds what the file holds, as 64 bits of nanoseconds, to every look at the wall clock."""
    with open(path, "rb") as file:
        offset = mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ)
    right, unpack = time.time_ns, struct.Struct("<q").unpack
    time.time_ns = lambda: right() + unpack(offset)[0]
    time.time = lambda: time.time_ns() / 1e9


if "HBTABLE_TESTS_CLOCK" in os.environ:
    _follow(os.environ["HBTABLE_TESTS_CLOCK"])
