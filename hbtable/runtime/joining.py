"""Joins bytes, and lets other tasks run meanwhile."""

from collections.abc import Sequence
from typing import Final, final

from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_AT_ONCE_BYTES: Final = 2 << 20


@final
class Joiner:
    """b"".join, of many bytes in a thread: Python's lock is free while it copies, as long as the pieces are bytes and
    nothing that may change."""

    __slots__ = ("_runtime",)

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @switches
    def __call__(self, pieces: Sequence[bytes]) -> bytes:
        """*Switches* if there are many bytes."""
        if len(pieces) == 1:
            return pieces[0]
        if sum(map(len, pieces)) <= _AT_ONCE_BYTES:
            return b"".join(pieces)
        return self._runtime.offload("join", b"".join, pieces)
