"""The same work, tried in several ways until one succeeds (paper, section 6: two log writers, as protection from
latency spikes of the file system; docs/faults.md: two ways for a log).

The first try begins at once. Another one begins whenever the last one failed, or was not confirmed within
hedge_seconds. The first try that is confirmed wins; the results of the others are discarded. When nothing is confirmed
for give_up_seconds, the log is broken (LogBroken).
"""

import logging
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar, final

from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.state import LogBroken
from hbtable.errors import HbtableError, LockLost, OutOfSpace
from hbtable.runtime.interface import Runtime
from hbtable.runtime.supervision import spawn_counted
from hbtable.switches import switches

logger = logging.getLogger(__name__)

T = TypeVar("T")

_LONGEST_PAUSE_SECONDS: Final = 2.0


class Pace(NamedTuple):
    """The pace of the tries of one piece of work. With one of three storage nodes dead or frozen two of three new files
    of two copies meet it, and only more tries find a way past it."""

    under_way: int
    """Tries at a time."""
    default_tries: int = 10
    """So many come hedge_seconds apart, those after them at twice that pace."""
    quick_tries: int = 10
    """Those after so many come ever more slowly: nothing is gained by asking a file system in trouble more often."""


@final
class Hedge(Generic[T]):
    """One piece of work. `attempt` gets the number of the try, from 1, in a task of its own."""

    def __init__(
        self,
        runtime: Runtime,
        options: LogOptions,
        attempt: Callable[[int], T],
        discard: Callable[[T], None] = lambda _: None,
        pace: Pace | None = None,
    ) -> None:
        """`discard` gets what a try returned that came too late. `pace`: by default tries_under_way at a time."""
        self._runtime = runtime
        self._options = options
        self._attempt = attempt
        self._discard = discard
        self._pace = pace or Pace(options.tries_under_way)
        self._woken = runtime.event()
        self._results: list[T] = []
        self._given_up = False
        self._running = 0
        self._next_at = 0.0
        self._refusal: OutOfSpace | None = None
        self._fatal: BaseException | None = None
        self._last_error: HbtableError | None = None

    @switches
    def run(self) -> T:
        """The result of the first try that succeeds.

        OutOfSpace: a try was refused for want of room, and none is under way. LockLost as raised by a try. LogBroken.
        """
        clock = self._runtime.clock_seconds
        give_up_at = clock() + self._options.give_up_seconds
        pause = self._options.hedge_seconds
        tries = 0
        try:
            while not self._results:
                if self._fatal is not None:
                    raise self._fatal
                if self._refusal is not None and not self._running:
                    raise self._refusal
                now = clock()
                if now >= give_up_at:
                    raise LogBroken(f"nothing was confirmed for {self._options.give_up_seconds:g} s: {self._why()}")
                wake_at = give_up_at
                if self._running < self._pace.under_way and self._refusal is None:
                    if now >= self._next_at:
                        tries += 1
                        quick = self._pace.default_tries < tries <= self._pace.quick_tries
                        self._next_at = now + (pause / 2 if quick else pause)
                        if tries > self._pace.quick_tries:
                            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
                        self._running += 1
                        spawn_counted(self._runtime, self._try, tries, name="commit-log-try")
                    wake_at = min(self._next_at, give_up_at)
                self._woken.clear()
                self._woken.wait(wake_at - now)
            return self._results[0]
        finally:
            self._given_up = not self._results

    @switches
    def _try(self, number: int) -> None:
        if self._results or self._given_up:
            self._running -= 1
            return
        try:
            result = self._attempt(number)
        except OutOfSpace as error:
            self._refusal = error
        except HbtableError as error:
            if isinstance(error, LockLost):
                self._fatal = error
            self._last_error = error
            if number == 1:
                self._next_at = 0.0  # the second way may be open; those after it wait their time
            if not self._results:
                logger.warning("commit log, try %d: %s", number, error)
        except BaseException as error:
            self._fatal = error  # a bug, or this task was killed
            raise
        else:
            self._results.append(result)
            if len(self._results) > 1 or self._given_up:
                self._discard(result)
        finally:
            self._running -= 1
            self._woken.set()

    def _why(self) -> str:
        return "no answer" if self._last_error is None else str(self._last_error)
