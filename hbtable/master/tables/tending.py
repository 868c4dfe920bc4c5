"""The tables that the master is at work on, each in a task of its own.

A load that hangs on a server, or the log of a dead server that cannot be ended yet, holds up the tables that need it.
The master's cycle waits for all of them, but no longer when something else happened: then it looks who died since, at
METADATA, and at the tables that nobody works on.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, final

from hbtable.errors import HbtableError, LockLost
from hbtable.model.names import shown
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

_AT_ONCE: Final = 16
"""Tables, each of which has several tablets loaded at a time. More: a faster recovery of many small tables, more
memory and more requests to METADATA at once."""
_HANGING_SECONDS: Final = 5.0
"""A table that takes longer does not count among those: as many that hang would hold up all others."""
_UNINTERRUPTED_SECONDS: Final = 1.0
"""Before an interruption counts. Shorter: with a server that gives its tablets up one by one the master looks at
everything more often; longer: a death is noticed later while another one's tablets are placed."""
_LOOK_SECONDS: Final = 0.1


class Decision(NamedTuple):
    """The decision of a part of a round."""

    message: str
    """"" when there was nothing to do."""
    waits: bool = False
    """Looking again at once would change nothing: something else has to happen first."""


@final
class Tending:
    """Runs the work on tables, one task for each at most."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.left_over: Callable[[], None] = lambda: None
        """Called, and must not switch, when one ends for which nobody waited any more: its outcome is to be looked
        at."""
        self._waiting: deque[tuple[bytes, Callable[[], Decision]]] = deque()
        self._begun: dict[bytes, float] = {}
        """Since when each is worked on."""
        self._decisions: list[Decision] = []
        self._failure: BaseException | None = None
        self._watched = False
        self._changed = runtime.event()

    def begin(self, table: bytes, work: Callable[[], Decision]) -> None:
        """`work` runs soon, unless the table's is under way, or waits, already. Does not switch."""
        if not self.has(table):
            self._waiting.append((table, work))

    def has(self, table: bytes) -> bool:
        return table in self._begun or any(name == table for name, _ in self._waiting)

    def drop_waiting(self) -> None:
        """Begins nothing more; what was begun goes on. Does not switch."""
        self._waiting.clear()

    def under_way(self) -> str:
        """The work under way, for the log; "" when there is none."""
        names = [*self._begun, *(name for name, _ in self._waiting)]
        more = f" and {len(names) - 1} more" if names[1:] else ""
        return f"table {shown(names[0])}{more}" if names else ""

    @switches
    def wait(self, interrupted: Callable[[], bool]) -> None:
        """Waits until all is done, or `interrupted`, but not at once."""
        self._watched = True
        try:
            until = self._runtime.clock_seconds() + _UNINTERRUPTED_SECONDS
            while self._waiting or self._begun:
                self._launch()
                if interrupted() and self._runtime.clock_seconds() >= until:
                    return
                self._changed.clear()
                self._changed.wait(_LOOK_SECONDS)
        finally:
            self._watched = False

    def outcomes(self) -> list[Decision]:
        """The decisions of all that ended since this was asked last. LockLost, and what a bug raised, as it was raised
        there."""
        failure, self._failure = self._failure, None
        found, self._decisions = self._decisions, []
        if failure is not None:
            raise failure
        return found

    def _launch(self) -> None:
        recently = self._runtime.clock_seconds() - _HANGING_SECONDS
        free = _AT_ONCE - sum(since > recently for since in self._begun.values())
        while free > 0 and self._waiting:
            free -= 1
            table, work = self._waiting.popleft()
            self._begun[table] = self._runtime.clock_seconds()
            self._runtime.spawn(self._run, table, work, name="tend table")

    @switches
    def _run(self, table: bytes, work: Callable[[], Decision]) -> None:
        try:
            decision = work()
            self._decisions.append(decision)  # only now: outcomes() has put another list in its place meanwhile
        except LockLost as error:
            self._failure = error
        except HbtableError as error:  # one table in trouble must not keep the others waiting
            self._decisions.append(Decision(f"waiting: {error}", waits=True))
        except Exception as error:  # noqa: BLE001  outcomes() raises it in the master's own task
            self._failure = error
        finally:
            del self._begun[table]
            self._changed.set()
            self._launch()
            if not self._watched:
                self.left_over()
