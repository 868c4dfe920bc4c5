"""The progress of a copy, for people: rows, bytes and regions of what it does now."""

import threading
from collections.abc import Callable
from typing import Final, final

from hbtable.model.cell import Row
from hbtable.shell.copying.page_size import size_of
from hbtable.shell.transfer.terminal_line import TerminalLine

_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB")


@final
class CopyProgress:
    """begin(), then came() and ended() of any thread. `clock` in seconds."""

    def __init__(self, clock: Callable[[], float], line: TerminalLine, say: Callable[[str], None]) -> None:
        self._clock = clock
        self.line = line
        self._say = say
        self._counting = threading.Lock()
        self.begin("")

    def begin(self, what: str, regions: int = 0, done: int = 0, rows: int = 0) -> None:
        """`done` of the `regions`, with so many `rows`, were copied before."""
        with self._counting:
            self._what, self._regions, self._done = what, regions, done
            self._before, self._rows, self._bytes = rows, 0, 0
            self._began = self._clock()

    def came(self, page: list[Row], new_rows: int) -> None:
        with self._counting:
            self._rows += new_rows
            self._bytes += sum(map(size_of, page))
        self.line.show(self.shown)

    def ended(self) -> None:
        """A region."""
        with self._counting:
            self._done += 1
        self.line.show(self.shown)

    def shown(self) -> str:
        with self._counting:
            seconds = max(self._clock() - self._began, 0.001)
            return (
                f"{self._what}: {self._before + self._rows:,} rows, {_size(self._bytes)}, {self._done} of "
                f"{self._regions} regions, {self._rows / seconds:,.0f} rows/s, {_size(self._bytes / seconds)}/s"
            )

    def say(self, text: str) -> None:
        """A line that stays."""
        self.line.say(self._say, text)


def _size(count: float) -> str:
    for unit in _UNITS[:-1]:
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} {_UNITS[-1]}"
