"""Prompts and echoed lines of a script (`--echo`), as HBase's shell prints them: `hbase:LINE:DEPTH>` before a line that
begins a statement, `*` instead of `>` before one that continues it, and no prompt before a closing bracket."""

from typing import Final, TextIO, final

from hbtable.shell.errors import ShellError
from hbtable.shell.language.tokens import tokenize

_OPENING: Final = ("(", "[", "{")
_CLOSING: Final = (")", "]", "}")


@final
class Echo:
    """Counts the lines."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lines = 0

    def line(self, before: str, line: str) -> None:
        """`before`: what has been read of the statement that `line` goes on with; "" when it begins one."""
        self._lines += 1
        if before and line.lstrip().startswith(_CLOSING):
            self._stream.write(f"{line}\n")
        else:
            self._stream.write(f"hbase:{self._lines:03d}:{_depth(before)}{'*' if before else '>'} {line}\n")

    def end(self) -> None:
        """After the last line: a prompt that nobody answers."""
        self._stream.write(f"hbase:{self._lines + 1:03d}:0> \n")


def _depth(text: str) -> int:
    """Brackets that are open at the end of `text`."""
    try:
        kinds = [token.kind for token in tokenize(text)]
    except ShellError:
        return 0  # inside a string
    return sum(kind in _OPENING for kind in kinds) - sum(kind in _CLOSING for kind in kinds)
