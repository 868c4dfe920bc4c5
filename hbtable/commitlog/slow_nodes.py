"""Storage nodes that lately kept a group waiting: files are better begun elsewhere (storage-and-faults 3.4)."""

from collections.abc import Callable, Iterable
from typing import Final, final

_REMEMBERED_SECONDS: Final = 10.0
"""By then the NameNode knows itself that a node does not answer; one that was only slow gets its share again."""
_TRIES_THAT_AVOID: Final = 3


@final
class SlowNodes:
    """Forgets by itself."""

    def __init__(self, clock_seconds: Callable[[], float]) -> None:
        self._clock_seconds = clock_seconds
        self._until: dict[str, float] = {}

    def add(self, nodes: Iterable[str]) -> None:
        until = self._clock_seconds() + _REMEMBERED_SECONDS
        self._until.update(dict.fromkeys(nodes, until))

    def to_avoid(self, attempt: int) -> tuple[str, ...]:
        """Nothing from the fourth try on: by then it is the avoiding itself that may leave no node."""
        if attempt > _TRIES_THAT_AVOID or not self._until:
            return ()
        now = self._clock_seconds()
        self._until = {node: until for node, until in self._until.items() if until > now}
        return tuple(sorted(self._until))
