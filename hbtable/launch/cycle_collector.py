"""Decides when Python looks for garbage that refers to itself: in short steps at any time, in long ones when little
goes on.

Nothing else runs while Python looks, for about 0.2 us an object. By itself it looks at a million objects as soon as
there are a million more than before, that is, in the middle of the largest requests: a call of 500,000 rows kept all
clients waiting for 70 ms three times. None of these objects is garbage; they go with the request, by their counts of
references.

So only new objects are looked at by themselves (process.py says how many). Those that outlive this wait here until most
of all is gone, or until there were hardly any new ones for a minute: the large request is over then, and what is
left to look at is little.
"""

import gc
import sys
from typing import Final, final

from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches

_LOOK_SECONDS: Final = 1.0
_DUE: Final = 50
"""Looks at new objects, after which it is time for what has outlived them: a million objects more than there were."""
_OVERDUE: Final = 20 * _DUE
"""So much that it cannot wait any longer: what is garbage of it may fill the memory."""
_CALM_LOOKS: Final = 60
"""Fewer: of a large request that waits for the disk, or for a busy machine, all objects would be looked at."""
_LEFT: Final = 0.4
"""Of the most blocks of memory that there were. More: a request that has let go of its arguments, and not of what it
made of them, would be taken for one that is over."""
_EVERY: Final = 50
"""Once in so many times all objects are looked at, also those that have outlived earlier looks."""
_NEVER: Final = (1 << 31) - 1


@final
class CycleCollector:
    """Collects for the whole process, from start() to stop()."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._before: tuple[int, int, int] | None = None
        self._task: Task | None = None
        self._waiting = 0
        self._same = 0
        """Looks at which there was not more than at the one before."""
        self._most = 0
        """Blocks of memory since the last time."""
        self._done = 0

    def start(self) -> None:
        """Nothing when another one collects for this process."""
        if gc.get_threshold()[1] == _NEVER:
            return
        self._before = gc.get_threshold()
        gc.set_threshold(self._before[0], _NEVER, _NEVER)
        self._task = supervise(self._runtime, self._live, name="cycle collector")

    @switches
    def stop(self) -> None:
        """*Switches.* Python collects as it did before start(). Idempotent."""
        if self._before is not None:
            gc.set_threshold(*self._before)
            self._before = None
        if self._task is not None:
            self._task.kill()
            self._task = None

    @switches
    def _live(self) -> None:
        while True:
            self._runtime.sleep(_LOOK_SECONDS)
            self._look()

    def _look(self) -> None:
        waiting, blocks = gc.get_count()[1], sys.getallocatedblocks()
        self._same = self._same + 1 if waiting == self._waiting else 0
        is_calm = self._same >= _CALM_LOOKS or blocks < _LEFT * self._most
        self._waiting, self._most = waiting, max(blocks, self._most)
        if waiting >= _OVERDUE or (is_calm and waiting >= _DUE):
            self._done += 1
            gc.collect(2 if self._done % _EVERY == 0 else 1)
            self._waiting = self._most = 0
