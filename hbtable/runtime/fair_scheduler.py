"""Chooses who computes next: shares the hub's time fairly among clients, and not among connections or tasks.

Without this, each connection with a request and each task in the middle of long work ran once in every round of the
event loop: one client with 200 connections, or with 40 scans of 4 ms slices, made every other one wait for all of them.

Each client (by address) has a share, and the server's own work (flushes, compactions) has one. Whoever wants to compute
waits in its share's queue when the round is no longer young, and shares take turns by deficit round robin: the time
that each takes is measured, and who took more than its quantum lets the others go first. Between two passes the loop
looks at its sockets, so that a client with a single request is never behind another's hundred.

The usual request, of a client that has no other waiting in a round that has just begun, goes straight on.
"""

import sys
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, final
from weakref import WeakValueDictionary

import gevent
from gevent.hub import Hub
from greenlet import greenlet

from hbtable.errors import Overloaded
from hbtable.switches import switches

if TYPE_CHECKING:
    from gevent.hub import Async, Loop

_PASS_SECONDS: Final = 0.001
"""So long the queues are served, or requests go straight on, before the loop looks at its sockets again. Longer: fewer
looks, and a longer wait for who comes meanwhile."""
_ALONE_SECONDS: Final = 0.004
"""So long requests of a client go straight on while nobody else waits: they may overtake each other, and a queue costs
each 4 us. It is the slice of long work, for which a newcomer may have to wait anyway."""
_QUANTUM_SECONDS: Final = 0.001
_LARGEST_DEBT_SECONDS: Final = 0.05
"""One long stretch of a client keeps it back for no longer than this for each other client that waits."""


@final
class Share:
    """One client's turns, or the server's own."""

    __slots__ = ("__weakref__", "calls", "credit", "left_at", "name", "queue", "waits", "weight")

    def __init__(self, name: str, weight: float = 1.0) -> None:
        self.name = name
        self.weight = weight
        self.queue: deque[_Waiter] = deque()
        self.calls = 0
        """Those in `queue` that are requests, and have not begun."""
        self.credit = 0.0
        """Seconds that it may take before others do."""
        self.waits = False
        self.left_at = 0.0


@final
class _Waiter:
    """One task that waits."""

    __slots__ = ("is_call", "over", "refused", "share", "task")

    def __init__(self, task: greenlet, share: Share, is_call: bool) -> None:
        self.task = task
        self.share = share
        self.is_call = is_call
        self.refused = False
        self.over = False
        """It has begun, or was given up."""


