"""Asks a server again to give a tablet up when the connection broke over which it was asked (bug class 37).

The server goes on with what it was asked for, and its answer reaches nobody. Until it ends the tablet is served, so a
look at all tablets that comes before finds nothing to be done; and the one that comes next would find rows that had no
server since. Asked again, the server answers when it is done: one unload of a tablet waits for the other, and one that
finds the tablet gone says that all is well.

METADATA is read before each question: once the tablet has another owner, or none, nobody is asked.
"""

import logging
from collections.abc import Callable
from typing import Final, final

from hbtable.errors import HbtableError, LockLost, OutcomeUnknown, OutOfSpace, StaleLocation, Unavailable, no_answer
from hbtable.master.tablets.assignment import describe
from hbtable.metadata.catalog import Catalog
from hbtable.model.tablet import TabletRecord
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

log = logging.getLogger(__name__)

_PAUSE_SECONDS: Final = 0.1
"""Before the first question. Each pause is twice the last, up to the longest."""
_LONGEST_PAUSE_SECONDS: Final = 1.0
"""Longer: rows wait longer once the server can be reached again; shorter: more questions to one that cannot."""
AGAIN_SECONDS: Final = 120.0
"""For which it is asked again. Longer: what a server gives up after a longer time out of reach is placed sooner;
shorter: a server out of reach is asked less often for nothing."""
ALONE_SECONDS: Final = 10.0
"""The same for who holds the table meanwhile, for all its tablets together (Placement.vacate_to_disable). Longer:
whoever comes behind waits longer for the table, and beyond 20 s is refused (tables.py); shorter: a table whose server
is out of reach for a moment is disabled later, at the master's next try."""


@final
class TimeToAsk:
    """For which one operation asks again: all its questions together, from the first on that is not answered. A server
    that was asked in vain until then is not asked for more tablets by the same operation."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._latest: float | None = None
        self._in_vain: dict[str, str] = {}
        """By server, what came of the last question."""

    def latest(self, now: float) -> float:
        """Does not switch."""
        if self._latest is None:
            self._latest = now + self._seconds
        return self._latest

    def asked_in_vain(self, server: str, error: OutcomeUnknown) -> None:
        """Does not switch."""
        self._in_vain[server] = str(error)

    def check(self, server: str) -> None:
        """OutcomeUnknown for a server that is not asked any more. Does not switch."""
        if server in self._in_vain:
            raise no_answer(self._in_vain[server])


@final
class UnansweredUnloads:
    """Asks again. `ask` asks the owner of a tablet to unload it."""

    def __init__(self, runtime: Runtime, catalog: Catalog, ask: Callable[[TabletRecord], None]) -> None:
        self._runtime = runtime
        self._catalog = catalog
        self._ask = ask
        self.lives: Callable[[str], bool] = lambda server: False
        """Whether a server counts as alive; it may switch. HbtableError when that cannot be told."""
        self.ends = False
        """This master stops: nobody is asked again."""

    @switches
    def ask_again(self, record: TabletRecord, first: OutcomeUnknown, time: TimeToAsk) -> None:
        """On return the owner on record has said that it does not serve the tablet, or METADATA has another owner, or
        none. `first` where that is an answer, and when the owner is dead, or was asked in vain for that time;
        other errors of the question."""
        if not first.no_answer:
            raise first
        latest = time.latest(self._runtime.clock_seconds())
        pause = _PAUSE_SECONDS
        log.info("master: %s is asked again to give up %s: %s", record.owner, describe(record), first)
        while True:  # once at least: its time may have gone by with another server
            self._runtime.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            if self.ends or not self._may_live(record.owner):
                break
            try:
                if self._has_another_owner(record):
                    return
                self._ask(record)
            except OutOfSpace:
                raise
            except (OutcomeUnknown, StaleLocation, Unavailable) as error:  # its lease, or the lock service, may be away
                if isinstance(error, OutcomeUnknown) and not error.no_answer:
                    raise
                log.debug("%s has not given up %s yet: %s", record.owner, describe(record), error)
            else:
                return
            if self._runtime.clock_seconds() >= latest:
                time.asked_in_vain(record.owner, first)
                break
        raise first

    @switches
    def _may_live(self, server: str) -> bool:
        try:
            return self.lives(server)
        except LockLost:
            raise
        except HbtableError:
            return True  # the lock service may be away

    @switches
    def _has_another_owner(self, record: TabletRecord) -> bool:
        """False where METADATA cannot be read now."""
        try:
            current = self._catalog.read_tablet(record.table_id, record.range.stop)
        except LockLost:
            raise
        except HbtableError as error:
            log.debug("METADATA does not say who has %s: %s", describe(record), error)
            return False
        return current is None or (current.tablet_id, current.owner, current.generation) != (
            record.tablet_id,
            record.owner,
            record.generation,
        )
