"""Recovers the logs of dead servers (log_sorting.py), each in a task of its own.

A log that cannot be ended yet, because a storage node hangs, keeps those tablets waiting that need it, and no others.
Each log is recovered once; whoever needs one that is under way waits for the same recovery.
"""

from collections.abc import Collection, Iterable
from typing import final

from hbtable.master.metrics import MasterMetrics
from hbtable.master.servers.log_sorting import LogSorting
from hbtable.master.tablets.assignment import Action
from hbtable.model.tablet import NO_LOG, TabletRecord
from hbtable.runtime.interface import Lock, Runtime
from hbtable.switches import switches


@final
class Recoveries:
    """Recovers each log once. `living`, in each call, are the servers whose logs are not to be recovered."""

    def __init__(self, runtime: Runtime, logs: LogSorting, metrics: MasterMetrics) -> None:
        self._runtime = runtime
        self._logs = logs
        self._metrics = metrics
        self._locks: dict[str, Lock] = {}
        self._done: set[str] = set()
        self._dead: set[str] = set()

    @switches
    def is_dead(self, server: str, living: Collection[str]) -> bool:
        """Whether the server will never serve again; "" is none that does. A list of living servers that lacks it says
        nothing: the server may have come after the list was made. So the lock service is asked, and the dead are made
        to stay dead (liveness.py; bug class 39)."""
        if server in living:
            return False
        if server and server not in self._dead:
            if not self._logs.expire(server):
                return False
            self._dead.add(server)
        return True

    def missing(self, records: Iterable[TabletRecord], living: Collection[str]) -> set[str]:
        """Incarnations whose logs one of the tablets needs, and which are not recovered yet. Does not switch."""
        named = {ref.incarnation for record in records for ref in record.logs}
        return {name for name in named if name != NO_LOG and name not in living and name not in self._done}

    def ready(self, actions: list[Action], living: Collection[str]) -> list[Action]:
        """The actions for tablets that wait for no log, in the same order. Does not switch."""
        missing = self.missing([action.record for action in actions], living)
        if not missing:
            return actions
        return [one for one in actions if all(ref.incarnation not in missing for ref in one.record.logs)]

    @switches
    def recover(self, epoch: int, incarnation: str, living: Collection[str]) -> None:
        """The log is sorted on return, by this call or by one before. Errors of LogSorting.sort."""
        with self._locks.setdefault(incarnation, self._runtime.lock()):
            if incarnation in self._done:
                return
            began = self._runtime.clock_seconds()
            self._logs.sort(epoch, incarnation, living)
            self._metrics.recoveries.value += 1
            self._metrics.recovery_seconds.observe(self._runtime.clock_seconds() - began)
            self._done.add(incarnation)

    def forget(self, incarnation: str) -> None:
        """Forgets a log whose folder was deleted. Does not switch."""
        self._locks.pop(incarnation, None)
        self._done.discard(incarnation)
        self._dead.discard(incarnation)
