"""Chooses who computes next: shares the hub's time fairly among clients, and not among connections or tasks.

Without this, each connection with a request and each task in the middle of long work ran once in every round of the
event loop: one client with 200 connections, or with 40 scans in slices, made every other one wait for all of them.

Each client (by address) has a share, and the server's own work (flushes, compactions) has one. Whoever wants to compute
waits in its share's queue when others do, or when the round is no longer young, and shares take turns by deficit round
robin (fair_shares.py). Between two passes the loop looks at its sockets, so that a client with a single request is
never behind another's hundred.

The usual request, while nobody else waits in a round that has just begun, goes straight on. Beside others none does:
its time would be nobody's, and whoever sends requests one after the other would have as much again as all that wait.
Where more than one client asked lately, rounds are shorter: who comes during one waits for its rest.
"""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, final

import gevent
from gevent.hub import Hub
from greenlet import greenlet

from hbtable.errors import Overloaded
from hbtable.runtime.fair_shares import FairShares, Share
from hbtable.switches import switches

if TYPE_CHECKING:
    from gevent.hub import Async, Loop

_PASS_SECONDS: Final = 0.001
"""So long the queues are served before the loop looks at its sockets again. Longer: fewer looks, and a longer wait for
who comes meanwhile."""
_ALONE_SECONDS: Final = 0.004
"""So long requests of a client go straight on while nobody else waits: they may overtake each other, and a queue costs
each 4 us. A newcomer waits for them."""
_BESIDE_SECONDS: Final = 0.0005
"""Instead of both, where more than one client asked lately: one with a request now and then waits for about so long
beside another's hundreds of connections. Those pay for it with some 10 % of what they could have."""
_BESIDE_SLICE_SECONDS: Final = 0.0003
"""A slice of long work at that time. A request mostly comes during somebody's slice, and waits for the rest of it."""
_LATELY_SECONDS: Final = 10.0
_QUANTUM_SECONDS: Final = 0.001
_LARGEST_DEBT_SECONDS: Final = 0.05


@final
class HubTurn:
    """One task that waits."""

    __slots__ = ("is_call", "is_counted", "over", "refused", "share", "task")

    def __init__(self, task: greenlet, share: "HubShare", is_call: bool) -> None:
        self.task = task
        self.share = share
        self.is_call = is_call
        self.is_counted = False
        """Among the calls that wait."""
        self.refused = False
        self.over = False
        """It has begun, or was given up."""


HubShare = Share[HubTurn]


