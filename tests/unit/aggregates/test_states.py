"""States of aggregates beside plain Python, however the values were divided and merged."""

import json
import math
from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hbtable.aggregates.distinct import FEW, Distinct
from hbtable.aggregates.states import state_of
from hbtable.aggregates.values import NoNumber, numbers
from hbtable.model.aggregation import Aggregate
from tests.harness.tiers import generated

FLOATS = st.floats(width=64)
PARTS = st.lists(st.lists(FLOATS, max_size=5), max_size=4)


def result(kind: str, read_as: str, parts: list[list[Any]]) -> Any:
    """Of a state that is merged of one for each part, told as JSON."""
    aggregate = Aggregate(kind, b"f", b"q", read_as)
    whole = state_of(aggregate)
    for part in parts:
        state = state_of(aggregate)
        state.add(part)
        whole.merge(json.loads(json.dumps(state.told())))
    return whole.result()


def rounded(value: Fraction) -> float:
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def same(one: Any, other: Any) -> bool:
    return one == other or (isinstance(one, float) and isinstance(other, float) and one != one and other != other)


@given(PARTS)
def test_totals_of_floats_are_exact(parts: list[list[float]]) -> None:
    values = [value for part in parts for value in part]
    finite = [value for value in values if math.isfinite(value)]
    total: Any = None
    average: Any = None
    if values and len(finite) == len(values):
        total = rounded(sum(map(Fraction, values), Fraction(0)))
        average = rounded(sum(map(Fraction, values), Fraction(0)) / len(values))
    elif values:
        total = average = sum(value for value in values if not math.isfinite(value))
    assert same(result("sum", "double", parts), total)
    assert same(result("avg", "double", parts), average)
    numbers_only = [value for value in values if value == value]
    assert result("min", "double", parts) == min(numbers_only, default=None)
    assert result("max", "double", parts) == max(numbers_only, default=None)


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5), max_size=4))
def test_totals_of_whole_numbers_are_whole(parts: list[list[int]]) -> None:
    values = [value for part in parts for value in part]
    for read_as in ("int64", "number"):
        found = result("sum", read_as, parts)
        assert found == (sum(values) if values else None)
        assert type(found) is (int if values else type(None))
        assert result("avg", read_as, parts) == (sum(values) / len(values) if values else None)
    assert result("count", "", parts) == len(values)


def test_one_rounding_is_none_of_many() -> None:
    assert result("sum", "double", [[1e308, 1.0], [1e308], [-1e308, -1e308]]) == 1.0
    assert result("sum", "double", [[1e308], [1e308]]) == math.inf
    assert result("avg", "double", [[1e308], [1e308]]) == 1e308
    assert result("sum", "double", [[0.1] * 10]) == math.fsum([0.1] * 10) == 1.0
    assert result("sum", "double", [[5e-324], [5e-324]]) == 1e-323


def test_numbers_as_text() -> None:
    given_ = [b"7", b"-3", b"+2.5", b".5", b"1.", b"1e3", b"12345678901234567890123"]
    assert list(numbers(given_, "number")) == [7, -3, 2.5, 0.5, 1.0, 1000.0, 12345678901234567890123]
    for wrong in (b"", b" 1", b"1_0", b"nan", b"0x1", b"1e999", b"1e9999", b"\xff", b"1" * 65, "٣".encode()):
        with pytest.raises(NoNumber) as raised:
            numbers([b"1", wrong], "number")
        assert raised.value.value == wrong


@pytest.mark.parametrize("kind", ["min", "max"])
@pytest.mark.parametrize("values", [[-0.0, 0.0], [0, 0.0, -0.0], [1, 1.0], [-2.0, -2]])
def test_of_equal_numbers_it_is_always_the_same(kind: str, values: list[Any]) -> None:
    read_as = "double" if all(isinstance(value, float) for value in values) else "number"
    orders = list(permutations(values))
    found = {
        repr(result(kind, read_as, parts)) for one in orders for parts in ([list(one)], [[value] for value in one])
    }
    assert len(found) == 1


@pytest.mark.parametrize("told", [None, -1, True, "x", 1.5, [1, "zz", 0], [1, 2], "q", "fAA==", "r", {}])
def test_what_is_no_state_is_refused(told: Any) -> None:
    for kind in ("rows", "sum", "distinct", "min"):
        if kind == "min" and told is None:
            continue
        with pytest.raises((ValueError, TypeError)):
            state_of(Aggregate(kind, b"f", b"q", "int64")).merge(told)


@pytest.mark.parametrize("count", [0, 1, FEW, FEW + 1, 2000, 5000, 10_000, 20_000, 50_000, 300_000])
def test_distinct_values_are_estimated(count: int) -> None:
    """Six standard errors: values are fixed, so this is no game of chance."""
    distinct = Distinct()
    distinct.add([b"value%d" % number for number in range(count)] * 2)
    if count <= FEW:
        assert distinct.result() == count
    else:
        assert abs(distinct.result() - count) < 0.05 * count


@settings(max_examples=generated(100), deadline=None)
@given(st.lists(st.integers(0, 2000), max_size=6), st.randoms(use_true_random=False))
def test_a_sketch_is_the_same_in_any_order(sizes: list[int], random: Any) -> None:
    values = [b"%d" % random.randrange(3000) for size in sizes for _ in range(size)]
    whole, merged = Distinct(), Distinct()
    whole.add(values)
    parts = [values[at::3] for at in range(3)]
    random.shuffle(parts)
    for part in parts:
        one = Distinct()
        one.add(part)
        merged.merge(one.told())
    assert merged.told() == whole.told()
    if len(set(values)) <= FEW:
        assert merged.result() == len(set(values))
