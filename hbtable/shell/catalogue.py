"""All commands by name, as help/commands.txt declares them. No module is imported until its command is used, so that a
one-command shell loads one command.

A command's section in commands.txt begins with `== name | group | module.function | least..most`: its group in HBase's
help ("none": HBase's help does not list it; "language": it is a word of the shell's language), the function below
commands/ that carries it out (rows.get.get: `get` of rows/get.py), and how many arguments it takes; without `most`, any
number. What follows is the text that `help` shows. HBase's other commands are in absent.py.
"""

import importlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, final

from hbtable.shell import absent
from hbtable.shell.context import Context
from hbtable.shell.errors import ArgumentError
from hbtable.shell.language.literals import Value

Run = Callable[[Context, list[Value]], Value]


class Entry(NamedTuple):
    """One command. `most` -1: any number."""

    module: str
    function: str
    least: int
    most: int
    group: str
    text: str


_LANGUAGE: Final = "language"
_SECTION: Final = re.compile(r"(?m)^== (.+)\n")
_HEADER: Final = re.compile(r"(\S+) \| ([a-z ]+) \| ([\w.]+)\.(\w+) \| (\d+)\.\.(\d*)")


def sections(text: str) -> Iterator[tuple[str, Entry]]:
    """One without a text has the next one's. ValueError for one that is not complete."""
    waiting: list[str] = []
    pieces = _SECTION.split(text)
    for header, body in zip(pieces[1::2], pieces[2::2], strict=True):
        waiting.append(header)
        if body:
            for each in waiting:
                found = _HEADER.fullmatch(each)
                if found is None:
                    raise ValueError(
                        f"help/commands.txt: == {each}: say == name | group | module.function | least..most"
                    )
                name, group, module, function, least, most = found.groups()
                yield name, Entry(module, function, int(least), int(most) if most else -1, group, body.rstrip("\n"))
            waiting.clear()
    if waiting:
        raise ValueError(f"help/commands.txt: == {waiting[0]}: the section has no text")


ENTRIES: Final = dict(sections((Path(__file__).parent / "help" / "commands.txt").read_text(encoding="utf-8")))


@final
class Catalogue:
    """Looks commands up."""

    def knows(self, name: str) -> bool:
        return name in ENTRIES or name in absent.REASONS

    def names(self) -> list[str]:
        return sorted({*ENTRIES, *absent.REASONS})

    def is_language(self, name: str) -> bool:
        """A word of the shell's language, no command of HBase's: it has no Took line."""
        entry = ENTRIES.get(name)
        return entry is not None and entry.group == _LANGUAGE

    def find(self, name: str, given: int) -> Run:
        """ArgumentError for a wrong number of arguments."""
        entry = ENTRIES.get(name)
        if entry is None:
            return absent.refuse(name)
        if given < entry.least or (entry.most >= 0 and given > entry.most):
            raise ArgumentError(f"wrong number of arguments (given {given}, expected {_arity_text(entry)})")
        module = importlib.import_module(f"hbtable.shell.commands.{entry.module}")
        run: Run = getattr(module, entry.function)
        return run


def _arity_text(entry: Entry) -> str:
    if entry.most < 0:
        return f"{entry.least}+"
    return str(entry.least) if entry.least == entry.most else f"{entry.least}..{entry.most}"
