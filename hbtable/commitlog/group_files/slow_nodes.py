"""Storage nodes that keep a group waiting: files are better begun elsewhere (docs/faults.md: two ways for a log)."""

from collections.abc import Callable, Iterable
from typing import Final, final

_REMEMBERED_SECONDS: Final = 10.0
"""By then the NameNode knows itself that a node does not answer."""
_TRIES_THAT_AVOID: Final = 3


@final
class SlowNodes:
    """Forgets by itself, and at once when a node answers: one put in twenty takes half a second on any node, and a node
    that is frozen never answers."""

    def __init__(self, clock_seconds: Callable[[], float]) -> None:
        self._clock_seconds = clock_seconds
        self._until: dict[str, float] = {}

    def kept_waiting(self, nodes: Iterable[str]) -> None:
        until = self._clock_seconds() + _REMEMBERED_SECONDS
        for node in nodes:
            self._until.pop(node, None)
            self._until[node] = until  # last in the dictionary: the latest

    def answered(self, node: str) -> None:
        self._until.pop(node, None)

    def to_avoid(self, attempt: int, tried: Iterable[str]) -> tuple[str, ...]:
        """For try `attempt` of a group, when `tried` were tried before. The first leaves out one node at most, those
        from the fourth on none: it may be the avoiding itself that leaves no node."""
        if attempt > _TRIES_THAT_AVOID:
            return ()
        if attempt > 1:
            return tuple(dict.fromkeys(tried))
        now = self._clock_seconds()
        return tuple([node for node, until in self._until.items() if until > now][-1:])
