"""A tablet server's looks at what others say of it, and its end when the evidence is enough and has stood for a while.

The lock service cannot know that nobody reaches a server whose session is well. And nobody may take the lock of such a
server: a master that errs would make two servers serve one tablet. So the server gives up by itself: it ends as if its
lock were lost, and everything that makes a death safe makes this one safe, too. Without tablets it has nothing to give
up: it stays and is shown, and gets tablets when it can be reached again.
"""

import logging
from collections.abc import Callable
from typing import Final, final

from hbtable.errors import HbtableError, LockLost
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import UNREACHABLE
from hbtable.metrics.registry import Registry
from hbtable.reachability.evidence import NOTHING_REPORTED, Reports, who_does_not_reach, why_give_up
from hbtable.reachability.observing import living_names
from hbtable.reachability.options import ReachabilityOptions
from hbtable.reachability.reports import read_reports
from hbtable.reachability.withdrawals import Withdrawals
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches

log = logging.getLogger(__name__)

_READ_ROUNDS: Final = 30
"""Rounds after which reports are read although nobody said that they changed."""


@final
class GivingUp:
    """Ends one tablet server that nobody reaches. `serves`: whether it has tablets. `end` is called once, with the
    reason. start() once, stop() once."""

    def __init__(
        self,
        runtime: Runtime,
        session: Session,
        name: str,
        options: ReachabilityOptions,
        registry: Registry,
        serves: Callable[[], bool],
        end: Callable[[str], None],
        wall_millis: Callable[[], int],
    ) -> None:
        self._runtime = runtime
        self._session = session
        self._name = name
        self._options = options
        self._serves = serves
        self._end = end
        self._wall_millis = wall_millis
        self._withdrawals = Withdrawals(session, options.limit_seconds)
        self._reports: Reports = NOTHING_REPORTED
        self._changed = True
        self._rounds = 0
        self._stood = 0
        """Rounds in a row in which the evidence was enough. Rounds and not seconds: one that hung itself, and so did
        not answer, sees first that it answers again."""
        self._refused = ""
        self._said = ""
        self._task: Task | None = None
        registry.gauge(
            "hbtable_not_reached_by",
            "How many of the master and the tablet servers that watch this one say that they cannot reach it.",
            lambda: float(len(self._reports.unreached.get(self._name, ()))),
        )

    def start(self) -> None:
        self._task = supervise(self._runtime, self._live, name="reachability of this server")

    @switches
    def stop(self) -> None:
        if self._task is not None:
            self._task.kill()
            self._task = None

    def reasons(self) -> list[str]:
        """The reasons for /readyz. Does not switch."""
        return [reason for reason in (self._said, self._refused) if reason]

    @switches
    def _live(self) -> None:
        watching = False
        while True:
            try:
                if not watching:
                    self._session.watch(UNREACHABLE, self._hear)
                    watching = True
                if self.look():
                    return
            except LockLost:
                return  # the process ends
            except HbtableError as error:
                self._stood = 0
                log.debug("reachability: %s", error)
            self._runtime.sleep(self._options.period_seconds)

    def _hear(self) -> None:
        self._changed = True

    @switches
    def look(self) -> bool:
        """One round; whether the server has ended itself. Unavailable."""
        self._rounds += 1
        if self._changed or self._rounds % _READ_ROUNDS == 0:
            self._changed = False
            try:
                self._reports = read_reports(self._session)
            except HbtableError:
                self._changed = True
                raise
        if self._name not in self._reports.unreached and self._name not in self._reports.isolated:
            self._stood = 0
            self._refused = ""
            self._say("")
            return False
        living = living_names(self._session)
        self._say(who_does_not_reach(self._name, living, self._reports))
        why = why_give_up(self._name, living, self._reports)
        self._stood = self._stood + 1 if why and self._serves() else 0
        seconds = self._options.give_up_seconds
        if not seconds or self._stood * self._options.period_seconds < seconds:
            return False
        return self._give_up(why, len(living))

    @switches
    def _give_up(self, why: str, living: int) -> bool:
        refused = self._withdrawals.admit(self._name, living, self._wall_millis())
        if refused:
            if not self._refused:
                log.error("%s should give its tablets up (%s) and may not: %s", self._name, why, refused)
            self._refused = f"this server should give its tablets up and may not: {refused}"
            return False
        log.error("tablet server %s gives its tablets up: %s", self._name, why)
        self._end(why)
        return True

    def _say(self, who: str) -> None:
        said = f"{who} cannot reach this server" if who else ""
        if said and not self._said:
            log.error("%s, though it holds its lock", said)
        elif self._said and not said:
            log.warning("this server is reached by everybody again")
        self._said = said
