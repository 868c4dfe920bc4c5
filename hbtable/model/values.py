"""Checks of values, whichever way they came; InvalidRequest names the parameter and what was given.

Values are stored as `bytes` of their own. Whatever else has a buffer is refused: the length of an array of floats is
not its bytes, and a bytearray changes after its commit. Texts are refused because nobody knows their encoding.
"""

import operator
from collections.abc import Iterable, Mapping
from typing import Any, Final

from hbtable.errors import InvalidRequest

LARGEST_I32: Final = 2**31 - 1
LARGEST_I64: Final = 2**63 - 1
SMALLEST_I64: Final = -(2**63)
"""Thrift's clients and the files' formats hold no larger numbers."""

_SHOWN: Final = 80


def check_bytes(what: str, given: object) -> None:
    """Unless it is bytes and nothing derived from it: such a one may compare and convert in ways of its own."""
    if type(given) is not bytes:
        raise _not(what, given, "bytes")


def own_bytes(what: str, given: object) -> bytes:
    """`given` itself, or the bytes in an object of a class derived from bytes."""
    if type(given) is bytes:
        return given
    if isinstance(given, bytes):
        return memoryview(given).tobytes()
    raise _not(what, given, "bytes")


def whole_number(what: str, given: object, least: int, most: int) -> int:
    """Within both bounds. Any kind of integer but bool will do (numpy's, for example)."""
    if type(given) is not int:
        if isinstance(given, bool) or not hasattr(given, "__index__"):
            raise _not(what, given, "a whole number")
        given = operator.index(given)
    if not least <= given <= most:
        raise InvalidRequest(f"{what} {shown(given)} is out of range: it lies between {least} and {most}")
    return given


def check_text(what: str, given: object, most_bytes: int) -> int:
    """Checks a text and returns its length in bytes. It is stored as UTF-8, with surrogates only for bytes that are
    none."""
    if type(given) is not str:
        raise _not(what, given, "text")
    try:
        size = len(given.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        raise InvalidRequest(f"{what} {shown(given)} cannot be stored: it holds half of a surrogate pair") from None
    if size > most_bytes:
        raise InvalidRequest(f"{what} has {size} bytes, at most {most_bytes} can be")
    return size


def check_flag(what: str, given: object) -> None:
    """Unless it is True or False: the text 'false' would count as true."""
    if type(given) is not bool:
        raise _not(what, given, "True or False")


def members(what: str, given: object) -> list[Any]:
    """The members of a list, or of anything else that yields them. Not of a text or of bytes: those are one value."""
    if isinstance(given, (str, bytes, bytearray, memoryview)) or not isinstance(given, Iterable):
        raise _not(what, given, "a list")
    return list(given)


def check_mapping(what: str, given: object) -> None:
    if not isinstance(given, Mapping):
        raise _not(what, given, "a dict")


def _not(what: str, given: object, wanted: str) -> InvalidRequest:
    return InvalidRequest(f"{what} {shown(given)} is {_kind(given)}, and has to be {wanted}")


def _kind(given: object) -> str:
    return "None" if given is None else type(given).__name__


def shown(given: object) -> str:
    """The value for a message: as Python writes it, long ones cut. Never fails: what is shown is wrong already."""
    try:
        if isinstance(given, int):
            text = repr(given) if abs(given) < 10**_SHOWN else f"with more than {_SHOWN} digits"
        else:
            text = repr(given[:_SHOWN] if isinstance(given, (str, bytes, bytearray)) else given)
    except Exception:  # noqa: BLE001 - its own __repr__, or that of anything that it is made of
        text = "that cannot be shown"
    return text if len(text) <= 2 * _SHOWN else f"{text[: 2 * _SHOWN]}..."
