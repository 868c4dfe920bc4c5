"""SortedKeys against a plain sorted list."""

import random
from bisect import bisect_left

import pytest

from hbtable.memtable.sorted_keys import SortedKeys


def expected_between(keys: list[bytes], start: bytes, stop: bytes, limit: int) -> list[bytes]:
    return [key for key in keys if start <= key and (not stop or key < stop)][:limit]


def expected_before(keys: list[bytes], stop: bytes, count: int) -> bytes | None:
    end = bisect_left(keys, stop) if stop else len(keys)
    return keys[max(end - count, 0)] if end else None


def test_empty() -> None:
    keys = SortedKeys()
    assert keys.between(b"", b"", 5) == []
    assert keys.between(b"a", b"b", 5) == []
    assert keys.before(b"", 3) is None
    assert keys.before(b"a", 1) is None


def test_agrees_with_a_sorted_list_over_many_splits() -> None:
    chance = random.Random(7)
    universe = [b"%06d" % number for number in range(0, 40_000, 2)]
    chance.shuffle(universe)
    keys = SortedKeys()
    model: list[bytes] = []
    for begin in range(0, len(universe), 500):
        batch = universe[begin : begin + 500]
        keys.add(batch)
        model = sorted(model + batch)
        for _ in range(20):
            start = b"%06d" % chance.randrange(41_000)
            stop = chance.choice([b"", b"%06d" % chance.randrange(41_000), start[:-1] + b"9"])
            limit = chance.choice([1, 14, 15, 16, 64, 1024, 10**6])
            assert keys.between(start, stop, limit) == expected_between(model, start, stop, limit)
            count = chance.choice([1, 2, 700, 5000, 10**6])
            assert keys.before(stop, count) == expected_before(model, stop, count)


@pytest.mark.parametrize("seed", range(20))
def test_many_at_once_are_as_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    universe = [b"%06d" % number for number in range(30_000)]
    if seed % 2:
        chance.shuffle(universe)
    keys = SortedKeys()
    model: list[bytes] = []
    while universe:
        count = chance.choice([0, 1, 5, 100, 1023, 1024, 1025, 5000])
        batch, universe = universe[:count], universe[count:]
        if chance.random() < 0.2:
            keys.add(batch)
        else:
            keys.add_many(batch)
        model = sorted(model + batch)
        assert keys.between(b"", b"", 10**6) == model
        start, limit = b"%06d" % chance.randrange(31_000), chance.choice([1, 15, 1024])
        assert keys.between(start, b"", limit) == expected_between(model, start, b"", limit)
        assert keys.before(start, limit) == expected_before(model, start, limit)


def test_ascending_and_descending_arrival() -> None:
    numbers = [b"%05d" % number for number in range(5000)]
    for arrival in (numbers, numbers[::-1]):
        keys = SortedKeys()
        for key in arrival:
            keys.add((key,))
        assert keys.between(b"", b"", 10**6) == numbers
