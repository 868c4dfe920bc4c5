"""Long work lets other tasks run every few milliseconds: a stalled hub loses the lease.

Pairs are handed on in lists, so that the pause costs nothing per pair, and so that a scan over a million deleted rows,
which yields nothing, pauses as well. Pausing inside a row tears nothing: what is read belongs to one snapshot.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Protocol, final

from hbtable.encoding.cell_key import Pair
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches
from hbtable.tablet.portions import Portions

_CHUNK = 128
"""Pairs between two looks at the clock: of which each is of another column, these take 0.3 ms."""
_SHORTEST_WAIT_SECONDS = 0.02


@final
class Throttle:
    """Keeps work on bytes at a rate. 0: at any."""

    __slots__ = ("_bytes_per_second", "_runtime", "_until")

    def __init__(self, runtime: Runtime, bytes_per_second: int) -> None:
        self._runtime = runtime
        self._bytes_per_second = bytes_per_second
        self._until = runtime.clock_seconds()

    @switches
    def passed(self, size: int) -> None:
        """*Switches* when so many bytes more are too many by now. What was not used before is not made up for."""
        if self._bytes_per_second:
            now = self._runtime.clock_seconds()
            self._until = max(self._until, now) + size / self._bytes_per_second
            if self._until - now > _SHORTEST_WAIT_SECONDS:
                self._runtime.sleep(self._until - now)


class Cost(Protocol):
    """Hears how long was worked; may raise to end the work."""

    def worked(self, seconds: float) -> None: ...


@final
class Pacer:
    """Lets other tasks run now and then during long work. `check` runs at each look at the clock; it may raise to end
    the work. `cost` hears of the time between two looks, without that of others."""

    __slots__ = ("_check", "_cost", "_looked", "_runtime", "_slice_seconds", "_until")

    def __init__(
        self,
        runtime: Runtime,
        slice_seconds: float,
        check: Callable[[], None] | None = None,
        cost: Cost | None = None,
    ) -> None:
        self._runtime = runtime
        self._slice_seconds = slice_seconds
        self._check = check
        self._cost = cost
        self._looked = runtime.clock_seconds()
        self._until = runtime.slice_end(slice_seconds)

    @switches
    def pause(self) -> None:
        """*Switches* when the time slice is over."""
        if self._check is not None:
            self._check()
        now = self._runtime.clock_seconds()
        if self._cost is not None:
            self._cost.worked(now - self._looked)
            self._looked = now
        self._rest(now)

    @switches
    def give_way(self) -> None:
        """*Switches* when the time slice is over. Costs nobody anything, and ends no work: for what is done already."""
        self._rest(self._runtime.clock_seconds())

    @switches
    def _rest(self, now: float) -> None:
        if now >= self._until:
            self._runtime.sleep(0)
            self._looked = self._runtime.clock_seconds()
            self._until = self._runtime.slice_end(self._slice_seconds)

    @switches
    def paced(self, pairs: Iterator[Pair], portions: Portions) -> Iterator[Pair]:
        """`pairs`, with pauses. `portions` hears of the blocks behind them."""
        return chain.from_iterable(self.paused(iter(lambda: portions.take(pairs, _CHUNK), [])))

    @switches
    def paused(self, lists: Iterable[Sequence[Pair]]) -> Iterator[Iterable[Pair]]:
        """The lists, with pauses after each and inside long ones. They stay as long as they were: a row within which a
        whole list lies comes in parts (merge.visibility)."""
        for one in lists:
            if len(one) <= _CHUNK:
                yield one
                self.pause()
            else:
                yield chain.from_iterable(self._parts(one))

    @switches
    def _parts(self, pairs: Sequence[Pair]) -> Iterator[Sequence[Pair]]:
        for first in range(0, len(pairs), _CHUNK):
            yield pairs[first : first + _CHUNK]
            self.pause()
