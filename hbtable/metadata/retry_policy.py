"""Retry policy: for how long, and with what pauses, to try again when a tablet moves or a server is away.

Pauses double from the first to the longest, with jitter so that callers that failed together do not return together.
The very first retry comes at once: most stale locations are cured by one look into METADATA.
"""

from dataclasses import dataclass
from typing import final

from hbtable.errors import HbtableError
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """A deadline and the pauses up to it."""

    deadline_seconds: float = 10.0
    """From the first failure. Raising it rides out longer outages and keeps callers waiting longer."""
    first_pause_seconds: float = 0.01
    longest_pause_seconds: float = 1.0
    """Raising it spares a struggling cluster and notices its return later."""


@final
class RetryCounter:
    """The retries of one call; made at its first failure, so that success pays nothing."""

    __slots__ = ("_deadline", "_options", "_pause", "_runtime", "attempts")

    def __init__(self, runtime: Runtime, options: RetryPolicy) -> None:
        self._runtime = runtime
        self._options = options
        self._deadline = runtime.clock_seconds() + options.deadline_seconds
        self._pause = 0.0
        self.attempts = 0

    @switches
    def wait(self) -> bool:
        """*Switches.* Pauses before the next try; False at once when the deadline has passed."""
        self.attempts += 1
        if self._runtime.clock_seconds() >= self._deadline:
            return False
        pause = self._pause
        options = self._options
        self._pause = min(pause * 2, options.longest_pause_seconds) if pause else options.first_pause_seconds
        self._runtime.sleep(pause * (0.5 + self._runtime.random.random() / 2))
        return True

    def exhausted(self, what: str, reason: HbtableError) -> str:
        """The message for the error that ends the call."""
        return f"{what} after {self.attempts} tries in {self._options.deadline_seconds:g} seconds: {reason}"