@final
class FairScheduler:
    """Shares the time of one hub: the one whose thread makes the first call. `now` is always of `clock`."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self._hub: Hub
        self._loop: Loop | None = None
        self._again: Async
        self._is_due = False
        # The server's own work gets a third at least, or a sixth beside a stream of new clients: without flushes and
        # compactions writers would stand.
        self._own = HubShare("the server itself", takes_a_third=True)
        self._refusals = HubShare("refusals", weight=0.02)
        """The share of those that are refused. They wait for that, too: telling thousands a second must not cost the
        others their turn."""
        self._shares = FairShares[HubTurn](clock, _QUANTUM_SECONDS, _LARGEST_DEBT_SECONDS)
        self.share: Callable[[str], HubShare] = self._shares.of
        """The same one for all connections of a client, as long as it has any."""
        self._waiting = 0
        self._round = -1
        self._round_began = 0.0
        self._straight: HubShare | None = None
        self._straight_from = 0.0
        """The last request that went straight on in this round was of that share, and began then."""
        self._turn_began = 0.0
        """The last turn that came out of a queue."""
        self._latest: HubShare | None = None
        """Of the last request that came. Held, so that a client that connects anew is the same one."""
        self._beside_until = 0.0
        """Until then there was more than one client lately."""
        self.calls = 0
        """Requests that wait for their turn, and not for being refused."""
        self.refused = 0
        """Requests refused because too many waited, ever."""

    def adopt(self, share: HubShare) -> None:
        """Counts the calling task's work to this share from now on."""
        gevent.getcurrent().share = share  # type: ignore[attr-defined]

    def client(self) -> str:
        """The one whose work the calling task does."""
        share: HubShare = getattr(gevent.getcurrent(), "share", self._own)
        return share.name

    def is_shared(self, now: float) -> bool:
        """As Runtime.is_shared()."""
        return now < self._beside_until

    def slice_end(self, seconds: float) -> float:
        """As Runtime.slice_end()."""
        now = self.clock()
        return now + (min(seconds, _BESIDE_SLICE_SECONDS) if now < self._beside_until else seconds)

    @switches
    def pause_when_due(self, seconds: float) -> None:
        """*Switches* where the calling task's turn has had its slice, of `seconds` or fewer (slice_end). One that went
        on without a turn, behind a socket or a thread, is told from none: it may switch too early."""
        now = self.clock()
        slice_seconds = min(seconds, _BESIDE_SLICE_SECONDS) if now < self._beside_until else seconds
        if now - max(self._turn_began, self._straight_from) >= slice_seconds:
            self.pause()

    @switches
    def pause(self) -> None:
        """*Switches.* The next turn of the calling task, after a look at the sockets."""
        share: HubShare = getattr(gevent.getcurrent(), "share", self._own)
        if share is not self._latest and share is not self._own:
            self._comes(share, self.clock())  # in the middle of long work: it may have asked long ago
        if share is self._straight and self._loop is not None and self._loop.iteration == self._round:
            self._shares.spent(share, self.clock() - self._straight_from)  # who came meanwhile is first
            self._straight = None
        turn = HubTurn(gevent.getcurrent(), share, False)
        self.queue(turn)
        self.give_way(turn)

    @switches
    def begin(self, share: HubShare, most: int, now: float) -> None:
        """A request of `share` may be worked on when this returns. *Switches* unless it is its turn at once. Overloaded
        when more than `most` wait, and no client has more of them than this one."""
        if self.goes_on(share, now):
            return
        turn = HubTurn(gevent.getcurrent(), share, True)
        try:
            self.line_up(turn, most)
            self.give_way(turn)
        finally:
            self.leave(turn)
        if turn.refused:
            raise self.refusal(most)

    def goes_on(self, share: HubShare, now: float) -> bool:
        """Whether a request of `share` need not wait."""
        if share is not self._latest:
            self._comes(share, now)
        is_beside = now < self._beside_until
        waiting = self._shares.waiting
        if waiting and is_beside and share.calls:
            return False  # its client has others in the queue, so it could only lengthen the round
        if waiting and waiting != share.waits + self._refusals.waits:  # who is sent away is no competitor
            return False  # nobody counts the time of what goes straight on
        loop = self._loop or self.begin_hub()
        if loop.iteration != self._round:
            self._round = loop.iteration
            self._round_began = now
        elif now - self._round_began >= (_BESIDE_SECONDS if is_beside else _ALONE_SECONDS):
            return False
        self._straight = share
        self._straight_from = now
        return True

    def _comes(self, share: HubShare, now: float) -> None:
        """Another client than the last one wants the hub."""
        if self._latest is not None:
            self._beside_until = now + _LATELY_SECONDS
        self._latest = share

    def line_up(self, turn: HubTurn, most: int) -> None:
        """A request waits from now on, or some request waits for being refused. Does not switch."""
        if self.calls >= most:
            self._refuse_one(turn)
        if not turn.refused:
            turn.is_counted = True
            self.calls += 1
            turn.share.calls += 1
        self.queue(turn)

    def leave(self, turn: HubTurn) -> None:
        """It waits no more."""
        turn.over = True
        if turn.is_counted:
            turn.is_counted = False
            self.calls -= 1
            turn.share.calls -= 1

    def refusal(self, most: int) -> Overloaded:
        """The error of a turn that was refused."""
        self.refused += 1
        return Overloaded(
            f"{most} requests wait for their turn, as many as this server lets wait (thrift.waiting_calls); try again"
        )

    def _refuse_one(self, comer: HubTurn) -> None:
        """The newest request of the client that has most of them waiting: `comer` itself, when it is that client's."""
        largest = max((share for share in self._shares if share is not self._refusals), key=_calls, default=comer.share)
        refused = comer
        if largest.calls > comer.share.calls + 1:
            refused = next(turn for turn in reversed(largest.queue) if turn.is_call and not turn.over)
            largest.queue.remove(refused)
            refused.is_counted = False
            largest.calls -= 1
            self.calls -= 1
            self._waiting -= 1
        refused.refused = True
        refused.share = self._refusals
        if refused is not comer:
            self.queue(refused)

    @switches
    def give_way(self, turn: HubTurn) -> None:
        """The calling task goes on when its turn has come."""
        try:
            self._hub.switch()
        except BaseException:  # killed, or out of time
            turn.over = True
            raise

    def queue(self, turn: HubTurn) -> None:
        """It waits from now on, and whose it is does not, until give_way()."""
        self._waiting += 1
        if not self._is_due:
            self.begin_hub()
            self._is_due = True
            self._again.start(self._serve)
            self._again.send()
        self._shares.wait(turn.share, turn)

    def _serve(self) -> None:
        """One pass, in the hub. Who waits again after its turn waits for the next pass."""
        assert self._loop is not None
        now = self._round_began = self.clock()
        self._round = self._loop.iteration
        self._straight = None
        until = now + (_BESIDE_SECONDS if now < self._beside_until else _PASS_SECONDS)
        left = self._waiting
        while left and now < until:
            share = self._shares.next(now)
            turn = share.queue.popleft()
            self._waiting -= 1
            left -= 1
            if turn.over:
                continue
            turn.over = True
            self._turn_began = now
            try:
                turn.task.switch()
            except BaseException:  # noqa: BLE001  of a bare greenlet: gevent's own keep theirs
                self._hub.handle_error(turn.task, *sys.exc_info())
            after = self.clock()
            self._shares.took(share, after - now, share.goes_ahead)
            now = after
        if self._waiting:
            self._again.send()
        else:
            self._shares.rest(now)
            self._is_due = False
            self._again.stop()

    def begin_hub(self) -> "Loop":
        """The calling thread's hub is the one that is shared out. Idempotent."""
        if self._loop is not None:
            return self._loop
        self._hub = gevent.get_hub()
        self._loop = loop = self._hub.loop
        # Behind the sockets: without a priority of its own the loop calls it first, and what came in the slice before
        # would wait for the next slice, too.
        self._again = loop.async_(priority=-1)
        return loop


def _calls(share: HubShare) -> int:
    return share.calls


def in_share_of_caller(work: Callable[[], object]) -> Callable[[], object]:
    """The same work, for another task whose time is to count to the share of the calling one."""
    share = getattr(gevent.getcurrent(), "share", None)
    if share is None:
        return work

    @switches
    def shared() -> object:
        gevent.getcurrent().share = share  # type: ignore[attr-defined]
        return work()

    return shared
