r"""The output of commands, in the format of HBase's shell, byte for byte when standard output is no terminal.

    title    COLUMN  CELL          two columns: two blanks between; one: the word; more: a blank in front, single blanks
    row      ` key value`          a blank in front; a single column stands bare
    end      `3 row(s)`
On a terminal two columns are padded and wrapped: the first takes a quarter of the width. Whatever a terminal would obey
is shown as \xHH, also where no terminal is: somebody may look at the file (model/visible.py).
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Protocol, TextIO, final

from hbtable.model.visible import visible
from hbtable.shell.language.literals import Value, inspect

Record = Mapping[str, object]
"""A row for programs: names and values; bytes are encoded by the format."""


class Output(Protocol):
    """Calls come as begin, row..., end; say() for a line of text anywhere."""

    wants_records: bool
    """Rows for programs are looked at: make them."""
    values_are_answers: bool
    """The value of a command is its answer where it has no rows: shown by one-shot forms, too."""

    def begin(self, titles: Sequence[str]) -> None: ...
    def row(self, texts: Sequence[str], record: Record | None = None) -> None: ...
    def end(self, count: int | None) -> None:
        """`count` None: no footer."""

    def say(self, text: str) -> None:
        """Of several lines, perhaps. A name, a key or an attribute in it has gone through visible() or show_name()."""

    def note(self, text: str) -> None:
        """For people only, beside the answer."""

    def value(self, value: Value) -> None:
        """Shows the value of a statement; None shows nothing."""

    def failed(self) -> None:
        """The command ends in an error: what it began is no answer."""

    def took(self, seconds: float) -> None: ...
    def flush(self) -> None: ...


@final
class HBaseOutput:
    """Answers in the lines of HBase's shell. `width` 0: not a terminal."""

    wants_records = False
    values_are_answers = False

    def __init__(self, stream: TextIO, width: int = 0, notes: TextIO | None = None) -> None:
        self._stream = stream
        self._width = width
        self._notes = notes or sys.stderr

    def begin(self, titles: Sequence[str]) -> None:
        if len(titles) == 1:
            self.say(titles[0])
        elif len(titles) == 2 and self._width:
            self._wrapped(titles, "")
        elif len(titles) == 2:
            self.say("  ".join(titles))
        else:
            self.say(" " + " ".join(titles))

    def row(self, texts: Sequence[str], record: Record | None = None) -> None:
        texts = [visible(text) for text in texts]
        if len(texts) == 1:
            self._stream.write(f"{texts[0]}\n")
        elif len(texts) == 2 and self._width:
            self._wrapped(texts, " ")
        else:
            self._stream.write(f" {' '.join(texts)}\n")

    def end(self, count: int | None) -> None:
        if count is not None:
            self.say(f"{count} row(s)")

    def say(self, text: str) -> None:
        self._stream.write(f"{visible(text, lines=True)}\n")

    def note(self, text: str) -> None:
        self.flush()
        self._notes.write(f"{visible(text, lines=True)}\n")

    def value(self, value: Value) -> None:
        if value is not None:
            self.say(f"=> {inspect(value)}")

    def failed(self) -> None:
        """HBase's titles stay."""

    def took(self, seconds: float) -> None:
        self.say(f"Took {seconds:.4f} seconds")

    def flush(self) -> None:
        self._stream.flush()

    def _wrapped(self, texts: Sequence[str], inset: str) -> None:
        first = max(self._width // 4, 8)
        second = max(self._width - first - 3, 8)
        left, right = texts
        while left or right:
            self._stream.write(f"{inset}{left[:first]:<{first}} {right[:second]}".rstrip() + "\n")
            left, right = left[first:], right[second:]
            inset = inset or " "
