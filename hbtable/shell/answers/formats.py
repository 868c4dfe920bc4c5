"""Formats of answers: hbase (HBase's lines), table (drawn), json (one array a command), jsonl (one object a row), csv.

For programs text lines, Took and => are left out. Bytes are text where they are UTF-8, else {"b64": "..."}; in CSV
`b64:` in front says so, and a value that begins with `b64:` itself is written in it, too: nothing is lost. So is, on a
terminal, one that the terminal would obey.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Final, TextIO, final

from hbtable.model.visible import has_unseen, visible, visible_in_json
from hbtable.shell.answers.output import HBaseOutput, Output, Record
from hbtable.shell.errors import ArgumentError
from hbtable.shell.language.literals import Value

FORMATS: Final = ("hbase", "table", "json", "jsonl", "csv")


def make_output(name: str, stream: TextIO, width: int = 0) -> Output:
    if name == "hbase":
        return HBaseOutput(stream, width)
    if name == "table":
        from hbtable.shell.answers.drawn import TableOutput

        return TableOutput(stream, width)
    if name in ("json", "jsonl"):
        return JsonOutput(stream, name == "jsonl")
    if name == "csv":
        return CsvOutput(stream)
    raise ArgumentError(f"there is no format {name}; there is {', '.join(FORMATS)}")


def plain(value: object) -> object:
    """The value for JSON."""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            import base64

            return {"b64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, dict):
        return {str(plain(key)): plain(held) for key, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


@final
class JsonOutput:
    """Answers as JSON. `by_line`: an object a line; else an array for each command. One that fails behind its first
    rows leaves its array open, so that no program takes it for whole."""

    wants_records = True
    values_are_answers = True

    def __init__(self, stream: TextIO, by_line: bool) -> None:
        import json

        self._encode = json.JSONEncoder(ensure_ascii=False).encode
        self._stream = stream
        self._by_line = by_line
        self._open = False
        self._rows = 0
        self._answered = False

    def begin(self, titles: Sequence[str]) -> None:
        self._close()
        self._open = not self._by_line
        self._answered = True

    def row(self, texts: Sequence[str], record: Record | None = None) -> None:
        made = plain(dict(record)) if record is not None else list(texts)
        text = visible_in_json(self._encode(made))
        if self._by_line:
            self._stream.write(text + "\n")
        else:
            if not self._open:  # an answer without titles is an array all the same
                self.begin(())
            self._stream.write((",\n " if self._rows else "[") + text)
        self._rows += 1
        self._answered = True

    def end(self, count: int | None) -> None:
        self._close()

    def say(self, text: str) -> None:
        """For people: not for this reader."""

    def note(self, text: str) -> None:
        sys.stderr.write(f"{visible(text, lines=True)}\n")

    def value(self, value: Value) -> None:
        if not self._answered and value is not None and not hasattr(value, "inspect"):
            self._stream.write(visible_in_json(self._encode(plain(value))) + "\n")
        self._answered = False

    def failed(self) -> None:
        if self._open and self._rows:
            self._stream.write("\n")
        self._open, self._rows = False, 0

    def took(self, seconds: float) -> None:
        self._close()

    def flush(self) -> None:
        self._close()
        self._stream.flush()

    def _close(self) -> None:
        if self._open:
            self._stream.write("]\n" if self._rows else "[]\n")
        self._open = False
        self._rows = 0


@final
class CsvOutput:
    """A header line, then rows; columns are those of the first row."""

    wants_records = True
    values_are_answers = True

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._names: list[str] = []
        self._titles: Sequence[str] = ()
        self._answered = False

    def begin(self, titles: Sequence[str]) -> None:
        self._names, self._titles = [], titles
        self._answered = True

    def row(self, texts: Sequence[str], record: Record | None = None) -> None:
        made: Mapping[str, object] = record if record is not None else dict(zip(self._titles, texts, strict=False))
        self._answered = True
        if not self._names:
            self._names = list(made)
            self._write(self._names)
        seen = self._stream.isatty()
        self._write([_csv(made.get(name), seen) for name in self._names])

    def _write(self, fields: Sequence[str]) -> None:
        from hbtable.shell.answers.csv_line import csv_line

        self._stream.write(csv_line(fields))

    def end(self, count: int | None) -> None:
        """No footer. The next row begins a table of its own."""
        self._names = []

    def say(self, text: str) -> None:
        """For people: not for this reader."""

    def note(self, text: str) -> None:
        sys.stderr.write(f"{visible(text, lines=True)}\n")

    def value(self, value: Value) -> None:
        """A single value where no rows were, under the title `value`."""
        if not self._answered and isinstance(value, (bytes, bool, int, float)):
            self.row((), {"value": value})
        self._names, self._answered = [], False

    def failed(self) -> None:
        """A table of titles and rows has no end that could be left out."""

    def took(self, seconds: float) -> None:
        self._names = []

    def flush(self) -> None:
        self._stream.flush()


def _csv(value: object, seen: bool) -> str:
    """`seen`: by a terminal, which obeys some characters."""
    if isinstance(value, bytes):
        try:
            text = value.decode("utf-8")
        except UnicodeDecodeError:
            text = "b64:"
        if not text.startswith("b64:") and not (seen and has_unseen(text)):
            return text
        import base64

        return "b64:" + base64.b64encode(value).decode("ascii")
    if isinstance(value, (dict, list, tuple, bool)):
        import json

        return visible_in_json(json.dumps(plain(value), ensure_ascii=False))  # true, not True
    text = "" if value is None else str(value)
    return visible(text, lines=True) if seen else text
