"""The same look again and again, in a task of its own, where one that failed is followed by the next."""

from abc import ABC, abstractmethod

from hbtable.errors import HbtableError, LockLost
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.supervision import supervise
from hbtable.switches import switches


class Rounds(ABC):
    """Calls look() from start() to stop(), with a pause of `seconds` after each. After a LockLost, with which the
    process ends, it is not called again."""

    def __init__(self, runtime: Runtime, seconds: float, name: str) -> None:
        self._runtime = runtime
        self._seconds = seconds
        self._name_of_task = name
        self._task: Task | None = None

    def start(self) -> None:
        self._task = supervise(self._runtime, self._live, name=self._name_of_task)

    @switches
    def stop(self) -> None:
        """A look under way is given up. Idempotent."""
        task, self._task = self._task, None
        if task is not None:
            task.kill()

    @switches
    def _live(self) -> None:
        while True:
            try:
                self.look()
            except LockLost:
                return
            except HbtableError as error:
                self._failed(error)
            self._runtime.sleep(self._seconds)

    @abstractmethod
    @switches
    def look(self) -> None:
        """Does one round. Any HbtableError: not all of it was done."""

    @abstractmethod
    def _failed(self, error: HbtableError) -> None:
        """A look failed. Does not switch."""
