"""Help: texts of commands from help/*.txt, groups from help/groups.txt. A command of its own file, or a section
`== name` of commands.txt; one that has neither is described by its syntax alone.
"""

import re
from pathlib import Path
from typing import Final

from hbtable.shell import absent
from hbtable.shell.catalogue import ENTRIES
from hbtable.shell.errors import Incomplete, ShellError
from hbtable.shell.language.parser import parse
from hbtable.shell.version import version_line

_FOLDER: Final = Path(__file__).parent / "help"
_SAME: Final = {"debug?": "debug"}
_ALIASES: Final = {"desc": "describe"}


def overview() -> str:
    return f"{header()}\n{_read('groups')}{_read('usage')}".rstrip("\n")


def header() -> str:
    return (
        f"HBase Shell, version {version_line()}\n"
        "Type 'help \"COMMAND\"', (e.g. 'help \"get\"' -- the quotes are necessary) for help on a specific command.\n"
        "Commands are grouped. Type 'help \"COMMAND_GROUP\"', (e.g. 'help \"general\"') for help on a command group.\n"
    )


def groups() -> dict[str, list[str]]:
    """Name -> commands, in HBase's order."""
    found = {}
    for name, commands in re.findall(r"Group name: (.*)\n  Commands: (.*)", _read("groups")):
        found[name] = commands.split(", ")
    return found


def groups_text() -> str:
    return _read("groups").rstrip("\n")


def of_command(name: str) -> str | None:
    """None for what is no command."""
    name = _ALIASES.get(name, name)
    if name in absent.REASONS:
        return f"{name} is not there: {absent.REASONS[name]}"
    if name not in ENTRIES:
        return None
    own = _FOLDER / f"{name}.txt"
    if own.exists():
        return own.read_text(encoding="utf-8").rstrip("\n")
    return _sections().get(_SAME.get(name, name)) or f"{name}: no text"


def table_help_text() -> str:
    return _read("table_help").rstrip("\n")


def examples() -> list[tuple[str, str]]:
    """(command, example) of all texts, for tests and for the hint line. One may have several lines."""
    found = []
    for name in ENTRIES:
        lines = (of_command(name) or "").split("\n")
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


def _sections() -> dict[str, str]:
    parts = re.split(r"(?m)^== (\w+)\n", _read("commands"))
    return {name: body.rstrip("\n") for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def _read(name: str) -> str:
    return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
