"""Required fields of Thrift2 that were not sent.

They are found out when a struct is made, and refused when the call begins: the whole message is read by then, so that
the connection can go on. HBase's own server leaves the rest of such a call unread, and the next one hangs.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hbtable.errors import InvalidRequest


class MissingField(InvalidRequest):
    """A required field is missing. It is answered as Thrift's own libraries answer it: by a TApplicationException of
    code 7."""


class Missing(NamedTuple):
    """Stands in the place of a struct, or of whatever it is part of."""

    struct: str
    field: str


def checked(make: Callable[..., Any], name: str, required: Sequence[tuple[int, str]]) -> Callable[..., Any]:
    """`make` for structs that are whole. `required` are places and names of fields."""

    def made(*values: Any) -> Any:
        return _first_missing(name, required, values) or make(*values)

    return made


def refuse_missing(name: str, required: Sequence[tuple[int, str]], values: Sequence[Any]) -> None:
    """Raises MissingField for the first required field that the arguments of a call lack."""
    missing = _first_missing(name + "_args", required, values)
    if missing is not None:
        raise MissingField(f"Required field '{missing.field}' was not present! Struct: {missing.struct}")


def _first_missing(name: str, required: Sequence[tuple[int, str]], values: Sequence[Any]) -> Missing | None:
    for place, field in required:
        if values[place] is None:
            return Missing(name, field)
    for value in values:
        if type(value) is Missing:
            return value
        if isinstance(value, list | dict):
            for one in value.values() if isinstance(value, dict) else value:
                if type(one) is Missing:
                    return one
    return None
