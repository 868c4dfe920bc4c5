"""The rows that a tablet's load is about, sampled, and the row that halves it."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from hbtable.model.ranges import RowRange
from hbtable.tablet.heat import READ, WRITE, Heat
from hbtable.tablet.splitting import halving_row

ALL = RowRange()
Chance = random.Random


def key(number: int) -> bytes:
    return b"%06d" % number


def even(chance: Chance) -> Iterator[int]:
    return (chance.randrange(1000) for _ in count())


def low(chance: Chance) -> Iterator[int]:
    return (int(1000 * chance.random() ** 3) for _ in count())


def two_rows(_chance: Chance) -> Iterator[int]:
    return (100 + 800 * (number % 2) for number in count())


def hot(part: float) -> Callable[[Chance], Iterator[int]]:
    return lambda chance: (500 if chance.random() < part else chance.randrange(1000) for _ in count())


def ascending(_chance: Chance) -> Iterator[int]:
    return count()


def descending(_chance: Chance) -> Iterator[int]:
    return (999_999 - number for number in count())


def sampled(rows: Iterator[int], chance: Chance, calls: int, expected: float) -> tuple[list[bytes], list[int]]:
    """The samples, and the numbers of the rows of all calls."""
    heat = Heat(chance)
    heat.begin(expected * (READ + 1))
    asked = [next(rows) for _ in range(calls)]
    for number in asked:
        heat.saw(READ, (key(number),))
    return heat.end(), asked


@pytest.mark.parametrize("load", [even, low, two_rows, hot(0.2)], ids=["even", "low", "two", "hot"])
@pytest.mark.parametrize("wrong", [0.1, 1, 10])
def test_the_row_leaves_about_half_of_all_requests_on_either_side(
    load: Callable[..., Iterator[int]], wrong: float
) -> None:
    """Also where there were more or fewer than was expected."""
    for seed in range(20):
        chance = random.Random(f"load {seed}")
        samples, asked = sampled(load(chance), chance, 3000, 3000 * wrong)
        if len(samples) < 32:
            assert wrong == 10
            continue
        row = halving_row(samples, ALL)
        if row is None:
            assert len(samples) < 100
            continue
        left = sum(1 for number in asked if key(number) < row) / len(asked)
        assert 0.3 < left < 0.7
        assert len(samples) <= 256


@pytest.mark.parametrize("load", [hot(0.8), hot(1), ascending, descending])
def test_there_is_none_where_it_would_relieve_nobody(load: Callable[..., Iterator[int]]) -> None:
    for seed in range(20):
        chance = random.Random(f"load {seed}")
        samples, _ = sampled(load(chance), chance, 3000, 3000)
        assert len(samples) >= 64
        assert halving_row(samples, ALL) is None


def test_it_lies_inside_of_the_tablet() -> None:
    samples = [b"a", b"b"] * 50
    assert halving_row(samples, ALL) == b"b"
    assert halving_row(samples, RowRange(b"a", b"c")) == b"b"
    assert halving_row(samples, RowRange(b"b", b"c")) is None
    assert halving_row(samples, RowRange(b"", b"b")) is None
    assert halving_row(samples[:30], ALL) is None, "too few to say"


def test_dear_calls_are_sampled_as_often_as_they_are_dear() -> None:
    heat = Heat(random.Random(1))
    heat.begin(100 * (READ + WRITE + 102))
    for _ in range(100):
        heat.saw(READ, [(b"read", [])])
        heat.saw(WRITE, frozenset((b"write",)))
        heat.saw(0, [(b"scan", [])] * 100)
    found = Counter(heat.end())
    work = {b"read": READ + 1, b"write": WRITE + 1, b"scan": 100}
    for row, of_it in work.items():
        assert abs(found[row] / found.total() - of_it / sum(work.values())) < 0.12
    assert heat.work == 100 * sum(work.values())


def test_nothing_is_kept_while_nobody_asks() -> None:
    heat = Heat(random.Random(1))
    heat.saw(READ, (b"a",))
    heat.begin(1)
    for _ in range(100):
        heat.saw(READ, (b"b",))
    assert set(heat.end()) == {b"b"}
    heat.saw(READ, (b"c",))
    assert heat.end() == []
