"""The progress of a transfer: a small JSON file beside the data, replaced whole, removed at the end; a line for people.

It is written after what it speaks of: on import after the rows were acknowledged, on export after the bytes are in the
file. So a restart may repeat a batch, which changes nothing, and never leaves one out. docs/formats.md has its layout.
"""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, final

from hbtable.shell.errors import ArgumentError
from hbtable.shell.transfer.origin import ANEW
from hbtable.shell.transfer.terminal_line import TerminalLine

_FORMAT: Final = 2
"""1, which named no format, did not keep what it belongs to."""
_BEGINNING_BYTES: Final = 256


@final
class Progress:
    """The progress line of a transfer. `clock` in seconds; `total_bytes` 0: unknown; `kind` is for people. The line
    goes to standard error, and only on a terminal. `begins`: how the file begins, where its name was the user's choice:
    another one is left alone. None: its name says what it is."""

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float],
        total_bytes: int = 0,
        kind: str = "a transfer",
        begins: re.Pattern[bytes] | None = None,
    ) -> None:
        self._path = path
        self._clock = clock
        self._started = clock()
        self._line = TerminalLine(clock)
        self._first_rows = -1
        self._total = total_bytes
        self._kind = kind
        self._begins = begins
        self._first_bytes = -1

    @property
    def path(self) -> Path:
        return self._path

    def load(self) -> dict[str, object]:
        """{} at the beginning. ArgumentError when it cannot be read."""
        if not self._path.exists():
            return {}
        self._refuse_foreign()
        try:
            found: object = json.loads(self._path.read_text(encoding="utf-8"))
        except ValueError:
            raise ArgumentError(f"{self._path} is damaged, so how far the last run came is unknown; {ANEW}") from None
        if not isinstance(found, dict) or not {"format", "rows", "parts"} & found.keys():
            raise ArgumentError(f"{self._path} is no state of {self._kind}; {ANEW}")
        form = found.get("format", 1)
        if form != _FORMAT:
            raise ArgumentError(
                f"{self._path} has format {form}, and this version goes on with {_FORMAT} alone; {ANEW}"
            )
        return found

    def save(self, state: dict[str, object]) -> None:
        """Durable on return, and whole or not at all."""
        beside = self._path.with_suffix(self._path.suffix + ".new")
        with beside.open("w", encoding="utf-8") as file:
            json.dump({"format": _FORMAT, **state}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, self._path)

    def forget(self) -> None:
        """Removes the file. ArgumentError, and it stays, when somebody else wrote it."""
        if self._path.exists():
            self._refuse_foreign()
        self._path.unlink(missing_ok=True)

    def _refuse_foreign(self) -> None:
        if self._begins is None:
            return
        beginning = b""
        if self._path.is_file():  # nothing is read from a pipe
            with self._path.open("rb") as file:
                beginning = file.read(_BEGINNING_BYTES)
        if not self._begins.match(beginning):
            raise ArgumentError(
                f"{self._path} is no state of {self._kind}, and is left as it is: name another file with --state"
            )

    def show(self, rows: int, done_bytes: int) -> None:
        if self._first_bytes < 0:
            self._first_bytes, self._first_rows = done_bytes, rows
        self._line.show(lambda: self._shown(rows, done_bytes))

    def _shown(self, rows: int, done_bytes: int) -> str:
        seconds = max(self._clock() - self._started, 0.001)
        line = f"{rows:,} rows, {(rows - self._first_rows) / seconds:,.0f}/s"
        if not self._total:
            return line
        speed = (done_bytes - self._first_bytes) / seconds
        left = (self._total - done_bytes) / speed if speed else 0.0
        filled = int(20 * done_bytes / self._total)
        return f"[{'#' * filled}{'.' * (20 - filled)}] {line}, {left:.0f} s left"

    def finish(self, rows: int, what: str, then: str = "") -> str:
        """Removes the file; the closing message. `then`: other work that was done in the same time, so that rows a
        second would say nothing."""
        self._path.unlink(missing_ok=True)
        seconds = max(self._clock() - self._started, 0.001)
        self._line.clear()
        if then:
            return f"{what} {rows:,} rows, {then}, in {seconds:.1f} s"
        return f"{what} {rows:,} rows in {seconds:.1f} s ({rows / seconds:,.0f} rows/s)"
