"""Keeps the connections that a port holds, and chooses the one that is cut when it is full and another client comes.

The address that holds most connections loses one: those that never got an answer first, then the one that was idle for
longest. A request under way is not cut. So one address can take the whole port only from itself: a client from another
one always gets in, however long the first leaves its connections idle.
"""

import heapq
from collections import Counter
from collections.abc import Iterator
from typing import Final, Generic, Protocol, TypeVar, final

_LOOKED_UP: Final = 100
"""Candidates kept from one look at all connections: at a flood of newcomers each must not cost such a look."""


class Guest(Protocol):
    """A connection as Occupancy sees it."""

    @property
    def host(self) -> str:
        """The client's address without its port. Never changes."""

    @property
    def idle_since(self) -> float:
        """The time, on the clock of all guests, at which its last request ended, or it came."""

    @property
    def working(self) -> bool:
        """The server carries out a request of it, and waits for nothing of the client."""

    @property
    def answered(self) -> bool:
        """Whether it ever got an answer."""

    def turn_out(self, most: int) -> None:
        """Ends the connection to make room among `most`, with a message where its protocol has a place for one. Does
        not wait for the client."""


G = TypeVar("G", bound=Guest)


@final
class Occupancy(Generic[G]):
    """The open connections of one port. Nothing here switches."""

    def __init__(self) -> None:
        self._guests: dict[G, None] = {}  # ascending by arrival
        self._by_host: Counter[str] = Counter()
        self._candidates: list[tuple[bool, float, G]] = []  # ascending; the next to go is the last
        self._candidates_host = ""

    def __len__(self) -> int:
        return len(self._guests)

    def __iter__(self) -> Iterator[G]:
        return iter(list(self._guests))

    def admit(self, guest: G, most: int) -> bool:
        """Whether it may stay; somebody is turned out for it among `most`. Not when all have requests under way."""
        if len(self._guests) >= most:
            victim = self._choose()
            if victim is None:
                return False
            self.leave(victim)
            victim.turn_out(most)
        self._guests[guest] = None
        self._by_host[guest.host] += 1
        return True

    def leave(self, guest: G) -> None:
        """Idempotent."""
        if self._guests.pop(guest, self) is self:
            return
        self._by_host[guest.host] -= 1
        if not self._by_host[guest.host]:
            del self._by_host[guest.host]

    def _choose(self) -> G | None:
        """The one to go; None when all are at work."""
        most = max(self._by_host.values(), default=0)
        if self._by_host[self._candidates_host] == most:
            found = self._next_candidate()
            if found is not None:
                return found
        # Hosts that hold as many as each other are one to us: of theirs, too, the one longest idle goes.
        hosts = {host for host, count in self._by_host.items() if count == most}
        return self._look_up(hosts) or self._of_the_largest_host()

    def _look_up(self, hosts: set[str]) -> G | None:
        idle = [
            (guest.answered, guest.idle_since, number, guest)
            for number, guest in enumerate(self._guests)
            if guest.host in hosts and not guest.working
        ]
        one_host = len(hosts) == 1
        found = heapq.nsmallest(_LOOKED_UP if one_host else 1, idle)
        self._candidates = [(answered, since, guest) for answered, since, _, guest in reversed(found)]
        self._candidates_host = next(iter(hosts), "") if one_host else ""
        return self._next_candidate()

    def _of_the_largest_host(self) -> G | None:
        """The one longest idle of the hosts that hold most among those that are not wholly at work."""
        idle = (
            (-self._by_host[guest.host], guest.answered, guest.idle_since, number, guest)
            for number, guest in enumerate(self._guests)
            if not guest.working
        )
        found = min(idle, default=None)
        return None if found is None else found[-1]

    def _next_candidate(self) -> G | None:
        while self._candidates:
            answered, since, guest = self._candidates.pop()
            if guest in self._guests and not guest.working and (guest.answered, guest.idle_since) == (answered, since):
                return guest
        return None
