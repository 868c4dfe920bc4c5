"""The rows outside which a filter drops everything: lets a reader begin later and end sooner, never more than that."""

from hbtable.filters import expression as ex
from hbtable.model.ranges import RowRange, prefix_stop, single_row, successor


def row_range(expression: ex.Expression, is_reversed: bool = False) -> RowRange | None:
    """Ascending, also for a reversed scan. None: no bound is known. It may be empty.

    Rows outside may be left out without asking the filter. Nothing is said of an expression with WHILE: a row left out
    would no longer end the scan."""
    if _holds_while(expression):
        return None
    return _range_of(expression, is_reversed)


def _range_of(expression: ex.Expression, is_reversed: bool) -> RowRange | None:
    if isinstance(expression, ex.All):
        found: RowRange | None = None
        for member in expression.members:
            narrower = _range_of(member, is_reversed)
            if narrower is not None:
                found = narrower if found is None else found.intersect(narrower)
        return found
    if isinstance(expression, ex.AnyOf):
        return _hull([_range_of(member, is_reversed) for member in expression.members])
    if isinstance(expression, ex.Prefix) and expression.prefix:
        return RowRange(expression.prefix, prefix_stop(expression.prefix))
    if isinstance(expression, ex.InclusiveStop):
        return RowRange(expression.row) if is_reversed else RowRange(b"", successor(expression.row))
    if isinstance(expression, ex.RowKey):
        return comparison_range(expression.comparison)
    return None


def _hull(ranges: list[RowRange | None]) -> RowRange | None:
    start, stop = b"", b""
    for place, member in enumerate(ranges):
        if member is None:
            return None
        if place == 0:
            start, stop = member
        else:
            start = min(start, member.start)
            stop = max(stop, member.stop) if stop and member.stop else b""
    return RowRange(start, stop)


def comparison_range(comparison: ex.Comparison) -> RowRange | None:
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


def _holds_while(expression: ex.Expression) -> bool:
    if isinstance(expression, ex.All | ex.AnyOf):
        return any(_holds_while(member) for member in expression.members)
    if isinstance(expression, ex.Skip):
        return _holds_while(expression.member)
    return isinstance(expression, ex.While)
