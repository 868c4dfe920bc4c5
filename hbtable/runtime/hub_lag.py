"""Measures how late the hub is: a task sleeps a fixed time and sees how much longer it took.

A hub that stalls answers nobody and loses its lease in the lock service; whatever held it (a long computation, a cold
disk read) shows here first.
"""

import logging
from collections import deque
from dataclasses import dataclass
from typing import final

from hbtable.metrics.registry import Registry
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HubLagOptions:
    """Options of the measurement."""

    interval_seconds: float = 0.1
    """Between two measurements. Less: shorter stalls are seen, at 20 us each."""

    window_seconds: float = 15.0
    """The gauge shows the greatest lag of this long, so that a scrape every 15 s misses none."""

    warn_seconds: float = 1.0
    """A lag above this is logged. Lock service leases are about 10 s."""


@final
class HubLag:
    """Owns the measuring task from start() to stop()."""

    def __init__(self, runtime: Runtime, registry: Registry, options: HubLagOptions | None = None) -> None:
        self._runtime = runtime
        self._options = options or HubLagOptions()
        self._task: Task | None = None
        measurements = max(1, round(self._options.window_seconds / self._options.interval_seconds))
        self._lags: deque[float] = deque(maxlen=measurements)
        registry.gauge(
            "hbtable_hub_lag_seconds",
            "Greatest delay of the hub in the last seconds: how long something kept all other tasks waiting",
            self.lag_seconds,
        )

    def start(self) -> None:
        self._task = supervise(self._runtime, self._measure, name="hub lag")

    @switches
    def stop(self) -> None:
        """*Switches.* Idempotent."""
        if self._task is not None:
            self._task.kill()
            self._task = None

    def lag_seconds(self) -> float:
        """The greatest lag in the window; 0 before the first measurement."""
        return max(self._lags, default=0.0)

    @switches
    def _measure(self) -> None:
        interval = self._options.interval_seconds
        clock = self._runtime.clock_seconds
        while True:
            before = clock()
            self._runtime.sleep(interval)
            lag = max(0.0, clock() - before - interval)
            self._lags.append(lag)
            if lag > self._options.warn_seconds:
                _log.warning("the hub stood still for %.3f s (or the machine was suspended)", lag)
