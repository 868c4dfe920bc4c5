"""The filter language as values: what a filter text says, nothing of how it is evaluated.

One class for each of HBase's 19 filters that its parser knows (their names without "Filter"; the two SingleColumnValue
filters share one), two of our own in CEL, and four that combine: All (AND), AnyOf (OR), Skip, While.
"""

from dataclasses import dataclass
from typing import NamedTuple

from hbtable.filters.cel.language import Variable


class Comparison(NamedTuple):
    """A cell part passes when `part operator value` holds in the sense of `kind`."""

    operator: str
    """One of < <= = != > >=."""
    kind: str
    """binary, binaryprefix, regexstring, substring."""
    value: bytes


@dataclass(frozen=True, slots=True)
class KeyOnly:
    """Every cell, its value replaced by nothing, or by its length in 4 bytes, big-endian."""

    length_as_value: bool = False


@dataclass(frozen=True, slots=True)
class FirstKeyOnly:
    """The first cell of each row."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """Rows that begin with it."""

    prefix: bytes


@dataclass(frozen=True, slots=True)
class ColumnPrefix:
    """Qualifiers that begin with one of these: ColumnPrefixFilter, MultipleColumnPrefixFilter."""

    prefixes: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class ColumnCountGet:
    """The first `limit` columns of each row."""

    limit: int


@dataclass(frozen=True, slots=True)
class Page:
    """The first `rows` rows of the whole scan."""

    rows: int


@dataclass(frozen=True, slots=True)
class ColumnPagination:
    """Passes `limit` columns of each row from the one numbered `offset`."""

    limit: int
    offset: int


@dataclass(frozen=True, slots=True)
class InclusiveStop:
    """Rows up to and including this one (down to it in a reversed scan)."""

    row: bytes


@dataclass(frozen=True, slots=True)
class Timestamps:
    """Cells of exactly these times."""

    millis: frozenset[int]


@dataclass(frozen=True, slots=True)
class RowKey:
    """RowFilter: rows whose key passes."""

    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Family:
    """Cells whose family passes."""

    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Qualifier:
    """Cells whose qualifier passes."""

    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Value:
    """Cells whose value passes."""

    comparison: Comparison


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """Qualifiers between two bounds; an empty bound is none."""

    minimum: bytes
    minimum_inclusive: bool
    maximum: bytes
    maximum_inclusive: bool


@dataclass(frozen=True, slots=True)
class SingleColumnValue:
    """Whole rows, by the value of one column; `exclude` leaves that column out of the answer."""

    column: bytes
    comparison: Comparison
    drop_if_missing: bool = False
    latest_version_only: bool = True
    exclude: bool = False


@dataclass(frozen=True, slots=True)
class DependentColumn:
    """Cells that share the time of a cell of `column` (which itself passes the comparison)."""

    column: bytes
    drop_dependent: bool = False
    comparison: Comparison | None = None


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """Only this column, and only when it passes."""

    column: bytes
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Cel:
    """Rows for which an expression in CEL gives true; not those that lack a column which it needs."""

    source: str
    variables: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class CelProjection:
    """Instead of the cells of each row one, whose value is that of an expression in CEL."""

    column: bytes
    source: str
    variables: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class All:
    """AND, in the order written; two members at least."""

    members: "tuple[Expression, ...]"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """OR, in the order written; two members at least."""

    members: "tuple[Expression, ...]"


@dataclass(frozen=True, slots=True)
class Skip:
    """Rows whose cells all pass the member."""

    member: "Expression"


@dataclass(frozen=True, slots=True)
class While:
    """Everything up to what the member rejects first; then the scan ends."""

    member: "Expression"


Leaf = (
    KeyOnly | FirstKeyOnly | Prefix | ColumnPrefix | ColumnCountGet | Page | ColumnPagination | InclusiveStop
    | Timestamps | RowKey | Family | Qualifier | Value | ColumnRange | SingleColumnValue | DependentColumn | ColumnValue
    | Cel | CelProjection
)  # fmt: skip
Expression = Leaf | All | AnyOf | Skip | While


def has_condition(expression: Expression) -> bool:
    """Whether there is a CelFilter in it."""
    if isinstance(expression, All | AnyOf):
        return any(map(has_condition, expression.members))
    if isinstance(expression, Skip | While):
        return has_condition(expression.member)
    return isinstance(expression, Cel)


def takes_rows_whole(expression: Expression) -> bool:
    """Whether it keeps all cells of a row or none, whatever they are."""
    if isinstance(expression, All | AnyOf):
        return all(map(takes_rows_whole, expression.members))
    if isinstance(expression, SingleColumnValue):
        return not expression.exclude
    return isinstance(expression, Cel | CelProjection | RowKey | Prefix)
