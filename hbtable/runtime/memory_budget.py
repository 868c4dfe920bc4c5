"""Memory for large requests and answers of all clients together, bounded in bytes.

A request is counted as it arrives (an announced length costs nothing), an answer while it is collected and until the
client has taken it. Beyond the bound the transfer that began longest ago, and only waits for its client, is cut off:
who reads or writes steadily is never the oldest for long. What waits for no client (a request being carried out) stays
counted and cannot be cut; when nothing else is left, arriving requests wait, pages of scanners end early, and other
answers that still grow wait for each other: the oldest of them goes on whatever it takes, so that one is always done
next. Where very many wait, or one waits for too long, it is refused.

What is kept for a client that may ask for it makes room before anybody is cut off.

Small ones, of up to SMALL_BYTES, are not counted: they are the usual ones, and this must not cost them anything.
"""

import logging
from collections.abc import Callable
from typing import Final, final

from hbtable.errors import Overloaded
from hbtable.switches import switches

_LOG: Final = logging.getLogger(__name__)
_WAIT_SECONDS: Final = 0.02
_LONGEST_PAUSE_SECONDS: Final = 0.2
_ROOM_TIMEOUT_SECONDS: Final = 10.0
"""An answer that waits for longer for room to grow is refused: many clients wait for no longer than half a minute."""
_WAITING_SHARE: Final = 0.25
"""So much of the bound may be taken beyond it, by answers that wait for room."""
_KEPT_SHARE: Final = 4
"""The part of the memory, one over this, that may be taken by what is kept."""
SMALL_BYTES: Final = 16 << 10


@final
class MemoryReservation:
    """One request or answer. `cut` ends its connection; None while the server itself is at work on it."""

    __slots__ = ("cut", "size_bytes", "waited_seconds")

    def __init__(self, cut: Callable[[], None] | None) -> None:
        self.cut = cut
        self.size_bytes = 0
        self.waited_seconds = 0.0
        """For room to grow, all in all."""


@final
class MemoryBudget:
    """The memory that the large messages of one port may take together. `sleep` *switches*. An answer waits for
    `room_seconds` at most, and once more so long before it begins."""

    __slots__ = (
        "_growing", "_kept", "_open", "_room_seconds", "_sleep", "cut_off", "growing_bytes", "kept_bytes",
        "limit_bytes", "used_bytes",
    )  # fmt: skip

    def __init__(
        self, limit_bytes: int, sleep: Callable[[float], None], room_seconds: float = _ROOM_TIMEOUT_SECONDS
    ) -> None:
        self.limit_bytes = limit_bytes
        """May change at any time; what is under way beyond a smaller one is cut off by the next that wants room."""
        self._sleep = sleep
        self._room_seconds = room_seconds
        self._open: dict[MemoryReservation, None] = {}  # ascending by their beginning
        self._growing: dict[MemoryReservation, None] = {}  # likewise; those of grow()
        self._kept: dict[MemoryReservation, None] = {}  # likewise
        self.growing_bytes = 0
        """The part of `used_bytes` that answers take which are put together by grow()."""
        self.kept_bytes = 0
        """The part of `used_bytes` that may be dropped at any time."""
        self.used_bytes = 0
        self.cut_off = 0
        """Connections ended for room, ever."""

    def begin(self, cut: Callable[[], None] | None) -> MemoryReservation:
        reservation = MemoryReservation(cut)
        self._open[reservation] = None
        return reservation

    def end(self, reservation: MemoryReservation) -> None:
        """Idempotent."""
        if self._open.pop(reservation, self) is not self:
            self.used_bytes -= reservation.size_bytes
            if self._growing.pop(reservation, self) is not self:
                self.growing_bytes -= reservation.size_bytes

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
        """`count` bytes more of a request. *Switches* when it has to wait for room. OSError when it was itself cut."""
        self._grow(reservation, count)
        while not self._make_room():
            self._sleep(_WAIT_SECONDS)
        if reservation not in self._open:
            raise ConnectionAbortedError("cut off to make room")

    def send(self, reservation: MemoryReservation, count: int) -> None:
        """An answer of `count` bytes is going to its client."""
        self._grow(reservation, count)
        self._make_room(spare=reservation)

    def collect(self, reservation: MemoryReservation, count: int) -> bool:
        """`count` bytes more of an answer that is being put together; False when there is no room for more."""
        self._grow(reservation, count)
        return self._make_room()

    @switches
    def wait_to_grow(self) -> None:
        """*Switches* while answers that grow take half of the memory: those that have begun are to have the other half,
        and who waits here has done nothing that would be lost. Overloaded when that takes too long."""
        pause, waited = _WAIT_SECONDS, 0.0
        while 2 * self.growing_bytes > self.limit_bytes:
            if waited >= self._room_seconds:
                raise self._overloaded()
            self._sleep(pause)
            waited += pause
            pause = min(1.5 * pause, _LONGEST_PAUSE_SECONDS)

    @switches
    def grow(self, reservation: MemoryReservation, count: int) -> None:
        """As collect(), for an answer that cannot end early. *Switches* when it has to wait for room. Overloaded."""
        self._grow(reservation, count)
        self._growing[reservation] = None
        self.growing_bytes += count
        pause = _WAIT_SECONDS
        while not self._make_room() and next(iter(self._growing)) is not reservation:
            is_long = reservation.waited_seconds >= self._room_seconds
            if is_long or self.used_bytes > (1 + _WAITING_SHARE) * self.limit_bytes:
                raise self._overloaded()
            self._sleep(pause)
            reservation.waited_seconds += pause
            pause = min(1.5 * pause, _LONGEST_PAUSE_SECONDS)

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
        """False when what is left cannot be cut."""
        while self.used_bytes > self.limit_bytes:
            if self._kept:
                self._drop_oldest()
                continue
            oldest = next((one for one in self._open if one.cut is not None and one is not spare), None)
            if oldest is None or oldest.cut is None:
                return False
            _LOG.warning("cut off a client that held %d bytes, to make room", oldest.size_bytes)
            self.cut_off += 1
            self.end(oldest)
            oldest.cut()
        return True
