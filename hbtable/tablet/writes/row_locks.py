"""Locks of rows, and the writes of them that are still on their way (bug class 12: check-and-put read a stale value).

A read-modify-write holds its row from before its read until its own write is visible, and begins only when every
earlier write of the row is visible. A plain write does not hold rows; it only waits while one of its rows is held. So
plain writes share group commits freely, and what a read-modify-write read is still true when its write is queued.

An increment lets the row go when its write is in the log's queue, and says there what it brings: the next increment
of the same counter is made of that, and joins the queue behind it. Readers see neither before it is durable.

Locks are handed on in order of arrival. Whoever acquires several rows acquires them in ascending order, so there is no
circle.
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple, final

from hbtable.model.cell import Cell
from hbtable.runtime.interface import Event, Runtime
from hbtable.switches import switches
from hbtable.tablet.layout import LocalityGroupLayout


@final
class CountUnderWay(NamedTuple):
    """The newest cell of a column, as an increment brings it: hidden by nothing, without a time to live."""

    layout: LocalityGroupLayout
    family: bytes
    qualifier: bytes
    cell: Cell


@final
class InFlightWrite:
    """One call's write between the log's queue and the memtable."""

    __slots__ = ("counter", "is_refused", "is_under_way", "landed", "rows")

    def __init__(self, rows: frozenset[bytes]) -> None:
        self.rows = rows
        self.counter: CountUnderWay | None = None
        """Of an increment alone."""
        self.is_under_way = True
        self.is_refused = False
        self.landed: Event | None = None
        """Made by the first that waits; set when the write is visible or refused."""


@final
class HeldRow:
    """A row's lock, which is given back once."""

    __slots__ = ("_row", "_row_locks")

    def __init__(self, row_locks: "RowLocks", row: bytes) -> None:
        self._row_locks = row_locks
        self._row: bytes | None = row

    def let_go(self) -> None:
        """Does not switch. Nothing the second time."""
        row, self._row = self._row, None
        if row is not None:
            self._row_locks.release(row)


@final
class RowLocks:
    """The row locks of one tablet. `held` and `in_flight` are public for the hot path's emptiness checks."""

    __slots__ = ("_runtime", "held", "in_flight")

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.held: dict[bytes, deque[Event]] = {}
        """Row -> those that wait for it, in order."""
        self.in_flight: deque[InFlightWrite] = deque()
        """In log order."""

    @switches
    def acquire(self, row: bytes) -> None:
        """*Switches* while another holds the row. To be followed by release()."""
        waiting = self.held.get(row)
        if waiting is None:
            self.held[row] = deque()
            return
        granted = self._runtime.event()
        waiting.append(granted)
        try:
            granted.wait()
        except BaseException:  # killed while waiting
            if granted.is_set():
                self.release(row)  # the lock was handed over already: pass it on, or the row is stuck for ever
            else:
                waiting.remove(granted)
            raise

    def release(self, row: bytes) -> None:
        waiting = self.held[row]
        if waiting:
            waiting.popleft().set()  # handed over: the row stays held
        else:
            del self.held[row]

    @switches
    def acquire_all(self, rows: Iterable[bytes]) -> list[bytes]:
        """Waits for the locks of a plain write of several rows, some of which are held. It waits for the rows that are
        held now, and begins again when another one of `rows` was taken meanwhile. On return nobody else holds any of
        them. The caller gives back what it got once the write is in the log's queue."""
        every = frozenset(rows)
        wanted = every & self.held.keys()
        while wanted:
            taken = self.acquire_each(wanted)
            now_held = every & self.held.keys()
            if now_held == wanted:
                return taken
            # Another row became held while we waited. Taking it now could break the order: begin again with all.
            self.release_all(taken)
            wanted |= now_held
        return []

    def release_all(self, rows: Iterable[bytes]) -> None:
        for row in rows:
            self.release(row)

    def last_under_way(self, row: bytes) -> InFlightWrite | None:
        """The last write of the row that is on its way."""
        for write in reversed(self.in_flight):
            if row in write.rows:
                return write
        return None

    @switches
    def wait_until_visible(self, row: bytes) -> None:
        """*Switches* while a write of the row is on its way. The caller holds the row, so no new one joins."""
        while (last := self.last_under_way(row)) is not None:
            self._wait(last)

    @switches
    def wait_until_idle(self) -> None:
        """*Switches* until everything queued so far, and whatever joins meanwhile, has landed."""
        while self.in_flight:
            self._wait(self.in_flight[-1])

    def land(self, write: InFlightWrite, is_refused: bool = False) -> None:
        """Ends a write in flight: it is visible now, or refused. Does not switch."""
        write.is_under_way, write.is_refused = False, is_refused
        in_flight = self.in_flight
        if in_flight and in_flight[0] is write:
            in_flight.popleft()
        elif write in in_flight:
            in_flight.remove(write)
        if write.landed is not None:
            write.landed.set()

    @switches
    def acquire_each(self, rows: Iterable[bytes]) -> list[bytes]:
        """Takes every one of these rows, held or not; what to give back."""
        taken: list[bytes] = []
        try:
            for row in sorted(rows):
                self.acquire(row)
                taken.append(row)
        except BaseException:
            self.release_all(taken)
            raise
        return taken

    @switches
    def _wait(self, write: InFlightWrite) -> None:
        if write.landed is None:
            write.landed = self._runtime.event()
        write.landed.wait()
