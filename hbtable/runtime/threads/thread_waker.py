"""The way from a foreign thread into the hub: kazoo's threads wake a task.

Invariant: wake() touches only the watcher's thread-safe send. Calls before the answer begins count once; a call during
it makes another answer follow.
"""

from collections.abc import Callable
from typing import final

from gevent.hub import get_hub


@final
class GeventThreadWaker:
    """Implements runtime.interface.ThreadWaker. Made in the hub's thread. `begin` starts the answer as a task, and does
    not switch."""

    __slots__ = ("_wake",)

    def __init__(self, begin: Callable[[], object]) -> None:
        # Not counted as work: a hub whose tasks all wait for each other still ends with gevent's LoopExit.
        self._wake = get_hub().loop.async_(ref=False)
        self._wake.start(begin)

    def wake(self) -> None:
        try:
            self._wake.send()
        except ValueError:
            pass  # closed, or the hub was destroyed: nobody listens any more

    def close(self) -> None:
        self._wake.stop()
        self._wake.close()
