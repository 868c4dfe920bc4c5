"""The part of a filter that a scan can use: a range of rows, the columns that it reads, and those that it needs.

Arrow's filters can be looked into only as they are written for Substrait, a message of Protocol Buffers, of which this
reads the few fields that comparisons joined by AND have. All else counts as a condition that says nothing: DuckDB's
whole filter is applied to what was read, so too much may be read here, and never too little.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import pyarrow as pa

_MIRRORED: Final = {"gt": "lt", "gte": "lte", "lt": "gt", "lte": "gte", "equal": "equal"}
_Value = int | bytes
_Comparison = tuple[str, int, bytes | None]
"""The function, the field, and what it is compared with, if that is bytes."""


class Pushdown(NamedTuple):
    """A filter's conditions, as far as they are known."""

    start: bytes = b""
    """The first row that can pass."""
    stop: bytes | None = None
    """The row behind those that can pass."""
    fields: frozenset[int] | None = None
    """Those that the filter reads; None: perhaps all."""
    present: frozenset[int] = frozenset()
    """A row in which any of these is null cannot pass."""

    @property
    def passes_nothing(self) -> bool:
        return self.stop is not None and self.start >= self.stop


def pushdown(filter: Any, schema: pa.Schema) -> Pushdown:
    """`filter`: an Arrow expression, whose field 0 is the row, as bytes."""
    if filter is None:
        return Pushdown(fields=frozenset())
    try:
        message = bytes(filter.to_substrait(schema))
        functions, expression = _opened(message)
        fields = frozenset(_fields_of(expression))
        comparisons = list(_comparisons(expression, functions))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, _Strange):
        return Pushdown()
    start, stop = b"", None
    for function, field, value in comparisons:
        if field or value is None:
            continue
        if function in ("gt", "gte", "equal"):
            start = max(start, value + b"\0" if function == "gt" else value)
        if function in ("lt", "lte", "equal"):
            behind = value if function == "lt" else value + b"\0"
            stop = behind if stop is None else min(stop, behind)
    return Pushdown(start, stop, fields, _present(expression, functions))


# ---------------------------------------------------------------- Substrait


class _Strange(Exception):
    """Not the message that is known here."""


def _parts(message: bytes) -> Iterator[tuple[int, _Value]]:
    """The fields of a message of Protocol Buffers: number and value, bytes where it has a length."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        if tag & 7 == 0:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        if tag & 7 == 2:
            size, at = _varint(message, at)
        elif tag & 7 in (1, 5):
            size = 8 if tag & 7 == 1 else 4
        else:
            raise _Strange
        if at + size > len(message):
            raise _Strange
        yield tag >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message):
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    raise _Strange


def _inner(message: bytes, *path: int) -> bytes | None:
    """The message within the message, by the numbers of its fields; the last of each."""
    found: _Value | None = message
    for number in path:
        if not isinstance(found, bytes):
            return None
        found = dict(_parts(found)).get(number)
    return found if isinstance(found, bytes) else None


def _opened(message: bytes) -> tuple[Mapping[int, str], bytes]:
    """The functions by number, and the expression."""
    functions: dict[int, str] = {}
    for number, value in _parts(message):
        declared = _inner(value, 3) if number == 2 and isinstance(value, bytes) else None
        if declared is not None:
            told = dict(_parts(declared))
            name, anchor = told.get(3), told.get(2, 0)
            if isinstance(name, bytes) and isinstance(anchor, int):
                functions[anchor] = name.partition(b":")[0].decode()
    expression = _inner(message, 3, 1)
    if expression is None:
        raise _Strange
    return functions, expression


def _comparisons(expression: bytes, functions: Mapping[int, str]) -> Iterator[_Comparison]:
    """Those that all have to hold."""
    function, arguments = _called(expression, functions)
    if function == "and":
        for argument in arguments:
            yield from _comparisons(argument, functions)
    elif function in _MIRRORED and len(arguments) == 2:
        left, right = arguments
        if (field := _field(left)) is not None:
            yield function, field, _bytes(right)
        elif (field := _field(right)) is not None:
            yield _MIRRORED[function], field, _bytes(left)


def _present(expression: bytes, functions: Mapping[int, str]) -> frozenset[int]:
    """The fields of which a null does not pass."""
    function, arguments = _called(expression, functions)
    if function in ("and", "or"):
        of_each = [_present(argument, functions) for argument in arguments]
        return frozenset.union(*of_each) if function == "and" else frozenset.intersection(*of_each)
    if function in _MIRRORED or function in ("is_nan", "is_not_null"):  # DuckDB's comparisons let NaN pass
        return frozenset(field for argument in arguments if (field := _field(argument)) is not None)
    return frozenset()


def _called(expression: bytes, functions: Mapping[int, str]) -> tuple[str, list[bytes]]:
    """The function and its arguments; none, if it is no call, or one of something else."""
    call = _inner(expression, 3)
    if call is None:
        return "", []
    function = functions.get(dict(_parts(call)).get(1, 0))  # type: ignore[arg-type]  # bytes are never a key
    arguments = [_inner(value, 3) for number, value in _parts(call) if number == 4 and isinstance(value, bytes)]
    known = [argument for argument in arguments if argument is not None]
    return (function or "", known) if known and len(known) == len(arguments) else ("", [])


def _field(expression: bytes) -> int | None:
    """The number of a field of the schema; None: it is something else."""
    place = _inner(expression, 2, 1, 2)
    if place is None or len(list(_parts(expression))) != 1:
        return None
    number = dict(_parts(place)).get(1, 0)
    return number if isinstance(number, int) and 2 not in dict(_parts(place)) else None


def _bytes(expression: bytes) -> bytes | None:
    """The literal, if it is one of bytes."""
    literal = _inner(expression, 1)
    return None if literal is None else _inner(literal, 13)


def _fields_of(message: bytes) -> Iterator[int]:
    """Of all that the expression refers to, wherever. What only looks like a reference does no harm."""
    if (field := _field(message)) is not None:
        yield field
        return
    for _, value in _parts(message):
        if isinstance(value, bytes):
            try:
                found = list(_fields_of(value))
            except _Strange:  # a text, or bytes
                continue
            yield from found
