"""The locks of tables: one operation at a time on each, and beside some of them tablets without a server are placed.

An operation that moves tablets holds its table for as long as their servers take to answer: seconds, where one hangs.
All that it needs is that the table stays as it is: enabled, under its schema. So a tablet that another server has given
up is placed meanwhile, as a guest of that operation: no other operation begins before the guests are gone. The rows of
the tablets are changed by compare-and-set, so that of two who want the same one, one is refused.
"""

import math
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

from hbtable.errors import Unavailable
from hbtable.model.names import shown
from hbtable.runtime.interface import Event, Runtime
from hbtable.switches import switches


class _Turn:
    """One that holds the table, or is to, or a guest. `admitted` is set when it may go on."""

    __slots__ = ("admitted", "lets_guests_in")

    def __init__(self, admitted: Event, lets_guests_in: bool) -> None:
        self.admitted = admitted
        self.lets_guests_in = lets_guests_in


class _Table:
    """A table that somebody works on, or waits for."""

    __slots__ = ("guests", "holder", "waiting", "waiting_guests")

    def __init__(self) -> None:
        self.holder: _Turn | None = None
        self.guests: set[_Turn] = set()
        self.waiting: deque[_Turn] = deque()
        self.waiting_guests: list[_Turn] = []

    def admit(self) -> None:
        """Lets in who may go on now. Guests first: the rows of their tablets have no server."""
        if self.holder is None or self.holder.lets_guests_in:
            for guest in self.waiting_guests:
                guest.admitted.set()
            self.guests.update(self.waiting_guests)
            self.waiting_guests.clear()
        if self.holder is None and self.waiting and (not self.guests or self.waiting[0].lets_guests_in):
            self.holder = self.waiting.popleft()
            self.holder.admitted.set()

    def is_free(self) -> bool:
        return not (self.holder or self.guests or self.waiting or self.waiting_guests)


@final
class TableLocks:
    """One lock for each table, by its name; fair among those that hold it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._tables: dict[bytes, _Table] = {}

    @contextmanager
    @switches
    def hold(self, name: bytes, seconds: float | None = None) -> Iterator[None]:
        """Nobody else holds the table, and it has no guests. *Switches* on entry while that is not so; Unavailable
        after so long."""
        with self._turn(name, lets_guests_in=False, seconds=seconds):
            yield

    @contextmanager
    @switches
    def hold_beside_guests(self, name: bytes) -> Iterator[None]:
        """As hold(), for work that goes on beside guests. *Switches* on entry while somebody else holds it."""
        with self._turn(name, lets_guests_in=True):
            yield

    @contextmanager
    @switches
    def visit(self, name: bytes) -> Iterator[None]:
        """As a guest: nobody holds the table but by hold_beside_guests(). *Switches* on entry while that is not so."""
        with self._turn(name, lets_guests_in=True, is_guest=True):
            yield

    @contextmanager
    @switches
    def _turn(
        self, name: bytes, lets_guests_in: bool, is_guest: bool = False, seconds: float | None = None
    ) -> Iterator[None]:
        latest = math.inf if seconds is None else self._runtime.clock_seconds() + seconds
        table = self._tables.setdefault(name, _Table())
        turn = _Turn(self._runtime.event(), lets_guests_in)
        waiting = table.waiting_guests if is_guest else table.waiting
        waiting.append(turn)
        table.admit()
        try:
            # The clock as well: where this process stood still, the turn and the end of the wait came at once.
            if not turn.admitted.wait(seconds) or self._runtime.clock_seconds() > latest:
                raise Unavailable(f"another operation held up table {shown(name)}; nothing was begun, try again")
            yield
        finally:
            if table.holder is turn:
                table.holder = None
            elif turn in table.guests:
                table.guests.remove(turn)
            else:
                waiting.remove(turn)  # it was ended, or gave up, while it waited
            table.admit()
            if table.is_free():
                del self._tables[name]

    def is_held(self, name: bytes) -> bool:
        """Whether somebody works on the table, or waits for it. Does not switch."""
        return name in self._tables

    def __len__(self) -> int:
        """Tables that somebody works on."""
        return len(self._tables)
