"""The tables, and the logs of dead servers, that the master is at work on, each in a task of its own.

The master's cycle waits for all of them, but no longer when something else happened: then it looks who died since, at
METADATA, and at the tables that nobody works on.
"""

from collections import deque
from collections.abc import Callable, Collection
from typing import Final, NamedTuple, final

from hbtable.errors import HbtableError, LockLost
from hbtable.runtime.interface import Runtime
from hbtable.runtime.supervision import spawn_counted
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
    """Runs the work on tables and logs, one task for each at most. They go by the names that the log shows."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.left_over: Callable[[], None] = lambda: None
        """Called, and must not switch, when one ends for which nobody waited any more: its outcome is to be looked
        at."""
        self._waiting: deque[tuple[str, Callable[[], Decision]]] = deque()
        self._begun: dict[str, float] = {}
        """Since when each is worked on."""
        self._decisions: list[Decision] = []
        self._failure: BaseException | None = None
        self._watched = False
        self._changed = runtime.event()

    def begin(self, name: str, work: Callable[[], Decision], first: bool = False, at_once: bool = False) -> None:
        """`work` runs soon, unless that of this name is under way, or waits, already. `first`: before those that wait.
        `at_once`: however many are under way. Does not switch."""
        if self.has(name):
            return
        if at_once:
            self._spawn(name, work)
        elif first:
            self._waiting.appendleft((name, work))
            self._launch()
        else:
            self._waiting.append((name, work))

    def has(self, name: str) -> bool:
        return name in self._begun or any(other == name for other, _ in self._waiting)

    def drop_waiting(self) -> None:
        """Begins nothing more; what was begun goes on. Does not switch."""
        self._waiting.clear()

    def under_way(self) -> str:
        """The work under way, for the log; "" when there is none."""
        names = [*self._begun, *(name for name, _ in self._waiting)]
        more = f" and {len(names) - 1} more" if names[1:] else ""
        return f"{names[0]}{more}" if names else ""

    @switches
    def await_ended(self, names: Collection[str], seconds: float) -> None:
        """Waits until nothing of these names waits or is under way, but not longer than that."""
        until = self._runtime.clock_seconds() + seconds
        while any(self.has(name) for name in names) and self._runtime.clock_seconds() < until:
            self._runtime.sleep(min(_LOOK_SECONDS, seconds))

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
            self._spawn(*self._waiting.popleft())

    def _spawn(self, name: str, work: Callable[[], Decision]) -> None:
        self._begun[name] = self._runtime.clock_seconds()
        spawn_counted(self._runtime, self._run, name, work, name="tend")

    @switches
    def _run(self, name: str, work: Callable[[], Decision]) -> None:
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
            del self._begun[name]
            self._changed.set()
            self._launch()
            if not self._watched:
                self.left_over()
