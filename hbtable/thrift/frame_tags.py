"""Tags on frames: who holds the key of one direction made this frame, it is the next one, and not a byte of it changed.

A tag is BLAKE2b with a key, 16 bytes, over the frame's number (8 bytes, big-endian, 0 first) and its message. It takes
the place of the checksum (frames.py) and counts in the frame's length. The goodbye has one, too: a frame that says that
a call was not begun must be the server's own.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import Final, NamedTuple, final

from hbtable.switches import switches

TAG_BYTES: Final = 16
_NUMBER_BYTES: Final = 8
_BYTES_AT_ONCE: Final = 1 << 20
"""Between two pauses."""


@final
class FrameTags:
    """The tags of one direction of one connection, in the order of its frames."""

    __slots__ = ("_blank", "_number")

    def __init__(self, key: bytes) -> None:
        self._blank = blake2b(key=key, digest_size=TAG_BYTES)
        self._number = 0

    @switches
    def next(self, message: bytes | memoryview, pause: Callable[[], None]) -> bytes:
        """The tag of the next frame, which holds this message. *Switches* within large ones."""
        tag = self._begun()
        if len(message) <= _BYTES_AT_ONCE:
            tag.update(message)
            return tag.digest()
        view = memoryview(message)
        for first in range(0, len(message), _BYTES_AT_ONCE):
            tag.update(view[first : first + _BYTES_AT_ONCE])
            pause()
        return tag.digest()

    def next_empty(self) -> bytes:
        """As next(), of a frame without a message."""
        return self._begun().digest()

    def _begun(self) -> blake2b:
        tag = self._blank.copy()
        tag.update(self._number.to_bytes(_NUMBER_BYTES, "big"))
        self._number += 1
        return tag


class TagPair(NamedTuple):
    """The tags of both directions, as one side has them."""

    sent: FrameTags
    received: FrameTags
