"""The cluster's key for positions (position_seal.py), in the lock service: made by the first server that needs it.

    the file /access/positions: sealed (encoding.sealed) with kind "P", version 1: the key, 32 bytes; none at first

Whoever loses it loses no data: scans that were under way begin anew, with another key.
"""

import os
from collections.abc import Callable
from typing import Final, final

from hbtable.access.position_seal import KEY_BYTES, PositionSeal
from hbtable.encoding.sealed import seal, unseal
from hbtable.errors import Corruption, Unavailable
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import POSITIONS
from hbtable.lockservice.record_file import RecordFile, RecordKind
from hbtable.switches import switches

KIND: Final = b"P"
VERSION: Final = 1
_LOOK_SECONDS: Final = 60.0
"""A file that was lost and made anew is noticed after so long."""


def encode(key: bytes) -> bytes:
    return seal(KIND, VERSION, key)


def decode(data: bytes, path: str = "a key of positions") -> bytes:
    """Corruption, UnsupportedFormat."""
    _, key = unseal(data, KIND, VERSION, path)
    if len(key) not in (0, KEY_BYTES):
        raise Corruption(path, 0, f"a key of {len(key)} bytes")
    return key


def _made(key: bytes) -> bytes:
    return key or os.urandom(KEY_BYTES)


@final
class PositionKey:
    """Read when it is asked for, and remembered for a minute."""

    def __init__(self, session: Session, clock: Callable[[], float]) -> None:
        self._file = RecordFile(session, RecordKind(POSITIONS, b"", encode, decode, "keys", "there is one"))
        self._clock = clock
        self._key = b""
        self._seal: PositionSeal | None = None
        self._look_at = 0.0

    @switches
    def seal(self) -> PositionSeal:
        """Corruption, UnsupportedFormat; Unavailable where it was never known."""
        seal = self._seal
        if seal is not None and self._clock() < self._look_at:
            return seal
        try:
            key = self._file.read() or self._file.change(_made).after
        except Unavailable:
            if seal is None:
                raise
        else:
            if seal is None or key != self._key:
                self._key, seal = key, PositionSeal(key)
        self._seal, self._look_at = seal, self._clock() + _LOOK_SECONDS
        return seal
