"""Long answers on a terminal go through $PAGER: the first screenful is held back, and shown as it is when no
more comes."""

import os
import shutil
import subprocess
from typing import IO, Final, TextIO, cast, final

_PAGER: Final = "less -FRSX"


@final
class PagedStream:
    """Written to like a text stream; finish() after each command. `target` may be swapped for a file or a pipe."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._held: list[str] = []
        self._lines = 0
        self._pager: subprocess.Popen[str] | None = None
        self.target: IO[str] | None = None

    def write(self, text: str) -> int:
        if self.target is not None:
            return self.target.write(text)
        if self._pager is not None and self._pager.stdin is not None:
            return self._pager.stdin.write(text)
        self._held.append(text)
        self._lines += text.count("\n")
        if self._lines >= shutil.get_terminal_size().lines - 1:
            self._start()
        return len(text)

    def isatty(self) -> bool:
        """Whether it is shown to a person, as far as is known: a file or a command may be `target`."""
        return self.target is None

    def flush(self) -> None:
        """Nothing: finish() is what ends an answer."""

    def finish(self) -> None:
        """Shows what is held; waits until the person leaves the pager."""
        held, self._held, self._lines = "".join(self._held), [], 0
        pager, self._pager = self._pager, None
        if pager is None:
            self._stream.write(held)
            self._stream.flush()
            return
        try:
            if pager.stdin is not None:
                pager.stdin.close()
        except BrokenPipeError:
            pass
        pager.wait()

    def as_stream(self) -> TextIO:
        return cast("TextIO", self)

    def _start(self) -> None:
        command = os.environ.get("PAGER") or _PAGER
        held, self._held = "".join(self._held), []
        try:
            self._pager = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, text=True)  # noqa: S602 -- $PAGER
        except OSError:
            self._stream.write(held)
            return
        if self._pager.stdin is not None:
            self._pager.stdin.write(held)
