"""The tablets that this master has servers give up: whoever asked for that sees to what becomes of them."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, final

from hbtable.switches import switches

_KEPT_SECONDS: Final = 10.0
"""For which a tablet that was given up is expected among those that left. Servers are asked once in a second."""


@final
class OwnUnloads:
    """Told of each by Placement."""

    def __init__(self, clock_seconds: Callable[[], float]) -> None:
        self._clock_seconds = clock_seconds
        self._under_way = Counter[int]()
        self._given_up: dict[int, float] = {}
        """By tablet, when it was given up last; ascending."""

    @contextmanager
    @switches
    def of(self, tablet_id: int) -> Iterator[None]:
        """While the body runs, a server is asked. It gave the tablet up unless the body raises."""
        self._under_way[tablet_id] += 1
        try:
            yield
            self._given_up.pop(tablet_id, None)
            self._given_up[tablet_id] = self._clock_seconds()
            self._forget_old()
        finally:
            self._under_way[tablet_id] -= 1
            if not self._under_way[tablet_id]:
                del self._under_way[tablet_id]

    def is_under_way(self, tablet_id: int) -> bool:
        """Does not switch."""
        return tablet_id in self._under_way

    def take(self, tablet_id: int) -> bool:
        """Whether the tablet was given up to this master just now; it is told once. Does not switch."""
        self._forget_old()
        return self._given_up.pop(tablet_id, None) is not None

    def _forget_old(self) -> None:
        oldest = self._clock_seconds() - _KEPT_SECONDS
        while (first := next(iter(self._given_up.items()), None)) is not None and first[1] < oldest:
            del self._given_up[first[0]]
