"""Background tasks that die of a bug are seen, and those that must live as long as their process are started again.

A task that ends by an error which nobody expected would otherwise leave a process that looks well and does only a part
of its work: without maintenance, or when each flush dies, memtables fill until writes time out. A task that lives on
(supervise) is started again after a pause that doubles. One piece of work (spawn_counted) is begun again by whoever
asked for it. In both cases the death is counted, and for a while a reason not to send clients here (launch: /readyz).
"""

import logging
from collections.abc import Callable
from typing import Final, NamedTuple, final

from hbtable.errors import HbtableError
from hbtable.runtime.interface import Runtime, Task
from hbtable.switches import switches

_log = logging.getLogger(__name__)

_FIRST_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 10.0
SHOWN_SECONDS: Final = 60.0
"""Longer than any pause, so that a task which dies again and again is always shown."""


class _Deaths(NamedTuple):
    """The deaths of one task: how many, the time of the last one, and its text."""

    times: int
    at: float
    text: str
    again: bool
    """Whether the same task is started again."""


@final
class TaskDeaths:
    """Counts the tasks of one process that died of a bug. `restarts`: False where a bug should end what it broke, as in
    simulations, which report it."""

    def __init__(self, clock_seconds: Callable[[], float], restarts: bool = True) -> None:
        self._clock = clock_seconds
        self.restarts = restarts
        self.total = 0
        self._tasks: dict[str, _Deaths] = {}

    def died(self, name: str, error: BaseException, again: bool = True) -> None:
        """`again`: whether it is started again. Any thread."""
        self.total += 1
        times = self._tasks[name].times + 1 if name in self._tasks else 1
        text = f"background task {name!r} died of {type(error).__name__}: {error}"
        self._tasks[name] = _Deaths(times, self._clock(), text, again)

    def recent(self) -> list[str]:
        """A message for each task that died within the last SHOWN_SECONDS."""
        oldest = self._clock() - SHOWN_SECONDS
        return [
            f"{task.text}; {'it is started again, ' if task.again else ''}the log says more"
            for task in list(self._tasks.values())
            if task.at > oldest
        ]

    def ever(self) -> list[str]:
        """A message for each task that died since this process began: a death in the night is seen in the morning."""
        now = self._clock()
        return [
            f"{task.text} ({'once' if task.times == 1 else f'{task.times} times'}, {now - task.at:.0f} s ago"
            f"{'' if task.times == 1 else ' the last time'}); "
            f"{'it was started again, ' if task.again else ''}the log says more"
            for task in list(self._tasks.values())
        ]


def supervise(runtime: Runtime, function: Callable[[], object], name: str) -> Task:
    """Runs `function` as a task until it returns or the task is killed; after an error, again."""

    def live() -> None:
        pause = _FIRST_PAUSE_SECONDS
        while True:
            began = runtime.clock_seconds()
            try:
                function()
            except Exception as error:
                runtime.deaths.died(name, error)
                if not runtime.deaths.restarts:
                    raise
                if runtime.clock_seconds() - began > SHOWN_SECONDS:
                    pause = _FIRST_PAUSE_SECONDS
                _log.critical("task %s died, and is started again in %.1f s", name, pause, exc_info=error)
                runtime.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            else:
                return

    return runtime.spawn(live, name=name)


def spawn_counted(runtime: Runtime, function: Callable[..., object], *arguments: object, name: str) -> Task:
    """Runs `function` as a task that does one piece of work, and for whose outcome perhaps nobody waits. An error that
    is no HbtableError is counted as the death of a background task; it stays in Task.error."""
    return runtime.spawn(_counted, runtime, name, function, arguments, name=name)


@switches
def _counted(runtime: Runtime, name: str, function: Callable[..., object], arguments: tuple[object, ...]) -> None:
    try:
        function(*arguments)
    except HbtableError:
        raise
    except Exception as error:
        runtime.deaths.died(name, error, again=False)
        raise
