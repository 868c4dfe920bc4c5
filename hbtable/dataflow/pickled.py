"""States of pickled objects, which a process of another release may read: a job's machines are upgraded one by one."""

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from hbtable.errors import WrongValue

Class = TypeVar("Class", bound=type)


def between_releases(cls: Class) -> Class:
    """Reads the states of a frozen dataclass with slots by set_state(). It stands above @dataclass, which before Python
    3.11.4 sets a __setstate__ of its own, whatever the class has."""
    setattr(cls, "__setstate__", set_state)  # noqa: B010  no attribute of every class
    return cls


def set_state(self: Any, state: Sequence[object]) -> None:
    """The __setstate__ of a frozen dataclass with slots: fields that an earlier release did not have get their
    defaults. WrongValue for a state of a later one, whose other fields may say what is to be read."""
    known = fields(self)
    if len(state) > len(known) or any(one.default is MISSING for one in known[len(state) :]):
        raise WrongValue(
            f"a pickled {type(self).__name__} has {len(state)} fields, and this release of hbtable knows {len(known)}: "
            "another one made it; install the same release on all machines of the job, and make new splits"
        )
    for place, one in enumerate(known):
        object.__setattr__(self, one.name, state[place] if place < len(state) else one.default)
