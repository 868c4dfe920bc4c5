"""Numbers that are given out once and never again: tablet ids, table ids, scanner ids.

A lock service file per kind holds the next free number as decimal ASCII. A process takes a range of numbers by
compare-and-set and gives them out without I/O; what it has not given out when it ends is lost, never reused.
"""

from typing import Final, final

from hbtable.errors import AlreadyExists, Conflict, Corruption, FileNotFound, LimitExceeded
from hbtable.lockservice.interface import Session

TABLET_IDS: Final = "/identifiers/tablet"
TABLE_IDS: Final = "/identifiers/table"
SCANNER_IDS: Final = "/identifiers/scanner"


@final
class Identifiers:
    """`first`: the first number of a new cluster. `range_size`: numbers taken at a time; raising it means fewer lock
    service writes and more numbers lost at each restart. `limit`: the first number that may not be given out."""

    def __init__(
        self, session: Session, path: str, first: int = 0, range_size: int = 64, limit: int = 2**63 - 1
    ) -> None:
        self._session = session
        self._path = path
        self._first = first
        self._range_size = range_size
        self._limit = limit
        self._next = 0
        self._stop = 0

    def next(self) -> int:
        """A number never given out before, by any process. *Switches* when a new range is needed."""
        if self._next < self._stop:
            number = self._next
            self._next = number + 1
            return number
        taken = self.take(self._range_size)
        if self._next >= self._stop:  # else another task took a range meanwhile: finish that one first
            self._next, self._stop = taken.start + 1, taken.stop
        return taken.start

    def take(self, count: int) -> range:
        """`count` numbers at once, durably taken on return. *Switches.* LimitExceeded when they are used up."""
        while True:
            try:
                file = self._session.read(self._path)
            except FileNotFound:
                try:
                    self._session.create(self._path, b"%d" % self._first)
                except AlreadyExists:
                    pass
                continue
            start = _number(file.data, self._path)
            stop = min(start + count, self._limit)
            if stop <= start:
                raise LimitExceeded(f"all numbers below {self._limit} of {self._path} are used up")
            try:
                self._session.write(self._path, b"%d" % stop, file.version)
            except Conflict:
                continue  # another process took this range
            return range(start, stop)


def _number(data: bytes, path: str) -> int:
    if not data.isdigit():
        raise Corruption(path, 0, f"{data[:40]!r} is not a number")
    return int(data)
