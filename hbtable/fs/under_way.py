"""Marks of the requests that are under way, in a file beside the data: the process after this one finds there what this
one died with (client/suspects.py).

    8 B  "HBUW" and, big-endian, the format version 1
    64 places of 256 B:  1 B  1: taken, 0: free      16 B  fingerprint      239 B  what it is, UTF-8, filled with zeros

A mark is one small write into the system's memory. It outlives the process, however that ended, and not a power cut. It
is a hint: a file of another version, or none that can be written, is passed over.
"""

import os
from typing import Final, NamedTuple, final

NAME: Final = "requests-under-way"
_HEADER: Final = b"HBUW\x00\x00\x00\x01"
_PLACES: Final = 64
_PLACE_BYTES: Final = 256
_FINGERPRINT_BYTES: Final = 16
_TAKEN: Final = b"\x01"
_FREE: Final = b"\x00"


class Mark(NamedTuple):
    """A request that is, or was, under way."""

    fingerprint: bytes
    """16 bytes."""
    shown: str


@final
class MarksFile:
    """The marks of one data folder, whose lock its process holds. Nothing here switches, and nothing raises."""

    def __init__(self, folder: str) -> None:
        self._path = f"{folder}/{NAME}"
        self._descriptor = -1
        self._left: list[Mark] = []
        self._free: list[int] = []
        self._open()
        self._free = list(range(_PLACES)) if self._descriptor >= 0 else []

    def _open(self) -> None:
        try:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            self._left = _taken(os.pread(self._descriptor, len(_HEADER) + _PLACES * _PLACE_BYTES, 0))
            os.pwrite(self._descriptor, _HEADER + bytes(_PLACES * _PLACE_BYTES), 0)
        except OSError:
            self.close()  # a full disk, or a folder that may only be read: without marks, then

    def was_removed(self) -> bool:
        """Whether somebody has removed the file since this was asked last. There is a new one then."""
        if self._descriptor < 0 or os.path.exists(self._path):
            return False
        os.close(self._descriptor)
        self._descriptor = -1
        self._open()
        return True

    def left_over(self) -> list[Mark]:
        """The work that the process before this one died with."""
        return self._left

    def take(self, mark: Mark) -> int:
        """A place, for free(); -1: there is none."""
        if not self._free:
            return -1
        place = self._free.pop()
        shown = mark.shown.encode("utf-8", "replace")[: _PLACE_BYTES - 1 - _FINGERPRINT_BYTES]
        self._write(place, (_TAKEN + mark.fingerprint + shown).ljust(_PLACE_BYTES, b"\x00"))
        return place

    def free(self, place: int) -> None:
        if place >= 0:
            self._write(place, _FREE)
            self._free.append(place)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._free = []

    def _write(self, place: int, data: bytes) -> None:
        try:
            os.pwrite(self._descriptor, data, len(_HEADER) + place * _PLACE_BYTES)
        except OSError:
            pass  # closed, or no room: this request leaves no mark


def _taken(data: bytes) -> list[Mark]:
    if not data.startswith(_HEADER):
        return []
    found = []
    for begin in range(len(_HEADER), len(data) - _PLACE_BYTES + 1, _PLACE_BYTES):
        place = data[begin : begin + _PLACE_BYTES]
        if place[:1] == _TAKEN:
            shown = place[1 + _FINGERPRINT_BYTES :].rstrip(b"\x00").decode("utf-8", "replace")
            found.append(Mark(place[1 : 1 + _FINGERPRINT_BYTES], shown))
    return found
