"""What the program logs that an operator would be woken by, in tests of lives that nothing is wrong with."""

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Final

_PROGRAM: Final = logging.getLogger("hbtable")
_KILLED_BY_THE_TEST: Final = "the worker process was killed by the simulation"


class NeedlessWarning(AssertionError):
    """A life that had no reason to warn did."""


class ProgramWarnings(logging.Handler):
    """Keeps what the program logs as WARNING or worse, as long as `counts` says so."""

    def __init__(self, counts: Callable[[], bool]) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []
        self._counts = counts

    def emit(self, record: logging.LogRecord) -> None:
        if self._counts():
            self.said.append(f"{record.levelname} {record.name}: {record.getMessage()}")

    def check(self, where: str, torn: Collection[str] = ()) -> None:
        """NeedlessWarning. `torn`: files whose last bytes a loss of power left other than they were written. What is
        said of these cannot be told from damage, and may be said."""
        needless = [
            line for line in self.said if _KILLED_BY_THE_TEST not in line and not any(path in line for path in torn)
        ]
        if needless:
            raise NeedlessWarning(f"{where}: {'; '.join(needless[:3])}")


@contextmanager
def program_warnings(counts: Callable[[], bool] = lambda: True) -> Iterator[ProgramWarnings]:
    """Until its end nobody else hears the program, also where logging is turned off."""
    handler = ProgramWarnings(counts)
    before = _PROGRAM.propagate, logging.root.manager.disable
    _PROGRAM.propagate = False
    logging.disable(logging.INFO)
    _PROGRAM.addHandler(handler)
    try:
        yield handler
    finally:
        _PROGRAM.removeHandler(handler)
        _PROGRAM.propagate = before[0]
        logging.disable(before[1])
