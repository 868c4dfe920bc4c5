"""Answers as tables drawn with lines, as wide as the terminal allows; long values are cut with an ellipsis."""

from collections.abc import Sequence
from typing import Final, TextIO, final

from hbtable.model.visible import visible
from hbtable.shell.answers.output import Record
from hbtable.shell.answers.text import binary, timestamp
from hbtable.shell.language.literals import Value, inspect

_ROWS_AT_ONCE: Final = 500
_DEFAULT_WIDTH: Final = 160


@final
class TableOutput:
    """Widths are measured over up to 500 rows, then kept."""

    wants_records = True
    values_are_answers = False

    def __init__(self, stream: TextIO, width: int = 0) -> None:
        self._stream = stream
        self._width = width or _DEFAULT_WIDTH
        self._titles: list[str] = []
        self._rows: list[list[str]] = []
        self._widths: list[int] = []

    def begin(self, titles: Sequence[str]) -> None:
        self._titles, self._rows, self._widths = list(titles), [], []

    def row(self, texts: Sequence[str], record: Record | None = None) -> None:
        if record is not None:
            if not self._rows and not self._widths:
                self._titles = list(record)
            texts = [_text(name, record.get(name)) for name in self._titles]
        self._rows.append([visible(text) for text in texts])
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._draw()

    def end(self, count: int | None) -> None:
        self._draw()
        self._widths = []
        if count is not None:
            self.say(f"{count} row(s)")

    def say(self, text: str) -> None:
        self._draw()
        self._stream.write(f"{visible(text, lines=True)}\n")

    def note(self, text: str) -> None:
        self.say(text)

    def value(self, value: Value) -> None:
        if value is not None and not isinstance(value, list):
            self.say(f"=> {inspect(value)}")

    def failed(self) -> None:
        """The rows that came are shown; the count below them is missing."""

    def took(self, seconds: float) -> None:
        self._draw()
        self._widths = []  # rows without titles are a table of their own
        self.say(f"Took {seconds:.4f} seconds")

    def flush(self) -> None:
        self._draw()
        self._stream.flush()

    def _draw(self) -> None:
        rows, self._rows = self._rows, []
        if not rows:
            return
        if not self._widths:
            columns = zip(self._titles, *rows, strict=False)
            self._widths = _fitted([max(map(len, column)) for column in columns], self._width)
            self._line(self._titles)
            self._stream.write("─┼─".join("─" * width for width in self._widths) + "\n")
        for row in rows:
            self._line(row)

    def _line(self, texts: Sequence[str]) -> None:
        cut = [
            text if len(text) <= width else text[: width - 1] + "…"
            for text, width in zip(texts, self._widths, strict=False)
        ]
        padded = [text.ljust(width) for text, width in zip(cut, self._widths, strict=False)]
        self._stream.write(" │ ".join(padded).rstrip() + "\n")


def _fitted(widths: list[int], most: int) -> list[int]:
    """The widest column gives way first."""
    room = most - 3 * (len(widths) - 1)
    fitted = list(widths)
    while sum(fitted) > room and max(fitted, default=0) > 8:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted


def _text(name: str, value: object) -> str:
    if isinstance(value, bytes):
        return binary(value)
    if name == "timestamp" and isinstance(value, int):
        return timestamp(value)
    return "" if value is None else str(value)
