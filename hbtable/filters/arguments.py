"""The arguments of the single filters: how many, of which type, and what they must obey (docs/contract.md: filters).

Strings are quoted; numbers, true, false and operators are not.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple, final

from hbtable.errors import BadFilter
from hbtable.filters import expression as ex
from hbtable.filters.cel.language import Variable, source_of, variables_of
from hbtable.filters.comparators import KINDS, OPERATORS, check
from hbtable.model.values import shown

_SHOWN_BYTES: Final = 200
_MAX_INT: Final = 2**31 - 1
_MAX_LONG: Final = 2**63 - 1


class Argument(NamedTuple):
    """One argument: its bytes (quotes taken off), whether it was quoted, and where it begins."""

    text: bytes
    quoted: bool
    position: int


def as_text(part: bytes) -> str:
    """A part of a filter for a message: cut where it is very long."""
    text = part[:_SHOWN_BYTES].decode("latin-1")
    return text if len(part) <= _SHOWN_BYTES else f"{text}..."


def leaf_of(name: bytes, arguments: list[Argument], simple: bytes, position: int) -> ex.Leaf:
    """The filter called `name`; `simple` is its text from name to ')', for the message. BadFilter."""
    make = _FILTERS.get(name)
    if make is None:
        known = ", ".join(sorted(known.decode() for known in _FILTERS))
        raise BadFilter(
            f"Filter Name {as_text(name)} not supported (at byte {position}); the filters are {known}",
            position,
        )
    return make(_Arguments(arguments, simple, position))


@final
class _Arguments:
    """Takes arguments by place and type."""

    __slots__ = ("_arguments", "_position", "_simple")

    def __init__(self, arguments: list[Argument], simple: bytes, position: int) -> None:
        self._arguments = arguments
        self._simple = simple
        self._position = position

    def count(self, *allowed: int) -> int:
        found = len(self._arguments)
        if found not in allowed:
            wanted = " or ".join(map(str, allowed))
            raise self.error(f"{wanted} arguments are expected and {found} are given")
        return found

    def error(self, reason: str, place: int = -1) -> BadFilter:
        at = self._arguments[place].position if place >= 0 else self._position
        return self._error("Incorrect filter string", reason, at)

    def _error(self, kind: str, reason: str, at: int) -> BadFilter:
        simple = as_text(self._simple)
        if kind == "Incorrect filter string":
            return BadFilter(f"{kind} {simple}: {reason} (at byte {at})", at)
        return BadFilter(f"{kind}: {reason} in {simple} (at byte {at})", at)

    def string(self, place: int) -> bytes:
        argument = self._arguments[place]
        if not argument.quoted:
            raise self.error(f"{as_text(argument.text)!r} must be in single quotes", place)
        return argument.text

    def strings(self) -> list[bytes]:
        return [self.string(place) for place in range(len(self._arguments))]

    def integer(self, place: int, limit: int = _MAX_INT) -> int:
        """0 <= it <= limit."""
        argument = self._arguments[place]
        shown = as_text(argument.text)
        digits = argument.text.removeprefix(b"-")
        if argument.quoted or not digits.isdigit():
            hint = " (numbers are written without quotes)" if argument.quoted else ""
            raise self._error(
                "Byte Array should only contain digits", f"{shown!r} is no number{hint}", argument.position
            )
        # Compared by length first: int() of a megabyte of digits is slow, and refused by Python.
        significant = digits.lstrip(b"0")
        if len(significant) > 19 or int(significant or b"0") > limit:
            kind = "Integer Argument too large" if limit == _MAX_INT else "Long Argument too large"
            raise self._error(kind, f"{shown[:40]} is more than {limit}", argument.position)
        if digits is not argument.text and significant:
            raise self.error(f"{shown} is negative", place)
        return int(significant or b"0")

    def integers(self, limit: int) -> list[int]:
        return [self.integer(place, limit) for place in range(len(self._arguments))]

    def boolean(self, place: int) -> bool:
        argument = self._arguments[place]
        word = argument.text.lower()
        if argument.quoted or word not in (b"true", b"false"):
            raise self._error(
                "Incorrect Boolean Expression",
                f"{as_text(argument.text)!r} is neither true nor false (without quotes)",
                argument.position,
            )
        return word == b"true"

    def comparison(self, place: int, ordering_of_patterns: bool = False) -> ex.Comparison:
        """An operator at `place` and a comparator after it."""
        argument = self._arguments[place]
        operator = as_text(argument.text)
        if argument.quoted or operator not in OPERATORS:
            raise self._error(
                "Invalid compare operator",
                f"{operator!r} is none of {' '.join(OPERATORS)} (without quotes)",
                argument.position,
            )
        at = self._arguments[place + 1].position
        kind, colon, value = self.string(place + 1).partition(b":")
        if not colon:
            raise self._error("Incorrect comparator", f"{as_text(kind)!r} is not of the form 'type:value'", at)
        shown = as_text(kind)
        if shown not in KINDS:
            raise self._error("Incorrect comparatorType", f"{shown!r} is none of {', '.join(KINDS)}", at)
        if shown in ("regexstring", "substring") and operator not in ("=", "!=") and not ordering_of_patterns:
            raise self._error(
                "A regexstring comparator and substring comparator can only be used with EQUAL and NOT_EQUAL",
                f"{operator!r} stands with {shown}",
                argument.position,
            )
        comparison = ex.Comparison(operator, shown, value)
        try:
            check(comparison)  # a pattern that can't be used is refused here, not in the middle of a scan
        except ValueError as error:
            raise self._error("Incorrect comparator", str(error), at) from error
        return comparison

    def column(self) -> bytes:
        """Family and qualifier, the first two arguments."""
        return self.string(0) + b":" + self.string(1)


def _key_only(given: _Arguments) -> ex.Leaf:
    return ex.KeyOnly(given.count(0, 1) == 1 and given.boolean(0))


def _first_key_only(given: _Arguments) -> ex.Leaf:
    given.count(0)
    return ex.FirstKeyOnly()


def _multiple_column_prefix(given: _Arguments) -> ex.Leaf:
    prefixes = given.strings()
    if not prefixes:
        raise given.error("at least one prefix is expected")
    if len(set(prefixes)) < len(prefixes):
        raise given.error("a prefix is given twice")
    return ex.ColumnPrefix(tuple(prefixes))


def _one_string(make: Callable[[bytes], ex.Leaf]) -> Callable[[_Arguments], ex.Leaf]:
    def read(given: _Arguments) -> ex.Leaf:
        given.count(1)
        return make(given.string(0))

    return read


def _one_integer(make: Callable[[int], ex.Leaf], limit: int) -> Callable[[_Arguments], ex.Leaf]:
    def read(given: _Arguments) -> ex.Leaf:
        given.count(1)
        return make(given.integer(0, limit))

    return read


def _comparing(make: Callable[[ex.Comparison], ex.Leaf]) -> Callable[[_Arguments], ex.Leaf]:
    def read(given: _Arguments) -> ex.Leaf:
        given.count(2)
        return make(given.comparison(0))

    return read


def _column_pagination(given: _Arguments) -> ex.Leaf:
    given.count(2)
    return ex.ColumnPagination(given.integer(0), given.integer(1))


def _timestamps(given: _Arguments) -> ex.Leaf:
    return ex.Timestamps(frozenset(given.integers(_MAX_LONG)))


def _column_range(given: _Arguments) -> ex.Leaf:
    given.count(4)
    return ex.ColumnRange(given.string(0), given.boolean(1), given.string(2), given.boolean(3))


def _single_column_value(exclude: bool) -> Callable[[_Arguments], ex.Leaf]:
    def read(given: _Arguments) -> ex.Leaf:
        drop_if_missing, latest_only = False, True
        if given.count(4, 6) == 6:
            drop_if_missing, latest_only = given.boolean(4), given.boolean(5)
        return ex.SingleColumnValue(given.column(), given.comparison(2), drop_if_missing, latest_only, exclude)

    return read


def _dependent_column(given: _Arguments) -> ex.Leaf:
    count = given.count(2, 3, 5)
    comparison = given.comparison(3, ordering_of_patterns=True) if count == 5 else None
    return ex.DependentColumn(given.column(), count > 2 and given.boolean(2), comparison)


def _column_value(given: _Arguments) -> ex.Leaf:
    given.count(4)
    return ex.ColumnValue(given.column(), given.comparison(2))


def _cel(given: _Arguments) -> ex.Leaf:
    texts = given.strings()
    if not texts:
        raise given.error("an expression is expected")
    return _expression(given, 0, texts, ex.Cel)


def _cel_projection(given: _Arguments) -> ex.Leaf:
    column, *texts = given.strings() or (b"",)
    if not texts:
        raise given.error("a column and an expression are expected")
    if column.find(b":") <= 0:
        raise given.error(f"{shown(column)} is no column of the form 'family:qualifier'", 0)
    return _expression(given, 1, texts, partial(ex.CelProjection, column))


def _expression(
    given: _Arguments, place: int, texts: list[bytes], make: Callable[[str, tuple[Variable, ...]], ex.Leaf]
) -> ex.Leaf:
    try:
        return make(source_of(texts[0]), variables_of(texts[1:]))
    except ValueError as error:
        raise given.error(str(error), place) from error


_FILTERS: Final[dict[bytes, Callable[[_Arguments], ex.Leaf]]] = {
    b"KeyOnlyFilter": _key_only,
    b"FirstKeyOnlyFilter": _first_key_only,
    b"PrefixFilter": _one_string(ex.Prefix),
    b"ColumnPrefixFilter": _one_string(lambda prefix: ex.ColumnPrefix((prefix,))),
    b"MultipleColumnPrefixFilter": _multiple_column_prefix,
    b"ColumnCountGetFilter": _one_integer(ex.ColumnCountGet, _MAX_INT),
    b"PageFilter": _one_integer(ex.Page, _MAX_LONG),
    b"ColumnPaginationFilter": _column_pagination,
    b"InclusiveStopFilter": _one_string(ex.InclusiveStop),
    b"TimestampsFilter": _timestamps,
    b"RowFilter": _comparing(ex.RowKey),
    b"FamilyFilter": _comparing(ex.Family),
    b"QualifierFilter": _comparing(ex.Qualifier),
    b"ValueFilter": _comparing(ex.Value),
    b"ColumnRangeFilter": _column_range,
    b"SingleColumnValueFilter": _single_column_value(exclude=False),
    b"SingleColumnValueExcludeFilter": _single_column_value(exclude=True),
    b"DependentColumnFilter": _dependent_column,
    b"ColumnValueFilter": _column_value,
    b"CelFilter": _cel,
    b"CelProjectionFilter": _cel_projection,
}

CEL_FILTER_NAMES: Final = frozenset((b"CelFilter", b"CelProjectionFilter"))
"""Those with an expression, which decide on whole rows and cannot stand below SKIP."""
OWN_FILTER_NAMES: Final = CEL_FILTER_NAMES
"""Those that HBase has not: its list, which `show_filters` prints, is without them."""
FILTER_NAMES: Final = frozenset(_FILTERS) - OWN_FILTER_NAMES
"""HBase's."""
