"""Values of a parametrized test, and long tests, of which each tier takes some (docs/testing.md)."""

import re
from collections.abc import Callable, Iterable
from typing import Final, TypeVar
from zlib import crc32

import pytest

from tests.harness.fresh_seed import fresh_examples, fresh_seed, takes_all

Test = TypeVar("Test", bound=Callable[..., object])

TURNS: Final = 8
"""Of the values that take turns each `make verify` takes one in so many: others with each seed."""

SHIFTS: Final = 6
"""Of the long tests below each `make verify` takes one in so many."""

LONG: Final = {
    "12,000 tablets": 100,
    "30,000 flights out and in": 50,
    "each kind of damage to a cluster": 45,
    "30,000 flights": 35,
    "each kind of damage to a store": 30,
    "random calls and flushes of one server": 35,
    "a full disk behind a kill -9": 25,
    "Spark": 40,
    "a warning of what a kill leaves": 18,
    "each holder of rights by Thrift2": 16,
    "plans for a million tablets: nothing_to_do": 16,
    "plans for a million tablets: a_tenth_stops": 14,
    "plans for a million tablets: a_tenth_leaves": 11,
    "plans for a million tablets: start_of_all": 10,
    "plans for a million tablets: death_of_a_tenth": 9,
    "plans for a million tablets: new_servers": 9,
    "gunicorn that loads before it forks": 12,
    "patterns that wear a database out": 11,
    "hbtable bench with servers of its own": 10,
    "a lie in each method": 10,
    "random Thrift2 calls beside a real HBase": 40,
    "earth on Dask": 9,
    "earth in processes": 9,
    "personalized search in processes": 9,
    "webtable in processes": 9,
    "a handler opens again at each step": 9,
    "hours of load": 5,
    "a folder of one server, of three and of a program": 8,
    "a load far beyond all limits": 7,
    "two right servers beside clients that race": 6,
    "steady clients with large rows": 5,
    "analytics on Dask": 8,
    "personalized search on Dask": 8,
    "webtable on Dask": 8,
    "random calls to two servers": 8,
    "a bug that random calls find": 8,
    "the second worker of gunicorn": 4,
    "gunicorn that opens before it forks": 4,
    "the watcher of flask": 4,
    "the watcher of django": 4,
    "workers of Celery that share the folder": 4,
    "workers of pytest": 4,
}
"""Tests too long for each run of CI, with about the seconds of the processor that each takes. They spread over SHIFTS
parts, of which none takes much longer than another."""

LONG_ON_CLUSTERS: Final = {
    "quotas of a cluster": 50,
    "a user's quota at every door": 50,
    "a pipeline that shrank": 49,
    "a protected ZooKeeper": 48,
    "everything was killed": 46,
    "a server out of service": 46,
    "a server that nobody reaches": 42,
    "a key role by role": 37,
    "a cluster stopped or killed": 33,
    "ZooKeeper away for long": 32,
    "a cluster with users by its page": 31,
    "users at every gateway": 28,
    "a folder of thousands": 25,
    "one that may not give up": 25,
    "compactions, caches and garbage of all servers": 30,
    "a role without the digest": 30,
    "one of two gateways stops": 28,
    "no way to the files": 26,
    "a tablet server that everything left": 22,
    "an operator's wrong key": 18,
}
"""The same in `make cluster-test-waiting`, with the seconds that each took beside others."""

LONG_ALONE: Final = {"zombies": 72, "a member of ZooKeeper lost": 59}
"""The same in `make cluster-test-alone`."""


def quick_first(values: Iterable[object], quick: int, short: int | None = None) -> list[object]:
    """`make test-quick` takes `quick` of them, from the front, and `make test` the first `short`, or all. Those beyond
    take turns. `pytest PATH` takes all."""
    every = list(values)
    slow = [pytest.param(value, marks=pytest.mark.slow) for value in every[quick:short]]
    return [*every[:quick], *slow, *([] if short is None else taking_turns(every[short:]))]


def one_in(step: int, values: Iterable[object]) -> list[object]:
    """Of a sweep `make test` takes one value in `step`, from all over it, and the others take turns over as many runs
    of `make verify`. `pytest PATH` takes all."""
    every = list(values)
    others = iter(taking_turns([value for place, value in enumerate(every) if place % step], step))
    return [next(others) if place % step else value for place, value in enumerate(every)]


def taking_turns(values: Iterable[object], turns: int = TURNS) -> list[object]:
    """Of these `make verify` takes one in `turns`, by its seed, and `make turns` all. Each seed takes as many as any
    other, or one more. Parameters that pytest.param made keep their marks and ids."""
    every = list(values)
    first = _hash(every)  # else the first of each family would all have the same turn
    return [_with_marks(value, _marks(first + number, turns)) for number, value in enumerate(every)]


def crossed(values: Iterable[object], others: Iterable[object]) -> list[object]:
    """Each of `values` with each of `others`, for taking_turns(cells, len(others)): a run takes each of `values` with
    one of the others, and each of these with some."""
    rest = list(others)
    return [
        _with_marks(value, [], rest[(place + number) % len(rest)])
        for number, value in enumerate(values)
        for place in range(len(rest))
    ]


def generated(usual: int) -> int:
    """How many examples Hypothesis makes for a test: `usual` in `make verify`, others with each seed, and a quarter of
    them in `make test`, the same each time."""
    return usual if fresh_examples() else usual // 4


def turn_marks(value: object, turns: int = TURNS) -> list[pytest.MarkDecorator]:
    """Of one value that takes turns with others: for parameters that are made one by one."""
    return _marks(_hash(value), turns)


def long_marks(name: str) -> list[pytest.MarkDecorator]:
    """Of a long test, or of a value of one: `make verify` takes those of one part, by its seed."""
    return _marks(parts()[name], SHIFTS)


def long_test(name: str) -> Callable[[Test], Test]:
    """The same as a decorator."""

    def marked(test: Test) -> Test:
        for mark in long_marks(name):
            test = mark(test)
        return test

    return marked


def parts() -> dict[str, int]:
    """In which of SHIFTS parts each long test is: the longest of its table first, each into the part that has least."""
    chosen: dict[str, int] = {}
    for table in (LONG, LONG_ON_CLUSTERS, LONG_ALONE):
        seconds = [0] * SHIFTS
        for name in sorted(table, key=lambda name: (-table[name], name)):
            chosen[name] = seconds.index(min(seconds))
            seconds[chosen[name]] += table[name]
    return chosen


def _hash(value: object) -> int:
    """The same in each process: without addresses of objects."""
    return crc32(re.sub(" at 0x[0-9a-f]+", "", repr(value)).encode())


def _marks(place: int, turns: int) -> list[pytest.MarkDecorator]:
    is_its_turn = takes_all() or (place + fresh_seed()) % turns == 0
    return [pytest.mark.slow, pytest.mark.turns, *([pytest.mark.verify] if is_its_turn else [])]


def _with_marks(value: object, marks: list[pytest.MarkDecorator], *more: object) -> object:
    if isinstance(value, type(pytest.param())):
        return pytest.param(*value.values, *more, id=value.id, marks=[*value.marks, *marks])
    return pytest.param(value, *more, marks=marks)
