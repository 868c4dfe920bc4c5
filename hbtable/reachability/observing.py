"""One role's looks at the others: calls that do nothing, and what became of them.

A role is *silent* when several of these calls in a row, over a while, found no answer. Any answer is one, also an error
of a role that does not know the call yet. What the lock service does not tell, or nobody is master, is nobody's
silence.
"""

import logging
from collections.abc import Callable, Collection
from functools import partial
from typing import Final, final

from hbtable.errors import HbtableError, LockLost, OutcomeUnknown, StaleLocation, Unavailable
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import LOCK_SUFFIX, SERVERS
from hbtable.metrics.registry import Registry
from hbtable.reachability.evidence import OBSERVING_MASTER, is_majority, may_report, watched
from hbtable.reachability.options import ReachabilityOptions
from hbtable.reachability.reports import OwnReports, isolation_of, report_of
from hbtable.rpc.transport import Transport
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import run_all
from hbtable.runtime.rounds import Rounds
from hbtable.switches import switches

log = logging.getLogger(__name__)

_FAILURES: Final = 2
"""Calls in a row without an answer. One alone may be this process' own delay."""
_PARALLEL: Final = 32
_LIST_ROUNDS: Final = 5
"""Rounds between two looks at who lives."""


@switches
def living_names(session: Session) -> list[str]:
    """The names of the servers that hold their locks and have said where they are. One request."""
    names = set(session.list(SERVERS))
    return sorted(name for name in names if name + LOCK_SUFFIX in names)


class _Observed:
    """The state of one role, as far as it was observed."""

    def __init__(self) -> None:
        self.failures = 0
        self.since = 0.0
        """The time at which the first of these failures began."""
        self.asked = False
        self.silent = False


@final
class Observer(Rounds):
    """The looks of a tablet server, or of a master while it is `acting`. `name`: the incarnation, or OBSERVING_MASTER.
    start() once, stop() once: nothing is said any more then, and what was said goes with the session."""

    def __init__(
        self,
        runtime: Runtime,
        session: Session,
        transport: Transport,
        name: str,
        options: ReachabilityOptions,
        registry: Registry,
        acting: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__(runtime, options.period_seconds, "reachability")
        self._session = session
        self._transport = transport
        self._name = name
        self._options = options
        self._acting = acting
        self._reports = OwnReports(session)
        self._roles: dict[str, _Observed] = {}
        self._living: list[str] = []
        self._rounds = 0
        self.isolated = False
        """Whether it reaches neither the master nor most of the others."""
        registry.gauge(
            "hbtable_unreachable_servers",
            "Tablet servers with a lock that this process cannot reach; 1 for the master counts as well.",
            lambda: float(len(self.silent())),
        )

    def silent(self) -> list[str]:
        """The roles that this one does not reach, ascending. Does not switch."""
        return sorted(name for name, one in self._roles.items() if one.silent)

    def reasons(self) -> list[str]:
        """The reasons for /readyz: a master has one for each server that it does not reach, a server has one if it
        reaches nobody. Does not switch."""
        if self._name != OBSERVING_MASTER and not self.isolated:
            return []
        return [f"{_shown(name)} cannot be reached, though it holds its lock" for name in self.silent()]

    def _failed(self, error: HbtableError) -> None:
        log.debug("reachability: %s", error)

    @switches
    def look(self) -> None:
        """One round: asks everybody, and reports who was not reached. Any error: not all of this was done."""
        if not self._acting():
            self._roles.clear()
            self._reports.say([])
            return
        if self._rounds % _LIST_ROUNDS == 0 or self.silent():
            self._living = living_names(self._session)
        self._rounds += 1
        observed = self._observed()
        self._roles = {name: self._roles.get(name) or _Observed() for name in observed}
        began = self._runtime.clock_seconds()
        answers = run_all(self._runtime, _PARALLEL, [partial(self._ask, name) for name in observed], "ping")
        for name, answer in zip(observed, answers, strict=True):
            if isinstance(answer, bool) and name in self._roles:
                self._note(name, self._roles[name], answer, began)
        self._reports.say(self._findings())

    def _observed(self) -> list[str]:
        if self._name == OBSERVING_MASTER:
            return self._living
        return [*watched(self._name, self._living), OBSERVING_MASTER]

    @switches
    def _ask(self, name: str) -> bool | None:
        """Whether it answered; None: there was nobody to ask, or no way to find out whom."""
        transport = self._transport
        try:
            ping = transport.master().ping_master if name == OBSERVING_MASTER else transport.tablet_admin(name).ping
        except (StaleLocation, Unavailable):
            return None
        try:
            ping()
        except (StaleLocation, Unavailable, OutcomeUnknown):
            return False
        except LockLost:
            raise
        except HbtableError:
            return True
        return True

    def _note(self, name: str, role: _Observed, answered: bool, began: float) -> None:
        role.asked = True
        if answered:
            if role.silent:
                log.warning("%s can be reached again", _shown(name))
            role.failures, role.silent = 0, False
            return
        if not role.failures:
            role.since = began
        role.failures += 1
        lasted = self._runtime.clock_seconds() - role.since
        if not role.silent and role.failures >= _FAILURES and lasted >= self._options.unreachable_seconds:
            role.silent = True
            log.error("%s cannot be reached for %.0f s, though it holds its lock", _shown(name), lasted)

    def _findings(self) -> Collection[str]:
        observed, silent = list(self._roles), self.silent()
        reached = [name for name, role in self._roles.items() if role.asked and not role.failures]
        said = {
            report_of(name, self._name)
            for name in silent
            if name != OBSERVING_MASTER and may_report(name, reached, observed)
        }
        peers = [name for name in silent if name != OBSERVING_MASTER]
        self.isolated = len(peers) < len(silent) and is_majority(len(peers), len(observed) - 1)
        return {*said, isolation_of(self._name)} if self.isolated else said


def _shown(name: str) -> str:
    return "the master" if name == OBSERVING_MASTER else f"tablet server {name}"
