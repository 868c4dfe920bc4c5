"""Numbers that are given out once and never again: tablet ids, table ids, scanner ids.

A lock service file per kind holds the next free number as decimal ASCII. A process takes a range of numbers by
compare-and-set and gives them out without I/O; what it has not given out when it ends is lost, never reused.

The file may be lost, or come back from an old copy. Whoever takes numbers says which ones it knows to be in use
(numbers_in_use.py), and goes on above them, loudly.
"""

import logging
from collections.abc import Callable
from typing import Final, final

from hbtable.errors import AlreadyExists, Conflict, Corruption, FileNotFound, LimitExceeded, Unavailable
from hbtable.lockservice.interface import Session
from hbtable.switches import switches

TABLET_IDS: Final = "/identifiers/tablet"
TABLE_IDS: Final = "/identifiers/table"
SCANNER_IDS: Final = "/identifiers/scanner"

log = logging.getLogger(__name__)

_ABSENT: Final = 0
"""Instead of a version: those begin at 1."""
_IN_HAND: Final = 1 << 20
"""More than all processes of a cluster have taken and not used, together."""


@final
class IdAllocator:
    """Gives out numbers of one kind. `first`: the first number of a new cluster; no counter may say less. `when_lost`:
    where numbers begin instead when there is no counter. `range_size`: numbers taken at a time; raising it means fewer
    lock service writes and more numbers lost at each restart. `limit`: the first number that may not be given out.
    `in_use`: the highest number that the caller knows to be in use; it may switch. `makes`: whether the counter is made
    where there is none; who knows less than the master leaves that to it."""

    def __init__(
        self,
        session: Session,
        path: str,
        first: int = 0,
        range_size: int = 64,
        limit: int = 2**63 - 1,
        in_use: Callable[[], int] | None = None,
        makes: bool = True,
        when_lost: int = 0,
    ) -> None:
        self._session = session
        self._path = path
        self._first = first
        self._range_size = range_size
        self._limit = limit
        self._in_use = in_use
        self._makes = makes
        self._when_lost = when_lost
        self._next = 0
        self._stop = 0
        self._taken_up_to = first
        """All numbers that this process took are below this one: a counter that says less was put back."""

    @switches
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

    @switches
    def take(self, count: int) -> range:
        """`count` numbers at once, durably taken on return. LimitExceeded when they are used up;
        Unavailable when there is no counter and this process does not make it."""
        in_use = self._in_use() + 1 if self._in_use is not None else self._first
        while True:
            least = max(in_use, self._taken_up_to)
            said, version = self._read()
            if version == _ABSENT and not self._makes:
                raise Unavailable(f"the counter {self._path} is not there; the master puts it right, try again")
            start = said if said >= least else self._beyond(least)
            stop = min(start + count, self._limit)
            if stop <= start:
                raise LimitExceeded(f"all numbers below {self._limit} of {self._path} are used up")
            if self._replace(version, stop):
                self._taken_up_to = max(stop, self._taken_up_to)
                if said < least:
                    self._tell(said, version, least, start)
                return range(start, stop)

    @switches
    def raise_to(self, least: int) -> bool:
        """Raises the counter to this, if it says less. True when it was lost, or said less, which the log tells.
        Corruption when it cannot be read."""
        if least <= self._first:
            return False  # nothing was ever given out
        while True:
            said, version = self._read()
            if said >= least:
                return False
            if self._replace(version, self._beyond(least)):
                self._tell(said, version, least, self._beyond(least))
                return True

    def _beyond(self, least: int) -> int:
        """The next number that is neither in use nor in the hand of another process."""
        return least + _IN_HAND if self._range_size > 1 else least

    @switches
    def _read(self) -> tuple[int, int]:
        """(the next free number, the file's version); (the first of all, 0) when there is no file."""
        try:
            file = self._session.read(self._path)
        except FileNotFound:
            return max(self._first, self._when_lost), _ABSENT
        if not file.data.isdigit():
            raise Corruption(self._path, 0, f"{file.data[:40]!r} is not a number")
        return int(file.data), file.version

    @switches
    def _replace(self, version: int, number: int) -> bool:
        """False: another process was faster."""
        data = b"%d" % number
        try:
            if version == _ABSENT:
                self._session.create(self._path, data)
            else:
                self._session.write(self._path, data, version)
        except (AlreadyExists, Conflict, FileNotFound):
            return False
        return True

    def _tell(self, said: int, version: int, least: int, start: int) -> None:
        was = "was not there" if version == _ABSENT else f"said {said}"
        log.error(
            "the counter %s %s and must say %d at least: it was lost, or is an old copy; numbers go on at %d",
            self._path, was, least, start,
        )  # fmt: skip
