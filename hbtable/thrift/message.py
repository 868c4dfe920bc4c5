"""A whole message in memory: one that has arrived and is decoded, and one that is being encoded."""

from collections.abc import Callable
from typing import Final, Protocol, final

from hbtable.switches import switches
from hbtable.thrift.wire import Malformed

_READ_AT_ONCE: Final = 500
_WRITTEN_AT_ONCE: Final = 2000
"""Elements handled between two pauses, a millisecond or two."""

_LARGE_BYTES: Final = 1 << 20


class Input(Protocol):
    """The input of a reader: `data` is contiguous, `position` is where decoding goes on. Readers index `data` directly
    where it reaches, and take() what it does not hold yet."""

    data: bytes
    position: int

    @switches
    def take(self, count: int) -> bytes:
        """The next `count` bytes. *Switches* where they have to be waited for. WireError, OSError."""

    def skip(self, count: int) -> None:
        """Past the next `count` bytes without keeping them."""

    def count(self, elements: int) -> None:
        """Announces a container before memory is taken for it. WireError when it cannot be as large as that."""

    def mismatch(self, found: int, wanted: int) -> None:
        """Elements are of kind `found`: raises WireError, or returns and they are left out."""

    @switches
    def turn(self, elements: int) -> None:
        """So many more elements were read: *switches* now and then."""


def _no_pause() -> None:
    return


@final
class MessageReader:
    """An Input of a message that has arrived whole, from a peer that is another hbtable: what does not fit is damage.
    `pause` lets other tasks run between many elements."""

    __slots__ = ("_elements", "_pause", "data", "position")

    def __init__(self, data: bytes, pause: Callable[[], None] = _no_pause, position: int = 0) -> None:
        self.data = data
        self.position = position
        self._pause = pause
        self._elements = 0

    @switches
    def take(self, count: int) -> bytes:
        """*Switches* before large ones."""
        start = self.position
        self.position = end = start + count
        if end > len(self.data):
            raise Malformed("a length points past the end")
        if count > _LARGE_BYTES:
            self.turn(_READ_AT_ONCE)
        return self.data[start:end]

    def skip(self, count: int) -> None:
        self.position += count
        if self.position > len(self.data):
            raise Malformed("a length points past the end")

    def count(self, elements: int) -> None:
        left = len(self.data) - self.position
        if elements > left:
            raise Malformed(f"{elements} elements in {left} bytes")

    def mismatch(self, found: int, wanted: int) -> None:
        raise Malformed(f"elements of kind {found} where {wanted} belongs")

    @switches
    def turn(self, elements: int) -> None:
        """*Switches* now and then."""
        self._elements += elements
        if self._elements >= _READ_AT_ONCE:
            self._elements = 0
            self._pause()


@final
class MessageWriter:
    """A message being encoded, in pieces."""

    __slots__ = ("_elements", "_pause", "pieces")

    def __init__(self, pause: Callable[[], None] = _no_pause) -> None:
        self.pieces: list[bytes] = []
        self._pause = pause
        self._elements = 0

    @switches
    def turn(self, elements: int) -> None:
        """*Switches* now and then."""
        self._elements += elements
        if self._elements >= _WRITTEN_AT_ONCE:
            self._elements = 0
            self._pause()