@final
class FairScheduler:
    """Shares the time of one hub: the one whose thread makes the first call. `now` is always of `clock`."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._hub: Hub
        self._loop: Loop | None = None
        self._again: Async
        self._is_due = False
        self._shares = WeakValueDictionary[str, Share]()
        self._own = Share("the server itself")
        self._refusals = Share("refusals", weight=0.05)
        """The share of those that are refused. They wait for that, too: telling thousands a second must not cost the
        others their turn."""
        self._ring: deque[Share] = deque()  # those with a queue
        self._waiting = 0
        self._round = -1
        self._round_began = 0.0
        self.calls = 0
        """Requests that wait for their turn, and not for being refused."""
        self.refused = 0
        """Requests refused because too many waited, ever."""

    def share(self, client: str) -> Share:
        """The same one for all connections of a client, as long as it has any."""
        share = self._shares.get(client)
        if share is None:
            share = self._shares[client] = Share(client)
        return share

    def adopt(self, share: Share) -> None:
        """Counts the calling task's work to this share from now on."""
        gevent.getcurrent().share = share  # type: ignore[attr-defined]

    @switches
    def pause(self) -> None:
        """*Switches.* The next turn of the calling task, after a look at the sockets."""
        share = getattr(gevent.getcurrent(), "share", self._own)
        self._wait(_Waiter(gevent.getcurrent(), share, False))

    @switches
    def begin(self, share: Share, most: int, now: float) -> None:
        """A request of `share` may be worked on when this returns. *Switches* unless it is its turn at once. Overloaded
        when more than `most` wait, and no client has more of them than this one."""
        ring = self._ring
        is_alone = not ring or (share.waits and len(ring) == 1)
        if is_alone or not share.calls:
            loop = self._loop or self._begin_hub()
            if loop.iteration != self._round:
                self._round = loop.iteration
                self._round_began = now
                return
            if now - self._round_began < (_ALONE_SECONDS if is_alone else _PASS_SECONDS):
                return
        self._wait_for_call(share, most)

    @switches
    def _wait_for_call(self, share: Share, most: int) -> None:
        turn = _Waiter(gevent.getcurrent(), share, True)
        if self.calls >= most:
            self._refuse_one(turn)
        if not turn.refused:
            self.calls += 1
            share.calls += 1
        try:
            self._wait(turn)
        finally:
            if not turn.refused:
                self.calls -= 1
                share.calls -= 1
        if turn.refused:
            self.refused += 1
            raise Overloaded(
                f"{most} requests wait for their turn, as many as this server lets wait (thrift.waiting_calls); "
                "try again"
            )

    def _refuse_one(self, comer: _Waiter) -> None:
        """The newest request of the client that has most of them waiting: `comer` itself, when it is that client's."""
        largest = max((share for share in self._ring if share is not self._refusals), key=_calls, default=comer.share)
        refused = comer
        if largest.calls > comer.share.calls + 1:
            refused = next(turn for turn in reversed(largest.queue) if turn.is_call and not turn.over)
            largest.queue.remove(refused)
            largest.calls -= 1
            self.calls -= 1
            self._waiting -= 1
        refused.refused = True
        refused.share = self._refusals
        if refused is not comer:
            self._queue(refused)

    @switches
    def _wait(self, turn: _Waiter) -> None:
        if self._loop is None:
            self._begin_hub()
        self._queue(turn)
        if not self._is_due:
            self._is_due = True
            self._again.start(self._serve)
            self._again.send()
        try:
            self._hub.switch()
        except BaseException:  # killed, or out of time
            turn.over = True
            raise

    def _queue(self, turn: _Waiter) -> None:
        share = turn.share
        share.queue.append(turn)
        self._waiting += 1
        if share.waits:
            return
        share.waits = True
        # What it owes is forgiven as fast as the others could have taken it.
        share.credit = min(_QUANTUM_SECONDS, share.credit + self._clock() - share.left_at)
        if share.credit > 0:
            self._ring.appendleft(share)  # it wanted nothing for a while: a client with a call now and then never waits
        else:
            self._ring.append(share)

    def _serve(self) -> None:
        """One pass, in the hub. Who waits again after its turn waits for the next pass."""
        assert self._loop is not None
        now = self._round_began = self._clock()
        self._round = self._loop.iteration
        until = now + _PASS_SECONDS
        left = self._waiting
        while left and now < until:
            share = self._next_share(now)
            turn = share.queue.popleft()
            self._waiting -= 1
            left -= 1
            if turn.over:
                continue
            turn.over = True
            try:
                turn.task.switch()
            except BaseException:  # noqa: BLE001  of a bare greenlet: gevent's own keep theirs
                self._hub.handle_error(turn.task, *sys.exc_info())
            after = self._clock()
            share.credit = max(share.credit - (after - now), -_LARGEST_DEBT_SECONDS)
            now = after
        if self._waiting:
            self._again.send()
        else:
            self._is_due = False
            self._again.stop()

    def _next_share(self, now: float) -> Share:
        """The share whose turn it is. To be called while somebody waits."""
        ring = self._ring
        while True:
            share = ring[0]
            if not share.queue:
                ring.popleft()
                share.waits = False
                share.left_at = now
            elif share.credit > 0:
                return share
            else:
                # The server's own work gets a third at least: without flushes and compactions writers would stand.
                weight = max(1.0, (len(ring) - 1) / 2) if share is self._own else share.weight
                share.credit = _QUANTUM_SECONDS if len(ring) == 1 else share.credit + weight * _QUANTUM_SECONDS
                ring.rotate(-1)

    def _begin_hub(self) -> "Loop":
        self._hub = gevent.get_hub()
        self._loop = loop = self._hub.loop
        self._again = loop.async_()
        return loop


def _calls(share: Share) -> int:
    return share.calls
