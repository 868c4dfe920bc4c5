"""Lets one at a time load, unload or split a tablet; whoever wants to unload it waits for no load.

A load may hang: its files are out of reach of this server, or METADATA is, and a change of the tablet's record stays in
doubt. What waited for its end would wait as long, and nobody else could have the tablet meanwhile. So who comes to
unload it ends the load that is under way, and those that wait before him. A load that was ended leaves the same files
as a server that dies in the middle of one. The tablet is reported as absent (online_tablets.py), so a change of its
record that arrives later still fails.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar, final

from hbtable.errors import Unavailable
from hbtable.runtime.interface import Event, Runtime
from hbtable.runtime.keyed_locks import KeyedLocks
from hbtable.switches import switches

T = TypeVar("T")


@final
class TabletLocks:
    """One lock for each tablet."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._locks = KeyedLocks[int](runtime)
        self._unloads: Counter[int] = Counter()
        """Of those who hold the lock or wait for it, how many unload the tablet."""
        self._opening: dict[int, Event] = {}
        """Tablets that are being opened: set when one is, or when that is to end."""

    def any(self) -> bool:
        """Somebody holds a lock, or waits for one. Does not switch."""
        return bool(self._locks)

    @contextmanager
    @switches
    def hold(self, tablet_id: int, unloads: bool = False) -> Iterator[None]:
        """`unloads`: a load that holds the lock, or waits for it, is Unavailable. *Switches* on entry when somebody
        else has it."""
        if not unloads:
            with self._locks.hold(tablet_id):
                yield
            return
        self._unloads[tablet_id] += 1
        if tablet_id in self._opening:
            self._opening[tablet_id].set()
        try:
            with self._locks.hold(tablet_id):
                yield
        finally:
            self._unloads[tablet_id] -= 1
            if not self._unloads[tablet_id]:
                del self._unloads[tablet_id]

    @switches
    def opened(self, tablet_id: int, open_tablet: Callable[[], T]) -> T:
        """Returns the result of `open_tablet`, or raises its error. The caller holds the lock. Unavailable when
        somebody wants to unload the tablet: nothing that `open_tablet` began goes on."""
        given_up = Unavailable(f"the load of tablet {tablet_id} was given up, because it is to be unloaded")
        if tablet_id in self._unloads:
            raise given_up
        found: list[T] = []
        errors: list[Exception] = []
        ended = self._opening[tablet_id] = self._runtime.event()

        def run() -> None:
            self._runtime.sleep(0)  # a task begins without asking whose turn it is, and so would sixteen of them
            try:
                found.append(open_tablet())
            except Exception as error:  # noqa: BLE001  raised again in the caller
                errors.append(error)
            ended.set()

        task = self._runtime.spawn(run, name="load")
        try:
            ended.wait()
        finally:
            del self._opening[tablet_id]
            if not (found or errors):
                task.kill()
        if errors:
            raise errors[0]
        if not found:
            raise given_up
        return found[0]
