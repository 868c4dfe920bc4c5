"""Interrupts a program at a chosen step by a function, as a signal handler would.

Between two of Python's instructions the interpreter may run a signal handler in the thread that it interrupts. Locks of
the thread stay taken until the handler has returned, so a handler that needs one would wait for ever.
"""

import sys
import threading
from collections.abc import Callable, Collection
from types import FrameType
from typing import Any, final

from tests.harness.waiting import SOON_SECONDS


class WaitsForEver(AssertionError):
    """What was interrupted, or the function that interrupted it, needs what the other one holds."""


@final
class Interruption:
    """Runs `work` in a thread of its own, and `handler` in the same one before the step of this number in `files`: an
    instruction of Python ("opcode") or a line ("line"). `answers`: of both, as far as they came to one."""

    def __init__(
        self,
        work: Callable[[], object],
        handler: Callable[[], object],
        step: int,
        files: Collection[str],
        event: str = "opcode",
    ) -> None:
        self.answers: dict[str, object] = {}
        self._work, self._handler = work, handler
        self._left, self._files, self._event = step, files, event
        self._failure: BaseException | None = None
        thread = threading.Thread(target=self._live, daemon=True)
        thread.start()
        thread.join(SOON_SECONDS)
        if thread.is_alive():
            raise WaitsForEver(f"interrupted before step {step}: {self.answers}")
        if self._failure is not None:
            raise AssertionError(f"interrupted before step {step}, it fails") from self._failure

    def _live(self) -> None:
        sys.settrace(self._trace)
        try:
            self.answers["work"] = self._work()
        except BaseException as error:
            self._failure = error
        finally:
            sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename not in self._files:
            return None
        frame.f_trace_opcodes = True
        if event == self._event:
            self._left -= 1
            if self._left == 0:
                self.answers["handler"] = self._handler()  # the interpreter does not trace it
        return self._trace
