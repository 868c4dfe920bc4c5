"""Decides when Python looks for garbage that refers to itself: in short steps at any time, in long ones when little
goes on.

Nothing else runs while Python looks, for about 0.2 us an object. By itself it looks at a million objects as soon as
there are a million more than before, that is, in the middle of the largest requests: a call of 500,000 rows kept all
clients waiting for 70 ms three times. None of these objects is garbage; they go with the request, by their counts of
references.

So only new objects are looked at by themselves (process.py says how many). Those that outlive this wait here until most
of all is gone, or until there were hardly any new ones for a minute: the large request is over then, and what is
left to look at is little.

What a look at new objects costs differs: 20,000 of a page are looked at in 2 ms, in 18 when among them are the lists of
a call of 100,000 columns or when other programs have the processor's caches, in 30 when they belong to thousands of new
connections. So the next look comes sooner after one that took long.

And Python does not know how many new ones there are: it takes from their number that of all that are freed, also of
old ones. Where requests come and go there were 48,000 to look at when it thought of 2,500. So there is a look after a
time as well, the sooner the longer the last one took.
"""

import gc
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Final, final

from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches

_LOOK_SECONDS: Final = 1.0
_DUE: Final = 50
"""Looks at as many new objects as usual, after which it is time for what has outlived them: a million objects more than
there were."""
_OVERDUE: Final = 20 * _DUE
"""So much that it cannot wait any longer, where what is garbage of it may fill the memory."""
_GARBAGE_BLOCKS: Final = 4_000_000
"""Of memory, some 300 MB. Garbage takes no more of them than there have become more since the last look, and those
stay."""
_CALM_LOOKS: Final = 60
"""Fewer: of a large request that waits for the disk, or for a busy machine, all objects would be looked at."""
_LEFT: Final = 0.4
"""Of the most blocks of memory that there were. More: a request that has let go of its arguments, and not of what it
made of them, would be taken for one that is over."""
_FEW_OBJECTS: Final = 50_000
"""Old ones, which are looked at in 10 ms. Where more are left of a large request's, those of 80,000 open scanners say,
others would wait for 300 ms: it has to be calm, or high time."""
_FEW_REFERENCES: Final = 200_000
"""From these to others, which are looked at in 5 ms: one list of a memtable may have two million."""
_EVERY: Final = 50
"""Once in so many times all objects are looked at, also those that have outlived earlier looks."""
_NEVER: Final = (1 << 31) - 1
_LONG_SECONDS: Final = 0.003
"""Of the processor: a look at new objects that took longer is followed by one at half as many."""
_SHORT_SECONDS: Final = 0.00075
"""And one that took less by one at twice as many, up to the usual number: a quarter, or they would go to and fro."""
_WANTED_SECONDS: Final = 0.0003
"""Of the processor: what a look at new objects is to take. The time until the next is made so."""
_SOONEST_SECONDS: Final = 0.002
_LATEST_SECONDS: Final = 0.1
"""A look at the few objects of a server at rest costs 20 us."""
_HARDLY_ANY: Final = 0.015
"""So many looks' worth of objects more in a second are none: Python would not look by itself for a minute."""
_BLOCKS_OF_AN_OBJECT: Final = 2
_HOLDERS: Final = frozenset((list, dict, tuple, set, frozenset, deque))
_FEWEST: Final = 2500
"""So few new objects cost little to look at, and more often would cost requests more than it spares them."""


