"""Requests for an aggregate of a scan's rows, in the place of the rows, and what the pages of one answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from hbtable.errors import InvalidRequest, WrongType, WrongValue
from hbtable.model.values import check_bytes, shown, whole_number

MOST_AGGREGATES: Final = 64
_LONGEST_GROUP: Final = 32_767
"""No row is longer."""

OF_ALL: Final = ("rows", "cells", "last")
OF_COLUMNS: Final = ("count", "distinct", "sum", "min", "max", "avg")
OF_NUMBERS: Final = ("sum", "min", "max", "avg")
WHOLE_NUMBERS: Final = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMBERS: Final = (*WHOLE_NUMBERS, "float", "double", "number")
"""Big-endian, as Table.to_arrow() reads them; `number`: a decimal number as text."""


class Aggregate(NamedTuple):
    """A number that is computed of a group's rows."""

    kind: str
    """`rows` or `cells` of the group, or its `last` row; `count` of a column's cells, estimated number of `distinct`
    values, `sum`, `min`, `max` or `avg` of its values."""
    family: bytes = b""
    qualifier: bytes | None = None
    """None: all columns of the family."""
    read_as: str = ""
    """One of NUMBERS, what the values are; "" where that does not matter."""


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Aggregates of all rows, or of each group of them. At most one of the ways to group is given."""

    aggregates: tuple[Aggregate, ...] = ()
    row_bytes: int = 0
    """Rows that begin with the same so many bytes are a group; shorter ones are one each."""
    row_delimiter: bytes = b""
    """Rows that are the same up to the first of these are a group; those without one are it up to their end."""
    by_column: bool = False
    """The cells of a column are a group. A row counts once in each."""


class AggregatedGroup(NamedTuple):
    """A group, and the state of each aggregate as JSON (aggregates.states). Those of the same key are merged."""

    key: bytes
    states: bytes


class AggregatedPage(NamedTuple):
    """The groups of a page's rows, in no order."""

    groups: Sequence[AggregatedGroup]
    size_bytes: int = 0
    """Of the rows, as model.read.bytes_of counts them; known where the tablet is."""


def check_aggregation(given: Aggregation) -> None:
    """InvalidRequest."""
    if not isinstance(given, Aggregation):
        raise WrongType(f"the aggregation {shown(given)} is {type(given).__name__}")
    if not 0 < len(given.aggregates) <= MOST_AGGREGATES:
        raise WrongValue(f"{len(given.aggregates)} aggregates are asked for: it is 1 to {MOST_AGGREGATES}")
    whole_number("the bytes of a row that make a group", given.row_bytes, 0, _LONGEST_GROUP)
    check_bytes("the delimiter of groups", given.row_delimiter)
    if (given.row_bytes > 0) + bool(given.row_delimiter) + given.by_column > 1:
        raise InvalidRequest("an aggregate is grouped in one way: by the first bytes of rows, a delimiter or columns")
    for one in given.aggregates:
        _check(one)


def _check(one: Aggregate) -> None:
    if one.kind in OF_ALL:
        return
    if one.kind not in OF_COLUMNS:
        raise WrongValue(f"there is no aggregate {shown(one.kind)}: it is one of {', '.join((*OF_ALL, *OF_COLUMNS))}")
    check_bytes("the family of an aggregate", one.family)
    if one.qualifier is not None:
        check_bytes("the qualifier of an aggregate", one.qualifier)
    if one.kind in OF_NUMBERS and one.read_as not in NUMBERS:
        raise WrongValue(
            f"values cannot be read as {shown(one.read_as)} for {one.kind}: it is one of {', '.join(NUMBERS)}"
        )
