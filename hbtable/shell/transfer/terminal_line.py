"""A line of a terminal that tells the progress of something, written over again and again."""

import shutil
import sys
import threading
from collections.abc import Callable
from typing import Final, TextIO, final

_SECONDS: Final = 0.2
"""Between two of them."""


@final
class TerminalLine:
    """On standard error, or on `stream`. Of anything but a terminal it writes nothing, nor when it is `quiet`. For
    several threads. `clock` in seconds."""

    def __init__(self, clock: Callable[[], float], quiet: bool = False, stream: TextIO | None = None) -> None:
        self._clock = clock
        self._stream = stream or sys.stderr
        self._writes = not quiet and self._stream.isatty()
        self._shown = float("-inf")
        self._is_there = False
        self._writing = threading.Lock()

    def show(self, text: Callable[[], str]) -> None:
        """Takes the place of the line that was there, unless that is new. `text` is asked for then alone."""
        if not self._writes:
            return
        with self._writing:
            now = self._clock()
            if now - self._shown < _SECONDS:
                return
            self._shown = now
            self._is_there = True
            # A line that the terminal breaks could not be taken away again.
            self._stream.write(f"\r{text()[: shutil.get_terminal_size().columns - 1]}\x1b[K")
            self._stream.flush()

    def say(self, say: Callable[[str], None], text: str) -> None:
        """`say` writes a line that stays."""
        with self._writing:
            self._clear()
            say(text)

    def clear(self) -> None:
        with self._writing:
            self._clear()

    def _clear(self) -> None:
        if self._is_there:
            self._is_there = False
            self._shown = float("-inf")
            self._stream.write("\r\x1b[K")
            self._stream.flush()
