"""A condition whose filter a worker process has to look for: nobody waits for its row meanwhile, and what it decides is
of the row as it is when the change is made."""

from collections.abc import Callable

import pytest

from hbtable.errors import CostExceeded, LimitExceeded, Unavailable
from hbtable.model.condition import ANY_CELL
from hbtable.model.read import ReadSpec
from hbtable.runtime.request_budget import RequestBudget, work_for
from tests.harness.tablet_bench import Bench, delete, put, values

FILTER = rb"ValueFilter(=,'regexstring:(?=a)a.*')"
"""Looked for in a worker, whatever the cell is."""
SPEC = ReadSpec({b"f": frozenset([b"a"])}, filter=FILTER)


class SlowWorker:
    """Each question takes `seconds`; before the answer `meanwhile` happens."""

    def __init__(self, bench: Bench, seconds: float, meanwhile: Callable[[int], object] = lambda _: None) -> None:
        self._bench = bench
        self._ask = bench.runtime.run_in_process
        self._seconds = seconds
        self._meanwhile = meanwhile
        self.asked = 0
        bench.runtime.run_in_process = self.ask

    def ask(self, kind, job, parts, seconds, client="", wait_seconds=0.0, worked=None):
        self.asked += 1
        self._bench.runtime.sleep(self._seconds)
        self._meanwhile(self.asked)
        worked(self._seconds)
        return self._ask(kind, job, parts, seconds)


def change(tablet) -> bool:
    return tablet.mutate_if(b"r", SPEC, ANY_CELL, None, put(b"r", b"f:b", b"changed"))


def test_others_write_the_row_while_its_condition_is_looked_for(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"a1")])
        clock = bench.runtime.clock_seconds
        took: list[float] = []

        def others(number: int) -> None:
            began = clock()
            tablet.mutate([put(b"r", b"f:c", b"%d" % number)])
            tablet.increment(b"r", b"f", b"count", 1)
            took.append(clock() - began)

        worker = SlowWorker(bench, 1.0, others)
        assert change(tablet)
        assert worker.asked == 1, "the condition's own column stayed as it was"
        assert max(took) < 0.5, "they waited for the worker"
        assert values(tablet, b"r")[b"f:b"] == b"changed"

    bench.run(main)


@pytest.mark.parametrize("is_deleted", [False, True])
def test_what_counts_is_the_row_as_it_is_when_it_is_held(bench: Bench, is_deleted: bool) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"a1")])
        first = [delete(b"r", b"f:a") if is_deleted else put(b"r", b"f:a", b"a2")]
        worker = SlowWorker(bench, 1.0, lambda number: number == 1 and tablet.mutate(first))
        assert change(tablet) != is_deleted
        assert worker.asked == (1 if is_deleted else 2)
        assert (b"f:b" in values(tablet, b"r")) != is_deleted

    bench.run(main)


def test_a_row_that_changes_each_time_is_given_up_and_stays_as_it_is(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"a")])
        SlowWorker(bench, 1.0, lambda number: tablet.mutate([put(b"r", b"f:a", b"a%d" % number)]))
        with pytest.raises(
            Unavailable, match=r"^row b'r' was changed 20 times while .*: nothing was changed; try again"
        ):
            change(tablet)
        assert values(tablet, b"r") == {b"f:a": b"a20"}
        tablet.mutate([put(b"r", b"f:a", b"free")])

    bench.run(main)


def test_many_changes_with_a_cheap_condition_of_one_row_all_succeed(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"a")])
        SlowWorker(bench, 0.0001)
        done: list[bool] = []

        def one(number: int) -> None:
            done.append(tablet.mutate_if(b"r", SPEC, ANY_CELL, None, put(b"r", b"f:a", b"a%d" % number)))

        tasks = [bench.runtime.spawn(one, number) for number in range(40)]
        for task in tasks:
            task.join()
        assert done == [True] * 40

    bench.run(main)


def test_the_time_of_workers_counts_for_the_request(bench: Bench) -> None:
    """Twelve cells that are asked about one by one, 30 s each."""

    def main() -> None:
        tablet = bench.open()
        for number in range(12):
            tablet.mutate([put(b"r", b"f:%02d" % number, b"a%d" % number * (40 << 10))])
        worker = SlowWorker(bench, 30.0)
        whole = ReadSpec(filter=FILTER)
        for ask in (
            lambda: tablet.read_rows([b"r"], whole),
            lambda: tablet.mutate_if(b"r", whole, ANY_CELL, None, put(b"r", b"f:b", b"changed")),
        ):
            worker.asked = 0
            budget = RequestBudget()
            work_for(budget)
            with pytest.raises(CostExceeded, match=r"took 90\.0 s of work .* tablet.request_seconds = 60"):
                ask()
            assert worker.asked == 3
            budget.clear()
        tablet.mutate([put(b"r", b"f:a", b"free")])

    bench.run(main)


def test_a_worker_that_dies_of_it_ends_the_call_and_lets_the_row_go(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:a", b"a")])

        def die(_: int) -> None:
            raise LimitExceeded("the worker process took more than 1 s")

        SlowWorker(bench, 1.0, die)
        with pytest.raises(LimitExceeded, match="took more than 1 s"):
            change(tablet)
        tablet.mutate([put(b"r", b"f:a", b"free")])

    bench.run(main)
