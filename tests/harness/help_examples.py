"""The examples in the help of the shell's commands."""

from hbtable.shell.catalogue import ENTRIES
from hbtable.shell.errors import Incomplete, ShellError
from hbtable.shell.language.parser import parse


def examples() -> list[tuple[str, str]]:
    """(command, example) of all texts of the help. An example may have several lines."""
    found = []
    for name, entry in ENTRIES.items():
        lines = entry.text.split("\n")
        for place, line in enumerate(lines):
            prompt, mark, text = line.partition("hbase> ")
            if mark and not prompt.strip():
                found.append((name, _whole(text.strip(), lines[place + 1 :])))
    return found


def _whole(first: str, following: list[str]) -> str:
    """With the lines that complete it."""
    text = first
    for line in following:
        try:
            parse(text)
            break
        except Incomplete:
            text += f"\n{line}"
        except ShellError:
            break  # HBase's own text has an example with a comma too few
    return text
