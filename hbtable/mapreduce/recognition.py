"""The marks by which a job is known again, so that a folder does not go on with another one's tasks.

Functions are known by their code, and by what they hold: defaults, variables of the functions around them, the state of
an object that is called. What they call is not looked at.
"""

import hashlib
import os
import pickle
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from hbtable.dataflow import WriteTarget
from hbtable.errors import InvalidRequest
from hbtable.model.values import shown

Marks = Mapping[str, str]
"""By the name of an argument, what it is known by; for messages, too."""
_SHOWN_DIGITS: Final = 16


def of_table(table: WriteTarget) -> str:
    place = table.place
    where = os.path.realpath(place.folder) if place.folder else f"{place.host}:{place.port}"
    return f"table {table.table.decode(errors='backslashreplace')} of {where}"


def of_files(files: Sequence[str]) -> str:
    """Their names, sizes and times of change."""
    found = hashlib.sha256()
    for file in files:
        status = os.stat(file)
        found.update(f"{file}\0{status.st_size}\0{status.st_mtime_ns}\0".encode(errors="surrogateescape"))
    return f"{len(files)} files, {_digits(found)}"


def of_function(name: str, function: object) -> str:
    """InvalidRequest: it holds what cannot be pickled, and so not compared."""
    if function is None:
        return "none"
    found = hashlib.sha256()
    try:
        _add(found, function, set())
        if isinstance(call := type(function).__call__, FunctionType):  # of an object of the program's
            _add(found, call, set())
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidRequest(
            f"the {name} holds what cannot be pickled, so a job with a 'work' folder could not be known again: {error}"
        ) from None
    inner = function.func if isinstance(function, partial) else function
    called = getattr(inner, "__qualname__", type(inner).__qualname__)
    return f"{getattr(inner, '__module__', '')}.{called}, {_digits(found)}"


def differing(before: Marks, now: Marks) -> str:
    """The arguments that are others than before, for a message; "" if there are none."""
    return ", ".join(
        f"{name!r} was {before.get(name, 'none')} and is {now.get(name, 'none')}"
        for name in (*now, *(name for name in before if name not in now))
        if before.get(name) != now.get(name)
    )


def of_columns(columns: Iterable[bytes] | None) -> str:
    return "all" if columns is None else ", ".join(shown(column) for column in sorted(columns))


def _digits(found: "hashlib._Hash") -> str:
    return f"#{found.hexdigest()[:_SHOWN_DIGITS]}"


def _add(found: "hashlib._Hash", value: Any, seen: set[int]) -> None:
    if isinstance(value, (FunctionType, MethodType, partial)):
        if id(value) in seen:  # it calls itself
            return
        seen.add(id(value))
    parts: Iterable[Any]
    if isinstance(value, FunctionType):
        held = [_content(cell) for cell in value.__closure__ or ()]
        parts = (value.__module__, value.__qualname__, value.__code__, value.__defaults__, value.__kwdefaults__, held)
    elif isinstance(value, MethodType):
        parts = (value.__func__, value.__self__)
    elif isinstance(value, partial):
        parts = (value.func, value.args, value.keywords)
    elif isinstance(value, CodeType):
        parts = (value.co_code, value.co_names, value.co_varnames, value.co_flags, value.co_consts)
    elif isinstance(value, (tuple, list)):
        parts = value
    elif isinstance(value, (set, frozenset)):  # in no order that lasts
        parts = sorted(_digest(one, seen) for one in value)
    elif isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, ModuleType):
        parts = (value.__name__,)
    else:
        found.update(pickle.dumps(value))
        return
    found.update(type(value).__name__.encode())
    for part in parts:
        found.update(_digest(part, seen))


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def _digest(value: Any, seen: set[int]) -> bytes:
    found = hashlib.sha256()
    _add(found, value, seen)
    return found.digest()
