"""Blocking calls of a file system's adapter as tasks of the runtime, so that a fake behind it may wait in virtual time.

The product makes such calls in threads (fs/blocking_calls.py).
"""

from collections.abc import Callable
from typing import TypeVar, final

from hbtable.fs.blocking_calls import within_deadline
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches

T = TypeVar("T")


@final
class TaskCalls:
    """Implements fs.blocking_calls.BlockingCalls. Any number of calls may hang."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @switches
    def call(self, kind: str, deadline_seconds: float, function: Callable[..., T], *arguments: object) -> T:
        return within_deadline(self._runtime, kind, deadline_seconds, lambda: function(*arguments))
