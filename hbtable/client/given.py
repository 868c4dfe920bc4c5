"""Arguments as programs give them: texts stand for their UTF-8, as happybase sends them, and what is wrong is at once
an InvalidRequest and Python's TypeError or ValueError."""

from typing import Any, Final

from hbtable.errors import InvalidRequest, WrongType, WrongValue
from hbtable.model import values
from hbtable.model.values import LARGEST_I64, shown

_LONGEST_SECONDS: Final = 10**9
"""Thirty years: nobody means more, and the system's clocks can add it."""


def bytes_of(what: str, given: object) -> bytes:
    if type(given) is bytes:
        return given
    if isinstance(given, str):
        try:
            return str.encode(given)
        except UnicodeEncodeError:
            message = f"{what} {shown(given)} cannot be stored: it holds half of a surrogate pair"
            raise WrongValue(message) from None
    try:
        return values.own_bytes(what, given)
    except InvalidRequest as error:
        raise WrongType(f"{error}, or text, which is stored as UTF-8") from None


def whole_number(what: str, given: object, least: int, most: int) -> int:
    """Within both bounds."""
    if type(given) is int and least <= given <= most:
        return given
    try:
        return values.whole_number(what, given, least, most)
    except InvalidRequest as error:
        whole = hasattr(given, "__index__") and not isinstance(given, bool)
        raise (WrongValue if whole else WrongType)(str(error)) from None


def at_least_one(what: str, given: object) -> int:
    if type(given) is int and given < 1:
        raise WrongValue(f"{what} must be >= 1, not {shown(given)}")
    return whole_number(what, given, 1, LARGEST_I64)


def flag(what: str, given: object) -> bool:
    """True or False. The text 'false' would count as true, and None, [] and 0 as false."""
    if type(given) is bool:
        return given
    raise WrongType(f"{what} {shown(given)} is {type(given).__name__}, and has to be True or False")


def seconds(what: str, given: object) -> float:
    """At least 0, and finite."""
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise WrongType(f"{what} {shown(given)} is {type(given).__name__}, and has to be a number of seconds")
    if not 0 <= given <= _LONGEST_SECONDS:
        raise WrongValue(f"{what} {shown(given)} has to be from 0 to {_LONGEST_SECONDS} seconds")
    return float(given)


def members(what: str, given: object) -> list[Any]:
    try:
        return values.members(what, given)
    except InvalidRequest as error:
        raise WrongType(str(error)) from None
