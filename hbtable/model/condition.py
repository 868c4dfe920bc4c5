"""The condition of a conditional write: what the row has to show before it is changed (HBase's CheckAndMutate)."""

from collections.abc import Callable, Sequence
from typing import Final

from hbtable.errors import InvalidRequest, WrongValue
from hbtable.model.cell import Cell
from hbtable.model.read import ReadSpec
from hbtable.model.values import check_bytes, shown

COMPARE: Final[dict[str, Callable[[bytes, bytes], bool]]] = {
    "=": lambda stored, given: stored == given,
    "!=": lambda stored, given: stored != given,
    "<": lambda stored, given: stored < given,
    "<=": lambda stored, given: stored <= given,
    ">": lambda stored, given: stored > given,
    ">=": lambda stored, given: stored >= given,
}
"""The stored value stands left of it."""
ANY_CELL: Final = ""
"""The operator of a condition that some cell meets by being there."""
ALWAYS: Final = "always"
"""The operator of no condition: of changes that are made of what the row holds, and not repeated by themselves."""


def comparison(operator: object) -> Callable[[bytes, bytes], bool]:
    """InvalidRequest."""
    if not isinstance(operator, str) or operator not in COMPARE:
        raise WrongValue(f"there is no comparison {shown(operator)}; there are {', '.join(COMPARE)}")
    return COMPARE[operator]


def check_condition(spec: ReadSpec, operator: str, value: bytes | None) -> None:
    """InvalidRequest. What the spec holds else is checked where it is read."""
    if spec.raw:
        raise InvalidRequest("a condition is about what a row shows: its read cannot be raw")
    if operator in (ANY_CELL, ALWAYS):
        if operator == ALWAYS and (spec.columns != {} or spec.filter is not None):
            raise InvalidRequest("a change that is always made reads nothing first: its read has no column, no filter")
        if value is not None:
            raise InvalidRequest(f"a condition without a comparison is about no value, and it has {shown(value)}")
        return
    comparison(operator)
    columns = list((spec.columns or {}).values())
    if len(columns) != 1 or columns[0] is None or len(columns[0]) != 1:
        raise InvalidRequest(f"the comparison {operator} is of one column: name its family and qualifier")
    if value is None and operator not in ("=", "!="):
        raise InvalidRequest(f"None has no order: compare it with '=' or '!=', not {operator!r}")
    if value is not None:
        check_bytes("the expected value", value)


def is_met(cells: Sequence[Cell], operator: str, value: bytes | None) -> bool:
    """Whether the row meets it whose `cells` the spec chose. A missing value meets "=" of None or b"" alone, and any
    value that is there meets "!=" None."""
    if operator == ANY_CELL:
        return bool(cells)
    if operator == ALWAYS:
        return True
    if not cells:
        return operator == "=" and not value
    stored = cells[0][2]
    if value is None:
        return operator == "!=" or not stored
    return COMPARE[operator](stored, value)
