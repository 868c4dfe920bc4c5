"""A filter's question to a worker whose request is too late says which limit that was."""

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, cast

import pytest

from hbtable.errors import CostExceeded, HbtableError, Overloaded
from hbtable.runtime.interface import Runtime
from hbtable.runtime.request_budget import RequestBudget
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.reads.cost_limit import CostLimit, ReadIsLate
from hbtable.tablet.reads.look_ahead import ask_worker

DEADLINE = 20.0


class NoWorkers:
    """A runtime whose workers are busy until the wait for one is over. It ends `early`, as a timer may."""

    def __init__(self, early: float = 0.0) -> None:
        self.now = 0.0
        self.early = early
        self.waits: list[float] = []

    def run_in_process(
        self, kind: str, job: object, parts: Sequence[bytes], seconds: float, client: str, wait_seconds: float,
        worked: Callable[[float], object],
    ) -> Sequence[bytes]:  # fmt: skip
        self.waits.append(wait_seconds)
        self.now += min(wait_seconds, 10.0) - self.early
        raise Overloaded(f"no turn within {wait_seconds} s")


def asked(runtime: NoWorkers, now: float, worked_seconds: float = 0.0, wait_seconds: float = inf) -> HbtableError:
    runtime.now = now
    budget = RequestBudget()
    budget.go_on(budget.cost, 0.0, DEADLINE)
    budget.seconds = worked_seconds
    cost = CostLimit(TabletOptions(), budget, lambda: runtime.now)
    ask = ask_worker(cast(Runtime, cast(Any, runtime)), cost, wait_seconds)
    with pytest.raises(HbtableError) as raised:
        ask([b"pattern"], 1.0)
    return raised.value


@pytest.mark.parametrize("early", [0.0, 0.0005])
def test_whose_deadline_comes_while_it_waits(early: float) -> None:
    error = asked(NoWorkers(early), DEADLINE - 0.3)
    assert isinstance(error, ReadIsLate)
    assert "rpc.read_seconds" in str(error)


def test_whose_deadline_is_over_asks_nobody() -> None:
    runtime = NoWorkers()
    assert isinstance(asked(runtime, DEADLINE + 1.0), ReadIsLate)
    assert runtime.waits == []


def test_who_worked_for_most_of_the_time_is_not_told_to_try_again() -> None:
    assert isinstance(asked(NoWorkers(), DEADLINE - 0.3, worked_seconds=15.0), CostExceeded)


def test_who_has_time_left_is_told_that_there_was_no_turn() -> None:
    assert isinstance(asked(NoWorkers(), DEADLINE - 15.0), Overloaded)
    assert isinstance(asked(NoWorkers(), 0.0, wait_seconds=0.1), Overloaded)
