"""The qualifiers outside which a filter drops every cell: lets a reader go past the others of a wide row.

Of AND only the members up to the first that remembers cells count: that one must see what those behind it drop.
"""

from typing import Final

from hbtable.filters import expression as ex
from hbtable.model.ranges import RowRange, prefix_stop, single_row, successor

Spans = list[tuple[bytes, bytes]]
"""Half-open ranges of qualifiers, ascending, with gaps between; b"" as the end of one: no end."""

_MOST_SPANS: Final = 1000
"""More are not looked at: they are chosen by strangers, and sorted in one stretch."""
FORGETFUL: Final = (
    ex.KeyOnly, ex.Prefix, ex.InclusiveStop, ex.RowKey, ex.Page, ex.Timestamps, ex.Family, ex.Qualifier, ex.Value,
    ex.ColumnRange, ex.ColumnPrefix,
)  # fmt: skip
"""Filters that decide about a cell whatever cells came before it in the row."""


def column_bounds(expression: ex.Expression) -> list[Spans]:
    """A cell that passes lies within one span of each. Cells outside may be left out without asking the filter."""
    if isinstance(expression, ex.All):
        found = []
        for member in expression.members:
            spans = _spans_of(member)
            if spans is not None:
                found.append(spans)
            if not isinstance(member, FORGETFUL):
                break
        return found
    spans = _spans_of(expression)
    return [] if spans is None else [spans]


def _spans_of(expression: ex.Expression) -> Spans | None:
    """None: no bound is known. Nothing is said of SKIP and WHILE: a cell left out would no longer reject its row."""
    if isinstance(expression, ex.AnyOf):
        joined: Spans = []
        for member in expression.members:
            spans = None if isinstance(member, ex.AnyOf) else _spans_of(member)
            if spans is None:
                return None
            joined += spans
        return _apart(joined)
    if isinstance(expression, ex.ColumnPrefix):
        if len(expression.prefixes) > _MOST_SPANS:
            return None
        return _apart([(prefix, prefix_stop(prefix)) for prefix in expression.prefixes])
    if isinstance(expression, ex.ColumnRange):
        low, high = expression.minimum, expression.maximum
        return _apart([
            (low if expression.minimum_inclusive or not low else successor(low),
             successor(high) if high and expression.maximum_inclusive else high)
        ])  # fmt: skip
    if isinstance(expression, ex.ColumnValue):
        qualifier = expression.column.partition(b":")[2]
        return [(qualifier, successor(qualifier))]
    if isinstance(expression, ex.Qualifier):
        found = _comparison_range(expression.comparison)
        return None if found is None else _apart([(found.start, found.stop)])
    return None


def _apart(spans: Spans) -> Spans | None:
    """The same qualifiers in ascending spans with gaps between. None: they are too many."""
    if len(spans) > _MOST_SPANS:
        return None
    found: Spans = []
    for low, high in sorted(spans):
        if high and high <= low:
            continue
        if not found or (found[-1][1] and found[-1][1] < low):
            found.append((low, high))
        elif found[-1][1] and (not high or high > found[-1][1]):
            found[-1] = (found[-1][0], high)
    return found


def _comparison_range(comparison: ex.Comparison) -> RowRange | None:
    """The values that pass, or a range around them; None: no bound is known."""
    value, operator = comparison.value, comparison.operator
    if comparison.kind == "binary":
        after = successor(value)
        ranges = {"=": single_row(value), ">=": RowRange(value), ">": RowRange(after), "<=": RowRange(b"", after)}
    elif comparison.kind == "binaryprefix":
        after = prefix_stop(value)
        ranges = {"=": RowRange(value, after), ">=": RowRange(value), "<=": RowRange(b"", after)}
        if after:
            ranges[">"] = RowRange(after)
    else:
        return None
    if value:
        ranges["<"] = RowRange(b"", value)
    return ranges.get(operator)
