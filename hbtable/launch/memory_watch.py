"""Keeps the process near its memory limit: what it really takes decides how much room the elastic parts have.

Memtables, the log's queue and scanners have fixed bounds (config/memory.py). The block cache and the large messages
under way are elastic. When the process comes near the limit (because of copies, fragments, a compaction), both get less
room, step by step. When it is well below, they get more again. With less room for messages the oldest one under way is
cut off, and further ones wait or are told to try again.
"""

import ctypes
import gc
import logging
import os
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, final

from hbtable.metrics.registry import Registry
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.runtime.supervision import supervise
from hbtable.sstable.cache import BlockCache
from hbtable.switches import switches

_LOG: Final = logging.getLogger(__name__)
_PERIOD_SECONDS: Final = 0.1
_HIGH: Final = 0.9
_LOW: Final = 0.8
_STEP: Final = 0.8
_LEAST: Final = 0.125
"""Of its usual room a part keeps so much: one message at a time has to get through."""
_TRIM_SECONDS: Final = 1.0
_COLLECT_SECONDS: Final = 60.0
"""Between two looks at all objects, for 50 to 300 ms, in which nobody is served."""
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


class Room(NamedTuple):
    """Shares of their usual room that the elastic parts have."""

    cache: float = 1.0
    messages: float = 1.0


def next_room(room: Room, taken_bytes: int, limit_bytes: int) -> Room:
    """The room to give next, by the memory that the process takes. The cache gives before messages are cut off, and
    gets back after."""
    if taken_bytes > _HIGH * limit_bytes:
        cache = max(_LEAST, room.cache * _STEP)
        is_urgent = taken_bytes > limit_bytes or room.cache == _LEAST
        return Room(cache, max(_LEAST, room.messages * _STEP) if is_urgent else room.messages)
    if taken_bytes < _LOW * limit_bytes:
        if room.messages < 1.0:
            return Room(room.cache, min(1.0, room.messages / _STEP))
        return Room(min(1.0, room.cache / _STEP), 1.0)
    return room


def resident_bytes() -> int:
    """The memory of this process; 0 where the operating system does not tell."""
    try:
        # Ten times a second, also at rest: open() makes six further calls of the system. Not kept open, as a child that
        # is forked would read of its parent.
        file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return int(os.read(file, 200).split()[1]) * _PAGE_BYTES
        finally:
            os.close(file)
    except (OSError, IndexError, ValueError):
        return 0


def give_back() -> None:
    """Hands freed memory to the operating system, where the C library has a way to."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


@final
class MemoryWatch:
    """start() once, stop() once. `budgets`: of all ports of the process."""

    def __init__(
        self,
        runtime: Runtime,
        registry: Registry,
        limit_bytes: int,
        budgets: Sequence[MemoryBudget],
        cache: BlockCache | None = None,
        taken_bytes: Callable[[], int] = resident_bytes,
    ) -> None:
        self._runtime = runtime
        self._limit_bytes = limit_bytes
        self._budgets = [(one, one.limit_bytes) for one in budgets]
        self._cache = cache
        self._cache_bytes = 0 if cache is None else cache.capacity_bytes
        self._taken_bytes = taken_bytes
        self._trimmed_at = self._collected_at = float("-inf")
        self._task: Task | None = None
        self.room = Room()
        registry.gauge("hbtable_memory_limit_bytes", "What this process may take.", lambda: float(limit_bytes))
        registry.gauge(
            "hbtable_memory_room",
            "Share of its usual room that large requests and answers have, less when memory is short.",
            lambda: self.room.messages,
        )

    def start(self) -> None:
        self._task = supervise(self._runtime, self._watch, name="memory watch")

    @switches
    def stop(self) -> None:
        """*Switches.* Idempotent."""
        if self._task is not None:
            self._task.kill()
            self._task = None

    @switches
    def look(self) -> None:
        """Measures the memory once, and gives the elastic parts more or less room. *Switches* when memory is short."""
        taken = self._taken_bytes()
        room, now = next_room(self.room, taken, self._limit_bytes), self._runtime.clock_seconds()
        if room.messages < self.room.messages and now - self._collected_at > _COLLECT_SECONDS:
            # An error's traceback may hold a large request, and refers to itself.
            self._collected_at = now
            gc.collect()
            taken = self._taken_bytes()
            room = next_room(self.room, taken, self._limit_bytes)
        if room != self.room:
            self._give(room, taken)
        if taken > _HIGH * self._limit_bytes and now - self._trimmed_at > _TRIM_SECONDS:
            self._trimmed_at = now
            self._runtime.offload("memory", give_back)

    def _give(self, room: Room, taken: int) -> None:
        if room.messages < 1.0 and self.room.messages == 1.0:
            _LOG.warning(
                "the process takes %d bytes, near its limit of %d (memory.limit_bytes): large requests get less room",
                taken,
                self._limit_bytes,
            )
        self.room = room
        for budget, usual in self._budgets:
            budget.limit_bytes = int(usual * room.messages)
        if self._cache is not None:
            self._cache.resize(int(self._cache_bytes * room.cache))

    @switches
    def _watch(self) -> None:
        while True:
            self._runtime.sleep(_PERIOD_SECONDS)
            self.look()
