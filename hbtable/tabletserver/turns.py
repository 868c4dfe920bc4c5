"""Who loads, unloads or splits a tablet: one after the other, and whoever wants to unload it waits for no load.

A load may hang: its files are out of reach of this server, or METADATA is, and a change of the tablet's record stays in
doubt. What waited for its end would wait as long, and nobody else could have the tablet meanwhile. So who comes to
unload it ends the load that is under way, and those that wait before him. An ended load leaves what a server leaves
that dies in the middle of it, and the tablet is said to be absent (residence.py), so that a change of its record that
arrives later still fails.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar, final

from hbtable.errors import Unavailable
from hbtable.runtime.interface import Event, Lock, Runtime

T = TypeVar("T")


@final
class _Turn:
    """Of one tablet: the lock, and how many hold it or wait for it."""

    __slots__ = ("lock", "opened", "unloads", "users")

    def __init__(self, lock: Lock) -> None:
        self.lock = lock
        self.users = 0
        self.unloads = 0
        """Of these users, how many unload it."""
        self.opened: Event | None = None
        """While the tablet is being opened: set when it is, or when that is to end."""


@final
class Turns:
    """By tablet."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._turns: dict[int, _Turn] = {}

    def any(self) -> bool:
        """Somebody has a turn, or waits for one. Does not switch."""
        return bool(self._turns)

    @contextmanager
    def take(self, tablet_id: int, unloads: bool = False) -> Iterator[None]:
        """`unloads`: a load that has the turn, or waits for it, is Unavailable. *Switches* on entry when somebody else
        has it."""
        turn = self._turns.get(tablet_id)
        if turn is None:
            turn = self._turns[tablet_id] = _Turn(self._runtime.lock())
        turn.users += 1
        turn.unloads += unloads
        if unloads and turn.opened is not None:
            turn.opened.set()
        try:
            with turn.lock:
                yield
        finally:
            turn.users -= 1
            turn.unloads -= unloads
            # Not before the last that waits is done: a newcomer with a lock of its own could load the tablet twice.
            if not turn.users:
                del self._turns[tablet_id]

    def opened(self, tablet_id: int, open_tablet: Callable[[], T]) -> T:
        """What `open_tablet` returns or raises. The caller has the turn. Unavailable when somebody wants to unload the
        tablet: nothing that `open_tablet` began goes on. *Switches.*"""
        turn = self._turns[tablet_id]
        given_up = Unavailable(f"the load of tablet {tablet_id} was given up, because it is to be unloaded")
        if turn.unloads:
            raise given_up
        found: list[T] = []
        errors: list[Exception] = []
        ended = turn.opened = self._runtime.event()

        def run() -> None:
            try:
                found.append(open_tablet())
            except Exception as error:  # noqa: BLE001  raised again in the caller
                errors.append(error)
            ended.set()

        task = self._runtime.spawn(run, name="load")
        try:
            ended.wait()
        finally:
            turn.opened = None
            if not (found or errors):
                task.kill()
        if errors:
            raise errors[0]
        if not found:
            raise given_up
        return found[0]
