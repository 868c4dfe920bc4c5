"""The bytes of a long message as they arrive, and the message made of them.

Bytes are kept in pieces of 256 KiB, or larger where they came so: one buffer of 60 MB would have to be copied whole,
which takes longer than others should wait, while pieces are joined by a thread of their own (runtime.joining). A list
of what was received would cost fifty times as much where each is one byte.
"""

from collections.abc import Callable
from typing import Final, final

from hbtable.switches import switches

_PIECE_BYTES: Final = 256 << 10
Join = Callable[[list[bytes]], bytes]
"""As b"".join. May *switch*."""


@final
class Gathered:
    """At first `have`. `size`: of all bytes until now."""

    __slots__ = ("_last", "_pieces", "size")

    def __init__(self, have: bytes) -> None:
        self._pieces: list[bytes] = []
        self._last = bytearray(have)
        self.size = len(have)

    def add(self, piece: bytes) -> None:
        """The bytes that arrived next."""
        self.size += len(piece)
        if len(piece) >= _PIECE_BYTES and not self._last:
            self._pieces.append(piece)
            return
        self._last += piece
        if len(self._last) >= _PIECE_BYTES:
            self._pieces.append(bytes(self._last))
            self._last = bytearray()

    def beginning(self, count: int) -> bytes:
        """The first bytes, so many or what there is of them; no more than a piece."""
        return self._pieces[0][:count] if self._pieces else bytes(self._last[:count])

    @switches
    def split(self, count: int, join: Join) -> tuple[bytes, bytes]:
        """(the first `count` bytes, those behind them). Nothing is left here. *Switches* as `join` does."""
        pieces = [*self._pieces, bytes(self._last)] if self._last else self._pieces
        self._pieces, self._last = [], bytearray()
        behind = []
        excess, self.size = self.size - count, 0
        while excess > 0:
            last = pieces.pop()
            kept = max(0, len(last) - excess)
            excess -= len(last) - kept
            behind.append(last[kept:])
            if kept:
                pieces.append(last[:kept])
        return join(pieces), b"".join(reversed(behind))
