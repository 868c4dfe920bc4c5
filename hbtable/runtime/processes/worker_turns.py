"""Chooses who is served by a worker process next, where there are fewer of them than questions.

In the order of asking, one client with forty questions of a second each made everybody's wait for all of them. Clients
take turns by deficit round robin (fair_shares.py), by the time that a worker worked for each.

A worker is not taken away from a question, so a client whose questions take long does not get the last free one beside
one that it has: whoever asks a short question then waits for nobody. With as many such clients as workers he waits for
one of them to end, and comes next.
"""

from collections.abc import Callable
from typing import Final, final

from gevent.event import Event

from hbtable.errors import Overloaded
from hbtable.runtime.fair_shares import FairShares, Share
from hbtable.switches import switches

_QUANTUM_SECONDS: Final = 0.02
_LARGEST_DEBT_SECONDS: Final = 2.0
_LONG_SECONDS: Final = 0.05
"""A client whose questions took so long lately leaves one worker to others."""


@final
class WorkerTurn:
    """One question that waits for a worker, or has one."""

    __slots__ = ("granted", "share", "went_ahead")

    def __init__(self, share: "WorkerShare") -> None:
        self.share = share
        self.granted = Event()
        self.went_ahead = False
        """Of the ring, when it was granted: the share may stand elsewhere when the worker is free again."""


WorkerShare = Share[WorkerTurn]


@final
class WorkerTurns:
    """Shares out the worker processes of one kind, `places` at a time. Belongs to the hub."""

    __slots__ = ("_clock", "_free", "_kind", "_lately", "_places", "_shares")

    def __init__(self, clock: Callable[[], float], kind: str, places: int) -> None:
        self._clock = clock
        self._kind = kind
        self._places = places
        self._free = places
        self._shares = FairShares[WorkerTurn](clock, _QUANTUM_SECONDS, _LARGEST_DEBT_SECONDS)
        self._lately: dict[WorkerShare, float] = {}
        """The time at which each one's last question ended, oldest first. A client with one question at a time has no
        other while he sends the next, and what he owes would be forgotten: he came before those who waited for him."""

    @switches
    def begin(self, client: str, wait_seconds: float) -> WorkerTurn:
        """A worker may be used when this returns, until end(). *Switches* while there is none; Overloaded when there is
        none for so long."""
        share = self._shares.of(client)
        turn = WorkerTurn(share)
        self._shares.wait(share, turn)
        self._serve()
        try:
            if turn.granted.is_set() or turn.granted.wait(max(0.0, wait_seconds)):
                return turn
        except BaseException:  # killed while it waited
            if turn.granted.is_set():
                self.end(turn, 0.0)
            else:
                share.queue.remove(turn)
            raise
        if turn.granted.is_set():
            return turn  # it came in the same pass of the event loop as the end of the wait, which wins
        share.queue.remove(turn)
        raise Overloaded(
            f"the worker processes that {self._kind} questions need had no turn for this one within {wait_seconds:.3g} "
            f"s: there are {self._places}, and each client gets its share of them; try again, or ask for less at a time"
        )

    def end(self, turn: WorkerTurn, seconds: float) -> None:
        """Its worker is free again; it was used for so long."""
        share = turn.share
        share.calls -= 1
        share.usual_seconds = (share.usual_seconds + seconds) / 2
        self._shares.took(share, seconds, turn.went_ahead)
        now = self._clock()
        if not share.waits:
            share.left_at = now
        self._remember(share, now)
        self._free += 1
        self._serve()

    def _remember(self, share: WorkerShare, now: float) -> None:
        """Keeps the share until nothing that it owes is left."""
        self._lately.pop(share, None)
        self._lately[share] = now
        until = now - _LARGEST_DEBT_SECONDS - _QUANTUM_SECONDS
        while self._lately[oldest := next(iter(self._lately))] < until:
            del self._lately[oldest]

    def _serve(self) -> None:
        """Gives the free workers to those whose turn it is."""
        shares, now = self._shares, self._clock()
        aside: list[WorkerShare] = []
        while self._free and any(share.queue for share in shares):
            share = shares.next(now)
            if self._free == 1 and share.calls and share.usual_seconds > _LONG_SECONDS:
                shares.put_aside(share)
                aside.append(share)
                continue
            turn = share.queue.popleft()
            turn.went_ahead = share.goes_ahead
            share.calls += 1
            self._free -= 1
            turn.granted.set()
        shares.take_back(aside)
