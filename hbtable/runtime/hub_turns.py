"""Measures how long the hub works between two looks at its sockets and timers: in that time no client is heard.

A turn may be many short tasks or one long one. Every turn counts, so every turn pays: half a microsecond in a loop, and
some ten where each call is a turn of its own, because the process slept before it. So a process measures them where its
pages show them, and nowhere else. hub_lag.py, which looks ten times a second, says what a client felt of them.
"""

import time
from typing import Final, final

from gevent.hub import get_hub

from hbtable.metrics.registry import Registry

_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


@final
class HubTurns:
    """Measures the turns of one hub, that of the thread which calls start()."""

    def __init__(self, registry: Registry) -> None:
        self._histogram = registry.histogram(
            "hbtable_hub_turn_seconds", "Work of the hub between two looks at its sockets and timers.", _BUCKETS
        )
        self._began = 0.0
        self._clock = time.perf_counter
        self._running = False

    def start(self) -> None:
        loop = get_hub().loop
        self._began = self._clock()
        self._running = True
        # Without a reference: a hub whose tasks all wait for each other ends all the same.
        # Behind the one in which gevent itself runs tasks.
        self._before_looking = loop.prepare(ref=False, priority=loop.MINPRI)
        self._after_looking = loop.check(ref=False)
        self._before_looking.start(self._turn_ends)
        self._after_looking.start(self._turn_begins)

    def stop(self) -> None:
        """Idempotent."""
        if self._running:
            self._running = False
            for watcher in (self._before_looking, self._after_looking):
                watcher.stop()
                watcher.close()

    def _turn_begins(self) -> None:
        self._began = self._clock()

    def _turn_ends(self) -> None:
        took = self._clock() - self._began
        histogram = self._histogram
        if took < 0.001:  # nearly all: the rest of observe() would cost as much again
            histogram.counts[0] += 1
            histogram.count += 1
            histogram.total += took
        else:
            histogram.observe(took)
