"""The five rights of HBase. Several of them are a number with a bit for each, as grants keep them.

None implies another: who may only administer a table reads nothing of it.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from hbtable.errors import InvalidRequest


class Action(IntEnum):
    """`value` is its bit. HBase's names."""

    READ = 1
    WRITE = 2
    EXEC = 4
    CREATE = 8
    ADMIN = 16


EVERY_ACTION: Final = 31
"""RWXCA."""

_LETTERS: Final = {"R": Action.READ, "W": Action.WRITE, "X": Action.EXEC, "C": Action.CREATE, "A": Action.ADMIN}


def actions_of(letters: str) -> int:
    """InvalidRequest for a letter that names none, and for no letter at all."""
    found = 0
    for letter in letters:
        action = _LETTERS.get(letter)
        if action is None:
            raise InvalidRequest(f"{letter!r} in {letters!r} is no permission; permissions are letters of RWXCA")
        found |= action
    if not found:
        raise InvalidRequest("a permission has at least one letter of RWXCA")
    return found


def letters_of(actions: int) -> str:
    """The letters of the actions, in the order R, W, X, C, A."""
    return "".join(letter for letter, action in _LETTERS.items() if actions & action)


def union(actions: Iterable[int]) -> int:
    """All of them together."""
    found = 0
    for one in actions:
        found |= one
    return found
