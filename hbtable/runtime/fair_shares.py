"""Deficit round robin among clients: whose turn it is, where the time that each turn takes is known afterwards only.

Each client has a share with a queue. Who comes after a while in which it wanted nothing goes ahead of those that are
at it, behind the others that came so: a client with a call now and then hardly waits. It takes turns until it has used
up its credit, and then stands in the ring with those that had theirs. In the ring each gets a quantum more each time
round. Who took more than that lets the others go first.

Who goes ahead could come without end, each from an address of its own. So those in the ring have as much of the time,
once they have waited for a certain one. Nothing here waits, and nobody's task is known: the hub (fair_scheduler.py)
and worker processes (processes/worker_turns.py) have one each.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Generic, TypeVar, final
from weakref import WeakValueDictionary

Turn = TypeVar("Turn")


@final
class Share(Generic[Turn]):
    """One client's turns, or the server's own."""

    __slots__ = (
        "__weakref__", "calls", "credit", "goes_ahead", "left_at", "name", "queue", "takes_a_third", "usual_seconds",
        "waits", "weight",
    )  # fmt: skip

    def __init__(self, name: str, weight: float = 1.0, takes_a_third: bool = False) -> None:
        self.name = name
        self.weight = weight
        self.takes_a_third = takes_a_third
        """Of the ring's time, at least, however many others there are."""
        self.queue: deque[Turn] = deque()
        self.calls = 0
        """For whoever shares out, and so is `usual_seconds`."""
        self.usual_seconds = 0.0
        self.credit = 0.0
        """Seconds that it may take before others do."""
        self.waits = False
        """It is in the ring, or goes ahead of it."""
        self.goes_ahead = False
        self.left_at = 0.0


@final
class FairShares(Generic[Turn]):
    """The shares, and those of them that wait. `quantum_seconds`: what each gets for a time round. One long turn of a
    client keeps it back for no longer than `largest_debt_seconds` for each other client that waits; and for so long
    those that go ahead may take turns while others wait in the ring."""

    __slots__ = (
        "_ahead", "_ahead_seconds", "_clock", "_largest_debt_seconds", "_quantum_seconds", "_ring", "_shares",
        "waiting",
    )  # fmt: skip

    def __init__(self, clock: Callable[[], float], quantum_seconds: float, largest_debt_seconds: float) -> None:
        self._clock = clock
        self._quantum_seconds = quantum_seconds
        self._largest_debt_seconds = largest_debt_seconds
        self._shares = WeakValueDictionary[str, Share[Turn]]()
        # Those with a queue, and perhaps some whose queue has become empty.
        self._ahead: deque[Share[Turn]] = deque()
        self._ring: deque[Share[Turn]] = deque()
        self._ahead_seconds = 0.0
        """More than those in the ring had, since it was not empty."""
        self.waiting = 0
        """The number of shares that go ahead or stand in the ring: a request asks for it each time."""

    def __iter__(self) -> Iterator[Share[Turn]]:
        return chain(self._ahead, self._ring)

    def of(self, client: str) -> Share[Turn]:
        """The same one as long as somebody has it."""
        share = self._shares.get(client)
        if share is None:
            share = self._shares[client] = Share(client)
        return share

    def wait(self, share: Share[Turn], turn: Turn) -> None:
        """`turn` is the last of its share's."""
        share.queue.append(turn)
        if share.waits:
            return
        share.waits = True
        self.waiting += 1
        # What it owes is forgiven as fast as the others could have taken it.
        share.credit = min(self._quantum_seconds, share.credit + self._clock() - share.left_at)
        share.goes_ahead = share.credit > 0
        if share.goes_ahead and share.takes_a_third:
            self._ahead.appendleft(share)  # no client can do as if it was the server
        else:
            (self._ahead if share.goes_ahead else self._ring).append(share)

    def next(self, now: float) -> Share[Turn]:
        """The share whose turn it is; its queue has one. To be called while somebody waits."""
        ahead, ring, quantum_seconds = self._ahead, self._ring, self._quantum_seconds
        while True:
            if not ring:
                self._ahead_seconds = 0.0
            is_ahead = bool(ahead) and self._ahead_seconds < self._largest_debt_seconds
            share = ahead[0] if is_ahead else ring[0]
            if not share.queue:
                (ahead if is_ahead else ring).popleft()
                share.waits = share.goes_ahead = False
                self.waiting -= 1
                share.left_at = now
            elif share.credit > 0:
                return share
            elif is_ahead:
                share.goes_ahead = False
                ring.append(ahead.popleft())
            else:
                weight = max(1.0, (len(ring) - 1) / 2) if share.takes_a_third else share.weight
                share.credit = quantum_seconds if self.waiting == 1 else share.credit + weight * quantum_seconds
                ring.rotate(-1)

    def took(self, share: Share[Turn], seconds: float, went_ahead: bool) -> None:
        """A turn of it took so long. `went_ahead`: share.goes_ahead when next() gave it; it may differ now."""
        share.credit = max(share.credit - seconds, -self._largest_debt_seconds)
        if went_ahead:
            self._ahead_seconds += seconds
        elif self._ahead_seconds:
            # Alone in the ring, one of little weight has no more than it would have beside another.
            of_ring = seconds / min(1.0, share.weight) if len(self._ring) == 1 else seconds
            self._ahead_seconds = max(0.0, self._ahead_seconds - of_ring)

    def spent(self, share: Share[Turn], seconds: float) -> None:
        """It had so much time beside its turns, just now."""
        if not share.waits:
            now = self._clock()
            share.credit = min(self._quantum_seconds, share.credit + now - share.left_at)
            share.left_at = now
        self.took(share, seconds, went_ahead=False)

    def rest(self, now: float) -> None:
        """No share has anybody in its queue: none of them stands in another's way."""
        for shares in (self._ahead, self._ring):
            for share in shares:
                share.waits = share.goes_ahead = False
                share.left_at = now
            shares.clear()
        self.waiting = 0

    def put_aside(self, share: Share[Turn]) -> None:
        """next() passes over the one that it gave last, until take_back()."""
        (self._ahead if share.goes_ahead else self._ring).popleft()

    def take_back(self, shares: Sequence[Share[Turn]]) -> None:
        """Those that were put aside, in the order in which they were."""
        for share in reversed(shares):
            (self._ahead if share.goes_ahead else self._ring).appendleft(share)
