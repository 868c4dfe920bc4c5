"""Deficit round robin among clients: whose turn it is, where the time that each turn takes is known afterwards only.

Each client has a share with a queue. Shares with a queue stand in a ring. The one whose turn it is takes turns until it
has used up its credit; each time round the ring it gets a quantum more. Who took more than that lets the others go
first. Nothing here waits, and nobody's task is known: the hub (fair_scheduler.py) and worker processes
(processes/worker_turns.py) have one each.
"""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar, final
from weakref import WeakValueDictionary

Turn = TypeVar("Turn")


@final
class Share(Generic[Turn]):
    """One client's turns, or the server's own."""

    __slots__ = (
        "__weakref__", "calls", "credit", "left_at", "name", "queue", "takes_a_third", "usual_seconds", "waits",
        "weight",
    )  # fmt: skip

    def __init__(self, name: str, weight: float = 1.0, takes_a_third: bool = False) -> None:
        self.name = name
        self.weight = weight
        self.takes_a_third = takes_a_third
        """Of the time, at least, however many others there are."""
        self.queue: deque[Turn] = deque()
        self.calls = 0
        """For whoever shares out, and so is `usual_seconds`."""
        self.usual_seconds = 0.0
        self.credit = 0.0
        """Seconds that it may take before others do."""
        self.waits = False
        """It is in the ring."""
        self.left_at = 0.0


@final
class FairShares(Generic[Turn]):
    """The shares, and the ring of those that wait. `quantum_seconds`: what each gets for a time round. One long turn of
    a client keeps it back for no longer than `largest_debt_seconds` for each other client that waits."""

    __slots__ = ("_clock", "_largest_debt_seconds", "_quantum_seconds", "_shares", "ring")

    def __init__(self, clock: Callable[[], float], quantum_seconds: float, largest_debt_seconds: float) -> None:
        self._clock = clock
        self._quantum_seconds = quantum_seconds
        self._largest_debt_seconds = largest_debt_seconds
        self._shares = WeakValueDictionary[str, Share[Turn]]()
        self.ring: deque[Share[Turn]] = deque()
        """Those with a queue, and perhaps some whose queue has become empty."""

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
        # What it owes is forgiven as fast as the others could have taken it.
        share.credit = min(self._quantum_seconds, share.credit + self._clock() - share.left_at)
        if share.credit > 0:
            self.ring.appendleft(share)  # it wanted nothing for a while: a client with a call now and then never waits
        else:
            self.ring.append(share)

    def next(self, now: float) -> Share[Turn]:
        """The share whose turn it is; its queue has one. To be called while somebody waits."""
        ring, quantum_seconds = self.ring, self._quantum_seconds
        while True:
            share = ring[0]
            if not share.queue:
                ring.popleft()
                share.waits = False
                share.left_at = now
            elif share.credit > 0:
                return share
            else:
                weight = max(1.0, (len(ring) - 1) / 2) if share.takes_a_third else share.weight
                share.credit = quantum_seconds if len(ring) == 1 else share.credit + weight * quantum_seconds
                ring.rotate(-1)

    def took(self, share: Share[Turn], seconds: float) -> None:
        """A turn of it took so long."""
        share.credit = max(share.credit - seconds, -self._largest_debt_seconds)
