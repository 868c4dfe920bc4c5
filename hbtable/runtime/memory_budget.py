"""Memory for large requests and answers of all clients together, bounded in bytes.

A request is counted as it arrives (an announced length costs nothing), an answer while it is collected and until the
client has taken it. Beyond the bound whoever wants more waits: an arriving request for those that arrived before, an
answer that grows for those that grew before. The oldest of either goes on whatever it takes, so that one is always done
next. Where answers that go out take very much, it waits for these first, for some seconds: otherwise each in turn would
be one more that goes out, until one of them is cut off. Pages of scanners end early. Where very much waits, or one
waits for too long, it is refused and told so.

A client that is slower than SLOWEST_BYTES a second, and has been so for some seconds, is cut off for others' room: it
would keep them waiting for ever. It must be found so several times in a row, for a process that stood still itself
finds all of its clients slow when it goes on. Who reads or writes steadily is cut off only where all together hold so
much that the process itself is in danger, the oldest first.

What is kept for a client that may ask for it makes room before anybody is cut off.

Small ones, of up to SMALL_BYTES, are not counted: they are the usual ones, and this must not cost them anything.
"""

import logging
from collections.abc import Callable
from math import inf
from typing import Final, final

from hbtable.errors import Overloaded
from hbtable.switches import switches

_LOG: Final = logging.getLogger(__name__)
_WAIT_SECONDS: Final = 0.02
_LONGEST_PAUSE_SECONDS: Final = 0.2
_ROOM_TIMEOUT_SECONDS: Final = 10.0
"""An answer that waits for longer for room to grow is refused: many clients wait for no longer than half a minute."""
_DANGER: Final = 0.5
"""Of the bound that the budget began with. What waits for room may take so much beyond the bound that holds now; what
wants more is refused at once, and of answers that go out, the oldest is cut off. Beyond half of it, an answer that
grows waits for those that go out."""
_STILL_SECONDS: Final = 3.0
"""A client may stand still for so long without being cut off for others' room."""
_LONGEST_DEBT_SECONDS: Final = 0.25
"""A client that was slow has made up for it by sending or taking what SLOWEST_BYTES allow for in this time."""
_LOOK_AGAIN_SECONDS: Final = 0.1
_LOOKS_BEFORE_CUT: Final = 5
"""A client is cut off that was too slow at so many looks in a row."""
SLOWEST_BYTES: Final = 256 << 10
"""In a second. Who is slower for long counts as one that stands still."""
SENT_AT_ONCE: Final = 256 << 10
"""Whoever sends a large answer says so after each so many bytes (MemoryBudget.moved)."""
_KEPT_SHARE: Final = 4
"""The part of the memory, one over this, that may be taken by what is kept."""
SMALL_BYTES: Final = 16 << 10


@final
class MemoryReservation:
    """One request or answer. `cut` ends its connection; None while the server itself is at work on it."""

    __slots__ = ("cut", "grown_bytes", "looks", "size_bytes", "slow_from", "waited_seconds")

    def __init__(self, cut: Callable[[], None] | None, slow_from: float = 0.0) -> None:
        self.cut = cut
        self.slow_from = slow_from
        """On the budget's clock. From then on it is too slow."""
        self.looks = 0
        """So many found it too slow since its client moved on."""
        self.size_bytes = 0
        self.grown_bytes = 0
        """The part of them that grow() added."""
        self.waited_seconds = 0.0
        """For room, all in all."""


