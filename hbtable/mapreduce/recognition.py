"""The marks by which a job is known again, so that a folder does not go on with another one's tasks.

Functions are known by their code, and by what they hold: defaults, variables of the functions around them, the state of
an object that is called, and the constants of their module that they read (numbers, text, bytes, tuples of these). What
they call is not looked at.
"""

import dis
import hashlib
import os
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, cast

from hbtable.dataflow import target
from hbtable.errors import InvalidRequest
from hbtable.library.table import Table
from hbtable.model.values import shown
from hbtable.switches import switches

Marks = Mapping[str, str]
"""By the name of an argument, what it is known by; for messages, too."""
_SHOWN_DIGITS: Final = 16
_CONSTANTS: Final = (int, float, complex, bool, str, bytes, type(None))
_READS: Final = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"))
_CHANGES: Final = frozenset(("STORE_GLOBAL", "DELETE_GLOBAL"))


@switches
def of_table(table: Table) -> str:
    """Its number is no other table's: one that was dropped and made anew, or truncated, has another. TableNotFound."""
    place = target(table).place
    where = os.path.realpath(place.folder) if place.folder else f"{place.host}:{place.port}"
    number = table.table.record().table_id
    return f"table {table.name.decode(errors='backslashreplace')} (number {number}) of {where}"


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
    if columns is None:
        return "all"
    names = sorted(columns)
    return f"{', '.join(map(shown, names))}, {_digits_of(names)}"


def of_prefix(prefix: bytes | None) -> str:
    return "none" if prefix is None else f"{shown(prefix)}, {_digits_of(prefix)}"


def _digits(found: "hashlib._Hash") -> str:
    return f"#{found.hexdigest()[:_SHOWN_DIGITS]}"


def _digits_of(value: object) -> str:
    """To stand beside what is shown, which is cut where it is long."""
    found = hashlib.sha256()
    _add(found, value, set())
    return _digits(found)


def _add(found: "hashlib._Hash", value: Any, seen: set[int]) -> None:
    if isinstance(value, (FunctionType, MethodType, partial)):
        if id(value) in seen:  # it calls itself
            return
        seen.add(id(value))
    parts: Iterable[Any]
    if isinstance(value, FunctionType):
        held = [_content(cell) for cell in value.__closure__ or ()]
        parts = (value.__module__, value.__qualname__, value.__code__, value.__defaults__, value.__kwdefaults__, held)
        parts = (*parts, *_constants(value))
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


def _constants(function: FunctionType) -> list[tuple[str, object]]:
    """The constants of its module that it reads, by name. What it changes is none."""
    code = list(_codes(function.__code__))
    read = {name for one in code for name in _names(one, _READS)}
    changed = {name for one in code for name in _names(one, _CHANGES)}
    held = function.__globals__
    return [(name, held[name]) for name in sorted(read - changed) if name in held and _is_constant(held[name])]


def _codes(code: CodeType) -> Iterator[CodeType]:
    """It, and those of the functions that are written in it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


def _names(code: CodeType, operations: frozenset[str]) -> Iterator[str]:
    return (one.argval for one in dis.get_instructions(code) if one.opname in operations)


def _is_constant(value: object) -> bool:
    if type(value) in (tuple, frozenset):
        return all(map(_is_constant, cast("Iterable[object]", value)))
    return type(value) in _CONSTANTS


def _digest(value: Any, seen: set[int]) -> bytes:
    found = hashlib.sha256()
    _add(found, value, seen)
    return found.digest()
