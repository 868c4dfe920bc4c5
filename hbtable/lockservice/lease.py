"""Says until when a session may be trusted: the client's half of a lock service lease (paper, section 4; bug class 1).

The service ends a session when it heard nothing of it for the timeout, counted from when a message *arrived*. So who
counts from when the message was *sent*, and takes a margin off, stops trusting the session before the service does.

Invariants: the clock counts the time a machine was suspended; valid() is False for ever once over() is True, and no
answer that comes in late brings it back.
"""

import math
import threading
from collections.abc import Callable
from typing import final


@final
class Lease:
    """One session's lease. Any thread may call; valid() and over() take no lock."""

    __slots__ = ("_changing", "_clock", "_over", "_until", "seconds")

    def __init__(self, clock: Callable[[], float], seconds: float) -> None:
        """`seconds`: what a message that was confirmed is worth, from the moment it was sent: less than the timeout."""
        self._clock = clock
        self._changing = threading.Lock()
        self._until = -math.inf
        self._over = False
        self.seconds = seconds

    def valid(self) -> bool:
        return self._clock() < self._until

    def over(self) -> bool:
        return self._over

    def renew(self, sent_seconds: float) -> None:
        """A message that was sent at this time was confirmed. Nothing happens once the session is over."""
        with self._changing:
            if not self._over:
                self._until = max(self._until, sent_seconds + self.seconds)

    def end(self) -> bool:
        """The session is over. True the first time."""
        with self._changing:
            first, self._over = not self._over, True
            self._until = -math.inf
            return first
