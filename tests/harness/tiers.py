"""Values of a parametrized test of which each tier takes some (docs/testing.md)."""

from collections.abc import Iterable
from typing import Final
from zlib import crc32

import pytest

from tests.harness.fresh_seed import fresh_examples, fresh_seed

TURNS: Final = 8
"""Of the values that take turns each `make verify` takes one in so many: others with each seed."""


def quick_first(values: Iterable[object], quick: int, short: int | None = None) -> list[object]:
    """`make test-quick` takes `quick` of them, from the front, and `make test` the first `short`, or all. Those beyond
    take turns. `pytest PATH` takes all."""
    every = list(values)
    slow = [pytest.param(value, marks=pytest.mark.slow) for value in every[quick:short]]
    return [*every[:quick], *slow, *([] if short is None else taking_turns(every[short:]))]


def taking_turns(values: Iterable[object], turns: int = TURNS) -> list[object]:
    """Of these `make verify` takes one in `turns`, by its seed, and `make turns` all."""
    return [pytest.param(value, marks=turn_marks(value, turns)) for value in values]


def generated(usual: int) -> int:
    """How many examples Hypothesis makes for a test: `usual` in `make verify`, others with each seed, and a quarter of
    them in `make test`, the same each time."""
    return usual if fresh_examples() else usual // 4


def turn_marks(value: object, turns: int = TURNS) -> list[pytest.MarkDecorator]:
    """Of one value that takes turns with others: for parameters that are made one by one."""
    is_its_turn = (crc32(repr(value).encode()) + fresh_seed()) % turns == 0
    return [pytest.mark.slow, pytest.mark.turns, *([pytest.mark.verify] if is_its_turn else [])]
