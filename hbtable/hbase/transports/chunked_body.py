"""The body of an HTTP request that comes in chunks and does not say how long it is.

It is gathered in parts: one bytearray of 32 MB that grows may be copied whole, in 43 ms in which nobody else is served.
"""

from collections import deque
from collections.abc import Iterator
from typing import Final, final

_PART_BYTES: Final = 256 << 10


@final
class ChunkedBody:
    """The part of it that has come; its length in bytes."""

    __slots__ = ("_parts", "_size")

    def __init__(self) -> None:
        self._parts: deque[bytearray] = deque()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, data: bytes | bytearray | memoryview) -> None:
        if not self._parts or len(self._parts[-1]) + len(data) > _PART_BYTES:
            self._parts.append(bytearray())
        self._parts[-1] += data
        self._size += len(data)

    def start(self, most: int) -> bytes:
        """The first `most` bytes, or as many as there are."""
        found = b""
        for part in self._parts:
            found += part[: most - len(found)]
            if len(found) == most:
                break
        return found

    def take(self) -> Iterator[bytes]:
        """The parts, in order. What was taken is not held here any more."""
        while self._parts:
            yield bytes(self._parts.popleft())
