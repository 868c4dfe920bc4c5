"""Runs programs on both sides, and says what differs."""

import itertools
import time
from typing import Any, Final

from hypothesis import HealthCheck, given
from hypothesis import seed as of_seed
from hypothesis import settings as hypothesis_settings

from tests.campaigns.difffuzz.thrift2.alphabet import PROGRAMS, WHOLE, Call
from tests.campaigns.difffuzz.thrift2.tables import Table

SETTINGS: Final = hypothesis_settings(
    deadline=None, database=None, report_multiple_bugs=False, suppress_health_check=list(HealthCheck)
)
_BETWEEN_CALLS_SECONDS: Final = 0.0012
"""Writes of one millisecond have one time, and a marker hides the put that comes behind it."""
_ERRORS: Final = ("TIOError", "TIllegalArgument", "TApplicationException")


def run_programs(hbase: Table, hbtable: Table, seed: int, programs: int) -> int:
    """The number of calls. AssertionError with the smallest program whose last call differs."""
    numbers, calls = itertools.count(), 0

    @of_seed(seed)
    @hypothesis_settings(SETTINGS, max_examples=programs)
    @given(program=PROGRAMS)
    def agree(program: list[Call]) -> None:
        nonlocal calls
        prefix = b"%010d" % next(numbers)
        for number, call in enumerate([*program, WHOLE]):
            calls += 1
            found, expected = hbtable.answer(prefix, call), hbase.answer(prefix, call)
            time.sleep(_BETWEEN_CALLS_SECONDS)
            text = "\n".join(map(repr, program[: number + 1]))
            assert is_equal_or_kinder(found, expected), f"{text}\nhbtable {found}\nHBase   {expected}"

    agree()
    return calls


def is_equal_or_kinder(found: Any, expected: Any) -> bool:
    """Kinder: an error of the interface for "Internal error", and no advice to try again what never helps (the rules
    bad-input and permanent-error of compat-tests/thrift2/deviations.json)."""
    if found == expected:
        return True
    if not (_is_error(found) and _is_error(expected)):
        return False
    permanent = found[0] == "TIllegalArgument" or found[:2] == ("TIOError", False)
    return permanent and (expected[0] == "TApplicationException" or expected == ("TIOError", True, found[-1]))


def _is_error(answer: Any) -> bool:
    return isinstance(answer, tuple) and bool(answer) and answer[0] in _ERRORS
