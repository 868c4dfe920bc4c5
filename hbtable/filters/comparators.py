"""Comparisons as callables: from what the filter says to `test(part) -> bool` (docs/contract.md: comparators).

binary          unsigned bytes, as a whole
binaryprefix    the same over the first len(value) bytes of the part
substring       contained, both lower-cased as text (UTF-8; bytes that are no UTF-8 count as U+FFFD)
regexstring     found anywhere (patterns.py)

substring and regexstring know only "found" (0) and "not found" (1), as HBase; with an ordering operator, which only
DependentColumnFilter lets through, `<` is "not found", `>=` is "found", `<=` always holds and `>` never.
"""

from typing import Final

from hbtable.filters.asking import PartsOf
from hbtable.filters.expression import Comparison
from hbtable.filters.searching import Searches, Test, here

OPERATORS: Final = ("<", "<=", "=", "!=", ">", ">=")
KINDS: Final = ("binary", "binaryprefix", "regexstring", "substring")


def check(comparison: Comparison) -> None:
    """ValueError, saying why, for a pattern that can't be used."""
    test_of(comparison, Searches(here, lambda: None), lambda row, cells: ())


def test_of(comparison: Comparison, searches: Searches, parts_of: PartsOf) -> Test:
    """`parts_of` a row is what the test will be called with. ValueError as check()."""
    if comparison.kind == "binary":
        return _compared(comparison.operator, comparison.value)
    if comparison.kind == "binaryprefix":
        compared = _compared(comparison.operator, comparison.value)
        length = len(comparison.value)
        return lambda part: compared(part[:length])
    search = searches.regex if comparison.kind == "regexstring" else searches.substring
    found = search(comparison.value, parts_of)
    if comparison.operator in ("=", ">="):
        return found
    if comparison.operator in ("!=", "<"):
        return lambda part: not found(part)
    return lambda part: comparison.operator == "<="


def _compared(operator: str, value: bytes) -> Test:
    # Bound C methods: `part < value` is value.__gt__(part). A part is always bytes, so NotImplemented can't come back.
    tests: dict[str, Test] = {
        "<": value.__gt__,
        "<=": value.__ge__,
        "=": value.__eq__,
        "!=": value.__ne__,
        ">": value.__lt__,
        ">=": value.__le__,
    }
    return tests[operator]
