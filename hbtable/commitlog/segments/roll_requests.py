"""Tasks that wait until the log goes on in a new segment. One segment answers all that came before it was begun."""

from collections.abc import Sequence
from typing import final

from hbtable.errors import HbtableError
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches


@final
class RollRequest:
    """One task that waits."""

    __slots__ = ("_done", "_errors")

    def __init__(self, runtime: Runtime) -> None:
        self._done = runtime.event()
        self._errors: Sequence[HbtableError] = ()

    @switches
    def wait(self) -> None:
        """Raises what kept the segment from coming."""
        self._done.wait()
        for error in self._errors:
            raise error

    def answer(self, errors: Sequence[HbtableError]) -> None:
        """`errors`: none, or the one that kept it from coming."""
        self._errors = errors
        self._done.set()
