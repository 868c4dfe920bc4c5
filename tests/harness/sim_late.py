"""Requests that are carried out long after they were sent, their callers having given up; and answers that come late.

A frozen server does so when it wakes, a network that holds packets back, a thread that waits for its turn. The caller
hears that the outcome is unknown, as of a lost answer: a client's write may be done at any moment after its call, or
never (linearizability.py). What clients ask of a master is left alone: a late disable or delete would take effect when
the run is judged, and say nothing of the cluster.
"""

import random
from collections import Counter

from hbtable.testing.simulated.runtime import SimulatedRuntime

LONGEST_SECONDS = 9.0
_CALL_TIMEOUT_SECONDS = (0.5, 3.0, 5.0)
OF_ROLES = ("load_tablet", "unload_tablet", "split", "sort_log_part", "update_schema", "tablets", "check_and_mutate")
"""What masters and tablet servers ask of tablet servers; the last is what changes METADATA."""
OF_CLIENTS = ("mutate", "increment", "append", "check_and_mutate", "mutate_if", "add_to_columns")

_HELD_SECONDS = (2.0, 4.0, LONGEST_SECONDS)
_SLICE_SECONDS = 0.2
_ANSWERS = 0.5


class Lateness:
    """`chance` decides which calls are held back, and for how long. Without shares it is not asked."""

    def __init__(self, chance: random.Random) -> None:
        self.shares: dict[tuple[str, str], float] = {}
        """By the caller's process and the method: the probability that such a call is held back."""
        self.count: Counter[str] = Counter()
        """Requests that were carried out after their callers had given up, by method."""
        self._chance = chance
        self._calms = 0

    def calm(self) -> None:
        """Nothing is held back any more. What still is follows within _SLICE_SECONDS, if its server lives."""
        self.shares.clear()
        self._calms += 1

    def of(self, caller: str, name: str) -> tuple[float, float]:
        """For how long a call's request and its answer are held back."""
        share = self.shares.get((caller, name), 0.0)
        if not share or self._chance.random() >= share:
            return 0.0, 0.0
        seconds = self._chance.uniform(0, self._chance.choice(_HELD_SECONDS))
        return (0.0, seconds) if self._chance.random() < _ANSWERS else (seconds, 0.0)

    def call_timeout_seconds(self) -> float:
        """Of the caller of a call that is held back."""
        return self._chance.choice(_CALL_TIMEOUT_SECONDS)

    def hold(self, runtime: SimulatedRuntime, seconds: float) -> None:
        """*Switches.* So long, or until it is calm."""
        calms, end = self._calms, runtime.clock_seconds() + seconds
        while calms == self._calms and (left := end - runtime.clock_seconds()) > 0:
            runtime.sleep(min(left, _SLICE_SECONDS))
