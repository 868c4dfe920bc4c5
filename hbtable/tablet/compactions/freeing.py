"""Memtables that were flushed give their memory back in parts: all at once keeps everybody waiting for 15 ms."""

from collections.abc import Callable
from sys import getrefcount
from typing import Final

from hbtable.memtable.memtable import Memtable
from hbtable.switches import switches

_REFERENCES_ALONE: Final = 2
"""The list's, and that of the look."""
_LARGE: Final = 1024
_LARGE_BYTES: Final = 1 << 20


@switches
def free_unread(memtables: list[Memtable], pause: Callable[[], None]) -> None:
    """*Switches* by `pause`. Empties the list, which alone holds them, but for reads of a version that they belonged
    to: what is read by one is left to it, and goes when it ends."""
    while memtables:
        is_ours = getrefcount(memtables[-1]) == _REFERENCES_ALONE and not memtables[-1].is_read()
        if is_ours and (memtables[-1].cells > _LARGE or memtables[-1].bytes_used > _LARGE_BYTES):
            for _ in memtables[-1].taken_apart():
                pause()
        memtables.pop()
