"""How long a process's first thread could run while the processor was others'.

The system counts the time in the queue for a processor, and not who had it meanwhile. A server's own threads and worker
processes take processors from its hub, too, and that is its own work: what they ran is taken off. So too little is left
out rather than too much, for they may have run on another processor.
"""

import contextlib
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

_LOOK_EVERY = 50
"""Readings between two looks for new children, which take a millisecond."""


@dataclass(frozen=True)
class Reading:
    """Seconds so far: in the queue, and run by the process's other threads and its children."""

    queued: float
    own: float

    def foreign_since(self, before: "Reading") -> float:
        """The time in the queue that others than the process itself are the reason of."""
        return max(0.0, self.queued - before.queued - (self.own - before.own))


@dataclass
class RunQueue:
    """Of the process `pid`, which is on this machine. `with_children`: what they run is its own work."""

    pid: int
    with_children: bool = True
    _children: dict[int, float] = field(default_factory=dict)
    """By their numbers, what they ran; those that ended, too."""
    _readings: int = 0

    def read(self) -> Reading:
        ran, queued, _ = Path(f"/proc/{self.pid}/schedstat").read_text().split()
        if self.with_children and not self._readings % _LOOK_EVERY:
            self._look()
        self._readings += 1
        for child in self._children:
            with contextlib.suppress(OSError):
                self._children[child] = _ran(child)
        others = max(0.0, _ran(self.pid) - int(ran) / 1e9)
        return Reading(int(queued) / 1e9, others + sum(self._children.values()))

    def _look(self) -> None:
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with contextlib.suppress(OSError):  # a thread that has ended
                for child in Path(f"/proc/{self.pid}/task/{task}/children").read_text().split():
                    self._children.setdefault(int(child), 0.0)


def _ran(pid: int) -> float:
    """All threads of a process. OSError when it is gone."""
    return time.clock_gettime((~pid << 3) | 2)  # as clock_getcpuclockid() makes it
