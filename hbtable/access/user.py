"""A user: whoever proved to a gateway who he is, or whom another user may act for.

The user of a call belongs to the task that carries the call out, as its own context variable. Nothing has to be handed
down through functions that do not care, and one look-up says who it is. A task that is spawned begins without a user;
runtime.parallel hands the user on, because its tasks are parts of one call.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

from hbtable.errors import InvalidRequest
from hbtable.model.values import check_text

_MOST_ROOM: Final = 1 << 20
"""In bytes; the rule is narrower, and its message names it."""
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@/-]{0,127}")
NAME_RULE: Final = (
    "it has 1 to 128 letters of ASCII, digits and _ . @ / -, and begins with a letter, a digit or an underscore"
)


@dataclass(frozen=True, slots=True)
class User:
    """A name, and the groups that the configuration puts it into (without their @)."""

    name: str
    groups: frozenset[str] = frozenset()
    through: str = field(default="", compare=False)
    """The user who acts for this one, and has proved who he is. Empty: nobody else."""

    def is_one_of(self, names: frozenset[str]) -> bool:
        """Whether `names`, of users and @groups, has this user."""
        return self.name in names or any(f"@{group}" in names for group in self.groups)


_ACTING: Final[ContextVar[User | None]] = ContextVar("user", default=None)

acting_user: Final = _ACTING.get
"""The user for whom the calling task works. None: nobody outside, but this process itself, as when it flushes or
balances; or authentication is off."""


def act_as(user: User | None) -> None:
    """The calling task works for this user from now on."""
    _ACTING.set(user)


@contextmanager
def acting_as(user: User | None) -> Iterator[None]:
    """The calling task works for this user meanwhile."""
    token = _ACTING.set(user)
    try:
        yield
    finally:
        _ACTING.reset(token)


def check_name(name: str, what: str = "user") -> None:
    """InvalidRequest unless a user or a group may have this name."""
    check_text(f"the name of a {what}", name, _MOST_ROOM)
    if not _NAME.fullmatch(name):
        raise InvalidRequest(f"{name[:150]!r} is no name of a {what}: {NAME_RULE}")
