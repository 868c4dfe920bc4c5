r"""Sends an answer into a file or through a command instead of to the terminal.

scan 't1' > file       into a new file; >> file appends to one, >! file replaces one
scan 't1' |! grep x    through a command of the system's shell

Only a sign outside strings, brackets and comments counts, behind one whole command that the shell knows: data and
Ruby's blocks (`list.each do |t|`) hold the same signs, and must never become a file or a process.
"""

import os
import re
import shlex
from collections.abc import Callable
from typing import Final, NamedTuple

from hbtable.shell.errors import ArgumentError, ShellError
from hbtable.shell.language.parser import parse
from hbtable.shell.language.syntax import Call
from hbtable.shell.language.tokens import first_outside

_SIGN: Final = re.compile(r"(>>|>!|>|\|!|\|)\s*")
_FILE: Final = re.compile(r"""(?:'([^'\n]+)'|"([^"\\\n]+)"|([^\s'"<>|&;()#]+))\s*(?:\#.*)?""")


class Redirection(NamedTuple):
    """The redirection of an answer. `sign` is > (a new file), >>, >! or |! (`target` is a command)."""

    command: str
    sign: str
    target: str


def redirection(text: str, knows: Callable[[str], bool]) -> Redirection | None:
    """None: there is none, the text is the language's business. ArgumentError when what follows the sign is no target.

    `knows` tells the names of commands.
    """
    at = _place(text)
    if at is None or not _is_command(text[:at], knows):
        return None
    found = _SIGN.match(text, at)
    sign = found.group(1) if found is not None else ""
    target = text[found.end() :].strip() if found is not None else ""
    if sign == "|":
        raise ArgumentError("a command of the system is called by |! and not by |: scan 't1' |! grep x")
    return Redirection(text[:at], sign, _command(target) if sign == "|!" else _file(sign, target))


def command_part(text: str, knows: Callable[[str], bool]) -> str:
    """The part of a text that belongs to the language, without a redirection: an open quote behind its sign does not
    count."""
    at = _place(text)
    return text if at is None or not _is_command(text[:at], knows) else text[:at]


def _place(text: str) -> int | None:
    try:
        return first_outside(text, ">|")
    except ShellError:
        return None  # the language tells what is wrong with it


def _is_command(text: str, knows: Callable[[str], bool]) -> bool:
    """One command, whole."""
    try:
        statements = parse(text)
    except ShellError:
        return False
    if len(statements) != 1 or not isinstance(statements[0], Call):
        return False
    return statements[0].receiver is None and knows(statements[0].name)


def _file(sign: str, target: str) -> str:
    found = _FILE.fullmatch(target)
    if found is None:
        raise ArgumentError(
            f"behind {sign} belongs the name of one file, in quotes if it holds blanks: list {sign} tables.txt"
        )
    quoted = found.group(1) or found.group(2)
    return quoted or os.path.expanduser(found.group(3))


def _command(target: str) -> str:
    try:
        words = shlex.split(target, comments=True)
    except ValueError as error:
        raise ArgumentError(f"the command behind |! cannot be read: {error}") from None
    if not words or "\n" in target:
        raise ArgumentError("behind |! belongs one command of the system, on the same line: scan 't1' |! grep x")
    return target
