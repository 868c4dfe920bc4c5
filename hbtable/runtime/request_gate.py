"""Gates at which tasks of connections wait for what their clients send, and for their turn to read it."""

import errno
from collections.abc import Callable
from typing import Protocol, final

import gevent

from hbtable.runtime.fair_scheduler import FairScheduler, HubShare, HubTurn
from hbtable.runtime.watched_sockets import WatchedSockets
from hbtable.switches import switches

_NOT, _ALONE, _TOGETHER = range(3)
"""A socket is not watched now, or is by the loop, or among many of its client."""


class Readable(Protocol):
    """Watches a socket: gevent's, of its loop."""

    @property
    def fd(self) -> int: ...
    def start(self, callback: Callable[..., object], /, *arguments: object) -> None: ...
    def stop(self) -> None: ...


class Silence(Protocol):
    """Tells of the end of a time in which nothing arrived: gevent's timer that repeats."""

    def again(self, callback: Callable[..., object], /) -> None: ...
    def stop(self) -> None: ...


@final
class RequestGate:
    """A gate that the task of one connection passes before each request.

    Who reads a request and then waits is woken twice. With hundreds of clients all that a connection needs has left the
    processor's caches in between, and a second of the processor answers a third less: so wait() comes before reading,
    where that is possible."""

    __slots__ = ("_arrived_at", "_has_waited", "_hub", "_most", "_readable", "_scheduler", "_share", "_turn")

    def __init__(self, scheduler: FairScheduler, share: HubShare, most: int) -> None:
        """For the calling task."""
        self._scheduler = scheduler
        self._share = share
        self._most = most
        self._turn = HubTurn(gevent.getcurrent(), share, True)
        self._has_waited = False
        """The request that is read next has had its turn, or was refused."""
        self._readable: Readable
        self._arrived_at = 0.0
        scheduler.begin_hub()
        self._hub = gevent.get_hub()

    @switches
    def __call__(self, now: float) -> float:
        """To be called once the request is read; returns the time since when it waits, `now` or earlier. *Switches*.
        Overloaded."""
        if not self._has_waited:
            self._scheduler.begin(self._share, self._most, now)
            return now
        self._has_waited = False
        if self._turn.refused:
            raise self._scheduler.refusal(self._most)
        return self._arrived_at

    @switches
    def wait(self, readable: Readable, has_ended: Callable[[], bool]) -> None:
        """*Switches.* Until something has arrived, and it is the turn of who reads it; or until it `has_ended`."""
        turn = self._turn
        if turn.refused:
            turn = self._turn = HubTurn(turn.task, self._share, True)
        turn.over = False
        self._readable = readable
        readable.start(self._come, has_ended)
        try:
            self._hub.switch()
        except BaseException:  # the connection was closed, or the task killed
            readable.stop()
            self._has_waited = False
            self._scheduler.leave(turn)
            raise
        if turn.is_counted:
            self._scheduler.leave(turn)
        self._has_waited = True

    def lose(self) -> None:
        """The request was not there whole at its turn, and its rest is waited for outside the turns. It queues again
        before it is worked on: otherwise whoever sends a byte first, and the rest later, passes the queue and its
        bound. One that was refused stays so."""
        if not self._turn.refused:
            self._has_waited = False

    def _come(self, has_ended: Callable[[], bool]) -> None:
        """Something has arrived. In the hub."""
        self._readable.stop()
        scheduler = self._scheduler
        self._arrived_at = now = scheduler.clock()
        # A connection that ends is no request: hundreds that close at once must not take the places of requests, not
        # even while there are some. A look costs less than a microsecond, and nothing where nobody has to wait.
        if scheduler.goes_on(self._share, now) or has_ended():
            self._turn.task.switch()
        else:
            scheduler.line_up(self._turn, self._most)

    def throw(self, error: BaseException | type[BaseException]) -> None:
        """Gevent calls this in the hub when the socket is closed in wait()."""
        self._turn.over = True
        self._turn.task.throw(error)


@final
class RestGate:
    """A gate that the task of one connection passes before it reads more of what has begun: a request, or a greeting.

    Without it whoever sends a byte on each of thousands of connections at once has all their tasks woken in one round
    of the loop, and everybody else waits behind them. A task that has to wait is not woken for that."""

    __slots__ = (
        "_descriptor", "_hub", "_readable", "_scheduler", "_seconds", "_share", "_silence", "_sockets", "_turn",
        "_watched",
    )  # fmt: skip

    def __init__(self, scheduler: FairScheduler, share: HubShare, sockets: WatchedSockets) -> None:
        """For the calling task. `sockets`: of its client."""
        self._sockets = sockets
        self._watched = _NOT
        self._descriptor = -1
        self._scheduler = scheduler
        self._share = share
        self._turn = HubTurn(gevent.getcurrent(), share, False)
        self._readable: Readable
        self._silence: Silence
        """One for all waits: gevent.Timeout makes nine objects for each, and thousands that wait kept the look for
        garbage busy for 12 ms."""
        self._seconds = 0.0
        """The time that it waits; 0 as long as there is none."""
        scheduler.begin_hub()
        self._hub = gevent.get_hub()

    @switches
    def wait(self, readable: Readable, seconds: float) -> None:
        """*Switches.* Until something has arrived, and it is the turn of who reads it. TimeoutError when nothing does
        within `seconds`."""
        turn = self._turn
        turn.over = False
        self._readable = readable
        if seconds != self._seconds:
            self._silence = self._hub.loop.timer(seconds, seconds)
            self._seconds = seconds
        self._silence.again(self._is_silent)
        self._watch(readable)
        try:
            self._hub.switch()
        except BaseException:  # the connection was closed or silent, or the task killed
            self._forget()
            self._silence.stop()
            turn.over = True
            self._turn = HubTurn(turn.task, self._share, False)  # the old one may still be in the queue
            raise

    def _watch(self, readable: Readable) -> None:
        self._descriptor = readable.fd
        if self._sockets.watch(self._descriptor, self._arrived):
            self._watched = _TOGETHER
        else:
            self._watched = _ALONE
            self._sockets.alone += 1
            readable.start(self._come)

    def _forget(self) -> None:
        """Nothing is waited for any more. Idempotent."""
        if self._watched == _ALONE:
            self._sockets.alone -= 1
            self._readable.stop()
        elif self._watched == _TOGETHER:
            self._sockets.forget(self._descriptor, self._arrived)
        self._watched = _NOT

    def _is_silent(self) -> None:
        """Nothing has arrived in time. In the hub."""
        self._turn.task.throw(TimeoutError("timed out"))

    def _come(self) -> None:
        """Something has arrived, says the loop. It has to be called by a method of this gate: see throw()."""
        self._forget()
        self._arrived()

    def _arrived(self) -> None:
        """In the hub."""
        self._watched = _NOT
        self._silence.stop()
        scheduler = self._scheduler
        if scheduler.goes_on(self._share, scheduler.clock()):
            self._turn.task.switch()
        else:
            scheduler.queue(self._turn)

    def throw(self, error: BaseException | type[BaseException]) -> None:
        """Gevent calls this in the hub when the socket is closed in wait()."""
        self._turn.over = True
        self._turn.task.throw(error)

    def closed(self) -> None:
        """Its socket is being closed. Gevent knows of those alone that the loop watches."""
        if self._watched == _TOGETHER:
            self._hub.loop.run_callback(self._tell_closed)

    def _tell_closed(self) -> None:
        if self._watched == _TOGETHER:
            self.throw(OSError(errno.EBADF, "the connection was closed"))
