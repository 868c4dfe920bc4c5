"""Several jobs at once, and what they leave to other tasks."""

from collections.abc import Callable

import pytest

from hbtable.errors import HbtableError, LockLost, Unavailable
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.parallel import run_all, run_until_error
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.stretches import counted_stretches

JOBS = 20_000


def _work() -> int:
    """As much as 100 calls, without a switch."""
    return sum(len(b"%d" % number) for number in range(50))


@pytest.mark.parametrize("limit", [1, 16])
def test_jobs_that_wait_for_nothing_let_others_run_between_them(limit: int) -> None:
    runtime = SimulatedRuntime(1)

    def body() -> None:
        with counted_stretches(runtime) as stretches:
            outcomes = run_all(runtime, limit, [_work] * JOBS, "work")
        stretches.check()
        assert outcomes == [_work()] * JOBS

    runtime.run(body)


def test_outcomes_are_in_the_order_of_the_jobs() -> None:
    runtime = SimulatedRuntime(1)

    def job(number: int) -> Callable[[], int]:
        def work() -> int:
            runtime.sleep((number * 7 % 10) / 10)
            if number == 3:
                raise Unavailable("no")
            return number

        return work

    outcomes: list[int | HbtableError] = runtime.run(lambda: run_all(runtime, 4, [job(n) for n in range(10)], "work"))
    assert [one for one in outcomes if not isinstance(one, HbtableError)] == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert isinstance(outcomes[3], Unavailable)


@pytest.mark.parametrize("limit", [1, 4])
def test_a_lock_that_is_lost_is_the_callers_to_know_and_no_task_dies_of_it(
    limit: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Each server that lost its session logged a traceback that asked to be reported, because it was asking others."""
    runtime = GeventRuntime()
    done: list[int] = []

    def job(number: int) -> Callable[[], None]:
        def work() -> None:
            runtime.sleep(0)
            if number == 1:
                raise LockLost("the session is over")
            done.append(number)

        return work

    with pytest.raises(LockLost, match="the session is over"):
        run_all(runtime, limit, [job(number) for number in range(8)], "work")
    assert caplog.messages == []
    assert done == ([0] if limit == 1 else [0, 2, 3, 4, 5, 6, 7])


@pytest.mark.parametrize("limit", [1, 4])
@pytest.mark.parametrize("error", [Unavailable("no"), LockLost("the session is over")])
def test_after_an_error_no_job_is_begun_any_more(limit: int, error: HbtableError) -> None:
    runtime = SimulatedRuntime(1)
    begun: list[int] = []

    def job(number: int) -> Callable[[], int]:
        def work() -> int:
            begun.append(number)
            runtime.sleep(1)
            if number == 5:
                raise error
            return number

        return work

    def body() -> None:
        assert run_until_error(runtime, limit, [job(n) for n in range(5)], "work") == list(range(5))
        with pytest.raises(type(error)):
            run_until_error(runtime, limit, [job(n) for n in range(100)], "work")

    runtime.run(body)
    assert len(begun) <= 5 + 6 + limit
