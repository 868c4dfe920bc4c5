"""Texts of `help`. A command's text and group are in its section of help/commands.txt (catalogue.py); groups.txt has
the groups in HBase's order, each with the commands of HBase's that hbtable does not have (absent.py).
"""

from functools import cache
from pathlib import Path
from typing import Final

from hbtable.shell import absent
from hbtable.shell.catalogue import ENTRIES
from hbtable.shell.version import version_line

_FOLDER: Final = Path(__file__).parent / "help"


def overview() -> str:
    return f"{header()}\n{groups_text()}\n\n{_read('usage')}".rstrip("\n")


def header() -> str:
    return (
        f"HBase Shell, version {version_line()}\n"
        "Type 'help \"COMMAND\"', (e.g. 'help \"get\"' -- the quotes are necessary) for help on a specific command.\n"
        "Commands are grouped. Type 'help \"COMMAND_GROUP\"', (e.g. 'help \"general\"') for help on a command group.\n"
    )


@cache
def groups() -> dict[str, list[str]]:
    """Name -> commands, in HBase's order."""
    found = {}
    for line in _read("groups").splitlines():
        group, _, others = line.partition(":")
        found[group] = sorted({*others.split(), *(name for name, entry in ENTRIES.items() if entry.group == group)})
    return found


def groups_text() -> str:
    parts = (f"  Group name: {name}\n  Commands: {', '.join(commands)}" for name, commands in groups().items())
    return "COMMAND GROUPS:\n" + "\n\n".join(parts)


def of_command(name: str) -> str | None:
    """None for what is no command."""
    if name in absent.REASONS:
        return f"{name} is not there: {absent.REASONS[name]}"
    entry = ENTRIES.get(name)
    return entry.text if entry else None


def _read(name: str) -> str:
    return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
