"""Values of a parametrized test of which `make test-quick` takes some, and `make test` all."""

from collections.abc import Iterable
from itertools import islice

import pytest


def quick_first(values: Iterable[object], quick: int) -> list[object]:
    """`make test-quick` takes so many of them, from the front. `pytest PATH` takes all."""
    rest = iter(values)
    return [*islice(rest, quick), *(pytest.param(value, marks=pytest.mark.slow) for value in rest)]
