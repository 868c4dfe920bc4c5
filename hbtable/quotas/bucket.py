"""A token bucket: what a throttle allows now.

It is full at first, and fills at the rate of its throttle, never above one limit. Who finds at least one token goes on,
and takes as many as his call turns out to need: what is missing then is a debt, for which later calls wait. So a call
larger than the whole limit is carried out once, and a read need not be guessed before it is done.
"""

from typing import final

from hbtable.quotas.settings import ThrottleSetting


@final
class Bucket:
    """The bucket of one throttle, whose limit may be shared by several servers."""

    __slots__ = ("_filled", "_known", "limit", "throttle")

    def __init__(self, throttle: ThrottleSetting, servers: int, now: float) -> None:
        self.throttle = throttle
        self.limit = _part(throttle, servers)
        self._filled = float(self.limit)
        self._known = now

    def share(self, servers: int) -> None:
        """The limit is that of so many servers from now on; a debt stays."""
        self.limit = _part(self.throttle, servers)
        self._filled = min(self._filled, float(self.limit))

    def wait_seconds(self, now: float) -> float:
        """The time until there is a token; 0: there is one."""
        self._fill(now)
        missing = 1.0 - self._filled
        return 0.0 if missing <= 0 else missing * self.throttle.seconds / self.limit

    def told_wait_millis(self) -> int:
        """The wait that a refused client is told, as HBase counts it: of the time for a token that began, nothing has
        passed. Never shorter than the wait."""
        missing = 1 - int(self._filled // 1)
        return -(-missing * self.throttle.seconds * 1000 // self.limit)

    def take(self, tokens: int, now: float) -> None:
        """Takes tokens, also when there are not enough."""
        self._fill(now)
        self._filled -= tokens

    def _fill(self, now: float) -> None:
        passed = now - self._known
        if passed > 0:
            self._known = now
            self._filled = min(float(self.limit), self._filled + passed * self.limit / self.throttle.seconds)


def _part(throttle: ThrottleSetting, servers: int) -> int:
    return max(1, throttle.limit // max(1, servers)) if throttle.cluster else throttle.limit