@final
class CycleCollector:
    """Collects for the whole process, from start() to stop()."""

    def __init__(self, runtime: Runtime, processor_seconds: Callable[[], float] = time.thread_time) -> None:
        """`processor_seconds`: those that the calling thread has had."""
        self._runtime = runtime
        self._processor_seconds = processor_seconds
        self._before: tuple[int, int, int] | None = None
        self._began = 0.0
        self._outlived = 0.0
        """Looks at new objects since all were looked at; a look at half as many counts half. Of looks after a time,
        which are at any number, counts what there is more afterwards."""
        self._tasks: list[Task] = []
        self._until_next = _LATEST_SECONDS
        self._is_due = False
        """The look that is under way was asked for here, whatever there is."""
        self._waiting = 0.0
        self._same = 0
        """Looks at which there were hardly more than at the one before."""
        self._most = 0
        """Blocks of memory since the last time."""
        self._fewest = 0
        """Likewise."""
        self._lately: deque[int] = deque(maxlen=_CALM_LOOKS)
        """Likewise, at the last looks."""
        self._done = 0

    def start(self) -> None:
        """Nothing when another one collects for this process, or Python looks at old objects a few at a time."""
        if gc.get_threshold()[1] == _NEVER:
            return
        self._before = gc.get_threshold()
        gc.set_threshold(self._before[0], _NEVER, _NEVER)
        if gc.get_threshold()[2] != _NEVER:
            # Python 3.14.0 to 3.14.4 have no third generation. They look at a part of the old objects with each look at
            # new ones, the less the greater the second threshold: with this one hardly ever, and nobody else would.
            gc.set_threshold(*self._before)
            self._before = None
            return
        gc.callbacks.append(self._looks)
        self._tasks = [
            supervise(self._runtime, live, name="cycle collector") for live in (self._live, self._live_beside_new)
        ]

    @switches
    def stop(self) -> None:
        """*Switches.* Python collects as it did before start(). Idempotent."""
        if self._before is not None:
            gc.callbacks.remove(self._looks)
            gc.set_threshold(*self._before)
            self._before = None
        while self._tasks:
            self._tasks.pop().kill()

    @switches
    def _live(self) -> None:
        while True:
            self._runtime.sleep(_LOOK_SECONDS)
            self._look()

    @switches
    def _live_beside_new(self) -> None:
        while True:
            self._runtime.sleep(self._until_next)
            if gc.get_threshold()[1] != _NEVER:  # the program has its own
                continue
            self._is_due = True
            try:
                gc.collect(0)
            finally:
                self._is_due = False

    def _look(self) -> None:
        blocks = sys.getallocatedblocks()
        if self._most and self._before is not None:
            self._outlived += max(0, blocks - self._most) / _BLOCKS_OF_AN_OBJECT / max(1, self._before[0])
        waiting = self._outlived
        self._same = self._same + 1 if waiting - self._waiting <= _HARDLY_ANY else 0
        is_over = blocks < _LEFT * self._most
        self._waiting, self._most = waiting, max(blocks, self._most)
        self._fewest = min(blocks, self._fewest or blocks)
        self._lately.append(blocks)
        if waiting < _DUE:
            return
        may_fill = waiting >= _OVERDUE and self._have_stayed() >= _GARBAGE_BLOCKS
        may_take_long = may_fill or self._same >= _CALM_LOOKS
        if not may_take_long:
            if not is_over:
                return
            if not _are_few(1):
                self._most = blocks  # to count them takes time, too: again when most of these are gone
                return
        self._done += 1
        generation = 2 if self._done >= _EVERY and (may_take_long or _are_few(2)) else 1
        if generation == 2:
            self._done = 0
        gc.collect(generation)
        self._waiting = self._outlived = 0.0
        self._most = self._fewest = 0
        self._lately.clear()

    def _have_stayed(self) -> int:
        """Blocks of memory that there are more since the last time, and were for a minute: those of a large request go
        before."""
        return min(self._lately) - self._fewest if len(self._lately) == _CALM_LOOKS else 0

    def _looks(self, phase: str, about: dict[str, int]) -> None:
        """Python calls this before and after each look, in whatever thread it comes. Does not switch."""
        if phase == "start":
            self._began = self._processor_seconds()
            return
        objects, second, _ = gc.get_threshold()
        if about["generation"] == 2:  # somebody asked for it
            self._outlived = 0.0
        if about["generation"] or self._before is None or second != _NEVER:  # or the program has its own thresholds
            return
        took, usual = self._processor_seconds() - self._began, self._before[0]
        if not self._is_due:
            self._outlived += objects / max(1, usual)
        longer = _WANTED_SECONDS / max(took, _WANTED_SECONDS / 2)
        self._until_next = min(max(_SOONEST_SECONDS, self._until_next * longer), _LATEST_SECONDS)
        if took > _LONG_SECONDS and objects > _FEWEST:
            gc.set_threshold(max(_FEWEST, objects // 2), _NEVER, _NEVER)
        elif took < _SHORT_SECONDS and objects < usual:
            gc.set_threshold(min(usual, 2 * objects), _NEVER, _NEVER)


def _are_few(generation: int) -> bool:
    objects = gc.get_objects(generation=generation)
    if len(objects) > _FEW_OBJECTS:
        return False
    return sum(len(one) for one in objects if type(one) in _HOLDERS) <= _FEW_REFERENCES