@final
class MemoryBudget:
    """The memory that the large messages of one port may take together. `sleep` *switches*. An answer or an arriving
    request waits for `room_seconds` at most, all in all."""

    __slots__ = (
        "_arriving", "_clock", "_full_bytes", "_growing", "_kept", "_next_look", "_nobody_slow_before", "_oldest",
        "_oldest_until", "_open", "_room_seconds", "_sleep", "cut_off", "growing_bytes", "kept_bytes", "limit_bytes",
        "used_bytes",
    )  # fmt: skip

    def __init__(
        self,
        limit_bytes: int,
        sleep: Callable[[float], None],
        clock: Callable[[], float],
        room_seconds: float = _ROOM_TIMEOUT_SECONDS,
    ) -> None:
        self.limit_bytes = limit_bytes
        """May change at any time. While more is under way than a smaller one allows, whoever wants room waits."""
        self._full_bytes = limit_bytes
        self._sleep = sleep
        self._clock = clock
        self._room_seconds = room_seconds
        self._open: dict[MemoryReservation, None] = {}  # ascending by their beginning
        self._arriving: dict[MemoryReservation, None] = {}  # likewise; those of arrive()
        self._growing: dict[MemoryReservation, None] = {}  # likewise; those of grow()
        self._kept: dict[MemoryReservation, None] = {}  # likewise
        self._nobody_slow_before = 0.0
        """Nobody is too slow before; thousands need not be looked at each time."""
        self._next_look = 0.0
        """Before, nobody is counted as slow once more. Each that is cut off has all others looked at again, at the same
        moment."""
        self._oldest: MemoryReservation | None = None
        self._oldest_until = 0.0
        """So long `_oldest`, the oldest that grows, waits for answers that go out."""
        self.growing_bytes = 0
        """The part of `used_bytes` that answers take which are put together by grow()."""
        self.kept_bytes = 0
        """The part of `used_bytes` that may be dropped at any time."""
        self.used_bytes = 0
        self.cut_off = 0
        """Connections ended for room, ever."""

    def begin(self, cut: Callable[[], None] | None) -> MemoryReservation:
        reservation = MemoryReservation(cut, self._clock() + _STILL_SECONDS)
        self._open[reservation] = None
        return reservation

    def moved(self, reservation: MemoryReservation, count: int) -> None:
        """The client has sent or taken so many bytes."""
        now = self._clock()
        slow_from = max(reservation.slow_from, now - _LONGEST_DEBT_SECONDS) + count / SLOWEST_BYTES
        reservation.slow_from = min(slow_from, now + _STILL_SECONDS)
        if slow_from > now:
            reservation.looks = 0

    @switches
    def pause(self, reservation: MemoryReservation | None, pause: Callable[[], None]) -> None:
        """*Switches*, by calling `pause`. The client waits for the server meanwhile, which does not make it slow. None:
        it has sent so little that it is not counted."""
        if reservation is None:
            pause()
            return
        before, slow_from, reservation.slow_from = self._clock(), reservation.slow_from, inf
        try:
            pause()
        finally:
            reservation.slow_from = slow_from + self._clock() - before

    def settled(self, reservation: MemoryReservation) -> None:
        """The request has arrived whole: it waits for the server from now on, and for no client."""
        reservation.cut = None
        self._arriving.pop(reservation, None)

    def end(self, reservation: MemoryReservation) -> None:
        """Idempotent."""
        if self._open.pop(reservation, self) is not self:
            self.used_bytes -= reservation.size_bytes
            self._arriving.pop(reservation, None)
            self._growing.pop(reservation, None)
            self.growing_bytes -= reservation.grown_bytes

    def keep(self, size_bytes: int, drop: Callable[[], None]) -> MemoryReservation | None:
        """Room for something that `drop` throws away as soon as others need the room, or drop_kept() comes. None:
        there is no room for it."""
        if (self.kept_bytes + size_bytes) * _KEPT_SHARE > self.limit_bytes:
            return None
        if self.used_bytes + size_bytes > self.limit_bytes:
            return None
        kept = MemoryReservation(drop)
        kept.size_bytes = size_bytes
        self._kept[kept] = None
        self.kept_bytes += size_bytes
        self.used_bytes += size_bytes
        return kept

    def let_go(self, kept: MemoryReservation) -> None:
        """Ends a keep(): it is used now, or not needed any more. Idempotent."""
        if self._kept.pop(kept, self) is not self:
            self.kept_bytes -= kept.size_bytes
            self.used_bytes -= kept.size_bytes

    def drop_kept(self) -> None:
        """All of it."""
        while self._kept:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        oldest = next(iter(self._kept))
        self.let_go(oldest)
        if oldest.cut is not None:
            oldest.cut()

    @switches
    def arrive(self, reservation: MemoryReservation, count: int) -> None:
        """`count` bytes more of a request. *Switches* while it has to wait for room, unless it is the oldest that
        arrives. Overloaded when that takes too long; OSError when it was itself cut."""
        self._grow(reservation, count)
        self.moved(reservation, count)
        if reservation in self._open:
            self._arriving[reservation] = None
        if not self._make_room():
            self._await_turn(reservation)
        if reservation not in self._open:
            raise ConnectionAbortedError("cut off to make room")

    @switches
    def _await_turn(self, reservation: MemoryReservation) -> None:
        cut, reservation.cut = reservation.cut, None  # it waits for us
        try:
            pause = _WAIT_SECONDS
            while next(iter(self._arriving), reservation) is not reservation and not self._make_room():
                pause = self._wait(reservation, pause)
        finally:
            reservation.cut = cut
            reservation.slow_from = self._clock() + _STILL_SECONDS

    @switches
    def _wait(self, reservation: MemoryReservation, pause: float) -> float:
        """The next pause. Overloaded after too many."""
        if self._is_in_danger(self.used_bytes) or reservation.waited_seconds >= self._room_seconds:
            raise self._overloaded()
        self._sleep(pause)
        reservation.waited_seconds += pause
        return min(1.5 * pause, _LONGEST_PAUSE_SECONDS)

    def send(self, reservation: MemoryReservation, count: int) -> None:
        """An answer of `count` bytes is going to its client; moved() hears of it as it goes. Answers that grow make
        nobody's danger: in danger they are refused, each when it wants more or has waited."""
        self._grow(reservation, count)
        if not self._make_room(spare=reservation):
            while self._is_in_danger(self.used_bytes - self.growing_bytes):
                oldest = next((one for one in self._open if one.cut is not None and one is not reservation), None)
                if oldest is None:
                    return
                self._cut(oldest)

    def collect(self, reservation: MemoryReservation, count: int) -> bool:
        """`count` bytes more of an answer that is being put together; False when there is no room for more."""
        self._grow(reservation, count)
        return self._make_room()

    @switches
    def grow(self, reservation: MemoryReservation, count: int, at_once: bool = False, is_first: bool = False) -> None:
        """As collect(), for an answer that cannot end early. *Switches* when it has to wait for room; the oldest that
        grows, only for answers that go out (_must_let_go_out). The first time also while others that grow take half of
        the memory, for those that have begun are to have the other half. Overloaded, with `at_once` instead of any
        waiting. Nothing when it has ended."""
        if reservation not in self._open:
            return
        self._grow(reservation, count)
        self._growing[reservation] = None
        reservation.grown_bytes += count
        self.growing_bytes += count
        pause = _WAIT_SECONDS
        while next(iter(self._growing), reservation) is not reservation or (
            not at_once and self._must_let_go_out(reservation)
        ):
            if self._make_room() and not (is_first and 2 * (self.growing_bytes - count) > self.limit_bytes):
                return
            if at_once:
                raise self._overloaded()
            pause = self._wait(reservation, pause)

    def _must_let_go_out(self, oldest: MemoryReservation) -> bool:
        """For the oldest answer that grows, until it has been that for half of the time that one may wait: clients that
        are steady, and not much faster than they must be, may keep the room for minutes."""
        if self.used_bytes <= self.limit_bytes + _DANGER / 2 * self._full_bytes:
            return False
        if self._oldest is not oldest:
            self._oldest, self._oldest_until = oldest, self._clock() + self._room_seconds / 2
        return self._clock() < self._oldest_until and any(
            one.cut is not None and one not in self._arriving for one in self._open
        )

    def _overloaded(self) -> Overloaded:
        return Overloaded(
            f"the server holds {self.used_bytes} bytes of large requests and answers, more than its bound of "
            f"{self.limit_bytes} lets it add to; try again, or ask for fewer rows at a time"
        )

    def _grow(self, reservation: MemoryReservation, count: int) -> None:
        if reservation in self._open:
            reservation.size_bytes += count
            self.used_bytes += count

    def _make_room(self, spare: MemoryReservation | None = None) -> bool:
        """False when there is none yet."""
        while self.used_bytes > self.limit_bytes:
            if self._kept:
                self._drop_oldest()
                continue
            slow = self._slowest(spare)
            if slow is None:
                return False
            self._cut(slow)
        return True

    def _cut(self, reservation: MemoryReservation) -> None:
        _LOG.warning("cut off a client that held %d bytes, to make room", reservation.size_bytes)
        self.cut_off += 1
        self.end(reservation)
        if reservation.cut is not None:
            reservation.cut()

    def _is_in_danger(self, held_bytes: int) -> bool:
        return held_bytes > self.limit_bytes + _DANGER * self._full_bytes

    def _slowest(self, spare: MemoryReservation | None) -> MemoryReservation | None:
        """The one to be cut off: the oldest of those that are too slow."""
        now = self._clock()
        if now < self._nobody_slow_before:
            return None
        first, counts = now + _STILL_SECONDS, now >= self._next_look
        if counts:
            self._next_look = now + _LOOK_AGAIN_SECONDS
        found: MemoryReservation | None = None
        for one in self._open:
            if one.slow_from > now:
                first = min(first, one.slow_from)
                continue
            if one.cut is not None and one is not spare:
                one.looks += counts
                if found is None and one.looks >= _LOOKS_BEFORE_CUT:
                    found = one
                    if not counts:
                        return found
            first = min(first, now + _LOOK_AGAIN_SECONDS)  # else it may wait for its client soon
        if found is None:
            self._nobody_slow_before = first
        return found
