"""The promises of runtime.interface, over every adapter. Real waiting stays within milliseconds."""

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import pytest

from hbtable.errors import Conflict
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.interface import JobFailed, Runtime, WorkerDied
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness import jobs

T = TypeVar("T")
Run = Callable[[Callable[[], T]], T]


@pytest.fixture(params=["gevent", "simulated 1", "simulated 2", "simulated 3"])
def adapter(request: pytest.FixtureRequest) -> Iterator[tuple[Runtime, Run[object]]]:
    if request.param == "gevent":
        real = GeventRuntime()
        yield real, lambda main: main()
        real.close()
    else:
        simulated = SimulatedRuntime(int(request.param.split()[1]))
        yield simulated, simulated.run
        simulated.crash()


Adapter = tuple[Runtime, Run[object]]


def test_a_spawned_task_runs_later_and_is_joined(adapter: Adapter) -> None:
    runtime, run = adapter
    done: list[str] = []

    def main() -> None:
        task = runtime.spawn(done.append, "task")
        done.append("spawner")
        assert task.join()
        assert task.error is None
        assert task.join(0.001), "joining an ended task again is fine"

    run(main)
    assert done == ["spawner", "task"]


def test_an_error_is_kept_and_logged_once_and_join_does_not_raise_it(
    adapter: Adapter, caplog: pytest.LogCaptureFixture
) -> None:
    runtime, run = adapter

    def fail() -> None:
        raise Conflict("no luck")

    def main() -> None:
        task = runtime.spawn(fail, name="unlucky")
        assert task.join()
        assert isinstance(task.error, Conflict)

    with caplog.at_level(logging.ERROR):
        run(main)
    assert len(caplog.records) == 1
    assert "unlucky" in caplog.text
    assert "no luck" in caplog.text


def test_join_with_a_timeout_says_that_the_task_still_runs(adapter: Adapter) -> None:
    runtime, run = adapter

    def main() -> None:
        event = runtime.event()
        task = runtime.spawn(event.wait)
        assert not task.join(0.002)
        event.set()
        assert task.join()

    run(main)


def test_kill_ends_a_task_where_it_waits_and_runs_its_clean_up(adapter: Adapter) -> None:
    runtime, run = adapter
    seen: list[str] = []

    def work() -> None:
        try:
            seen.append("begun")
            runtime.event().wait()
            seen.append("never")
        finally:
            seen.append("cleaned")

    def main() -> None:
        task = runtime.spawn(work)
        while not seen:
            runtime.sleep(0)
        task.kill()
        assert task.error is None, "being killed is no error"
        assert task.join(0)
        task.kill()

    run(main)
    assert seen == ["begun", "cleaned"]


def test_a_task_killed_before_it_began_never_begins(adapter: Adapter) -> None:
    runtime, run = adapter
    seen: list[str] = []

    def main() -> None:
        task = runtime.spawn(seen.append, "begun")
        task.kill()
        assert task.join()

    run(main)
    assert seen == []


def test_setting_an_event_wakes_all_who_wait_even_if_it_is_cleared_at_once(adapter: Adapter) -> None:
    runtime, run = adapter
    answers: list[bool] = []

    def main() -> None:
        event = runtime.event()
        begun: list[int] = []

        def wait(number: int) -> None:
            begun.append(number)
            answers.append(event.wait())

        tasks = [runtime.spawn(wait, number) for number in range(3)]
        while len(begun) < 3:
            runtime.sleep(0)
        event.set()
        event.clear()
        assert not event.is_set()
        for task in tasks:
            task.join()

    run(main)
    assert answers == [True, True, True]


def test_an_event_that_is_set_does_not_make_wait_switch(adapter: Adapter) -> None:
    runtime, run = adapter
    seen: list[str] = []

    def main() -> None:
        event = runtime.event()
        event.set()
        runtime.spawn(seen.append, "other")
        assert event.wait()
        assert event.wait(0.0)
        assert seen == []

    run(main)


def test_waiting_with_a_timeout_ends_with_false(adapter: Adapter) -> None:
    runtime, run = adapter

    def main() -> None:
        before = runtime.clock_seconds()
        assert not runtime.event().wait(0.002)
        assert runtime.clock_seconds() - before >= 0.0015

    run(main)


def test_a_lock_admits_one_task_at_a_time_in_the_order_of_asking(adapter: Adapter) -> None:
    runtime, run = adapter
    order: list[int] = []
    asked: list[int] = []
    inside: list[int] = []

    def main() -> None:
        lock = runtime.lock()

        def work(number: int) -> None:
            asked.append(number)
            with lock:
                inside.append(number)
                assert len(inside) == 1
                order.append(number)
                runtime.sleep(0)
                runtime.sleep(0)
                inside.remove(number)

        with lock:
            assert lock.locked()
            tasks = [runtime.spawn(work, number) for number in range(5)]
            while len(asked) < 5:
                runtime.sleep(0)
        late = runtime.spawn(work, 5)
        for task in [*tasks, late]:
            task.join()
            assert task.error is None
        assert not lock.locked()

    run(main)
    assert order == asked


def test_a_task_killed_while_it_waits_for_a_lock_leaves_the_queue(adapter: Adapter) -> None:
    runtime, run = adapter
    got: list[str] = []

    def main() -> None:
        lock = runtime.lock()
        asked: list[str] = []

        def work(name: str) -> None:
            asked.append(name)
            with lock:
                got.append(name)

        with lock:
            first = runtime.spawn(work, "first")
            while len(asked) < 1:
                runtime.sleep(0)
            second = runtime.spawn(work, "second")
            while len(asked) < 2:
                runtime.sleep(0)
            first.kill()
        assert second.join(60.0)
        assert not lock.locked()

    run(main)
    assert got == ["second"]


def test_a_lock_handed_to_a_task_that_is_killed_before_it_runs_is_not_lost(adapter: Adapter) -> None:
    runtime, run = adapter

    def main() -> None:
        lock = runtime.lock()
        asked: list[str] = []

        def work() -> None:
            asked.append("asked")
            with lock:
                runtime.sleep(0)

        with lock:
            task = runtime.spawn(work)
            while not asked:
                runtime.sleep(0)
        task.kill()  # the lock is already its own
        assert not lock.locked()

    run(main)


def test_a_lock_handed_to_a_task_that_is_being_killed_goes_on_to_the_next(adapter: Adapter) -> None:
    runtime, run = adapter
    got: list[str] = []

    def main() -> None:
        lock = runtime.lock()
        asked: list[str] = []

        def work(name: str) -> None:
            asked.append(name)
            with lock:
                got.append(name)

        with lock:
            first = runtime.spawn(work, "first")
            while len(asked) < 1:
                runtime.sleep(0)
            second = runtime.spawn(work, "second")
            while len(asked) < 2:
                runtime.sleep(0)
            killer = runtime.spawn(first.kill)
            runtime.sleep(0)  # under gevent: the kill is on its way, and the lock is handed over before it arrives
        assert killer.join(60.0)
        assert second.join(60.0)
        assert not lock.locked()

    run(main)
    assert got[-1] == "second"


def test_a_timeout_that_was_not_needed_does_not_end_a_later_wait(adapter: Adapter) -> None:
    runtime, run = adapter

    def main() -> None:
        event = runtime.event()
        runtime.spawn(event.set)
        assert event.wait(0.05), "in time, though this process may stand still for a moment"
        before = runtime.clock_seconds()
        runtime.sleep(0.1)
        assert runtime.clock_seconds() - before >= 0.0995

    run(main)


def test_offload_returns_the_result_or_raises_the_error(adapter: Adapter) -> None:
    runtime, run = adapter

    def fail() -> None:
        raise Conflict("in the thread")

    def main() -> None:
        assert runtime.offload("compress", divmod, 7, 2) == (3, 1)
        with pytest.raises(Conflict, match="in the thread"):
            runtime.offload("compress", fail)

    run(main)


def test_others_run_while_one_waits_for_offloaded_work(adapter: Adapter) -> None:
    runtime, run = adapter
    seen: list[str] = []

    def main() -> None:
        other = runtime.spawn(seen.append, "other")
        runtime.offload("log-sync", lambda: None)
        other.join()
        seen.append("main")

    run(main)
    assert seen == ["other", "main"]


def test_sleeping_passes_time_and_sleep_zero_lets_others_run(adapter: Adapter) -> None:
    runtime, run = adapter
    seen: list[str] = []

    def main() -> None:
        before, wall = runtime.clock_seconds(), runtime.wall_millis()
        runtime.sleep(0.003)
        assert runtime.clock_seconds() - before >= 0.0025
        assert runtime.wall_millis() >= wall
        runtime.spawn(seen.append, "other")
        while not seen:
            runtime.sleep(0)

    run(main)


def test_sleepers_wake_in_the_order_of_their_times(adapter: Adapter) -> None:
    runtime, run = adapter
    woken: list[int] = []

    def sleep(millis: int) -> None:
        runtime.sleep(millis / 1000)
        woken.append(millis)

    def main() -> None:
        asleep: list[float] = []
        began = -1.0
        # Once more when this process stood still between the first one's going to sleep and the last one's.
        while not asleep or asleep[-1] - began >= 0.005:
            woken.clear()
            began = runtime.clock_seconds()
            tasks = [runtime.spawn(sleep, millis) for millis in (12, 2, 7)]
            tasks.append(runtime.spawn(lambda: asleep.append(runtime.clock_seconds())))
            for task in tasks:
                task.join()

    run(main)
    assert woken == [2, 7, 12]


def test_a_waker_makes_its_answer_run_as_a_task(adapter: Adapter) -> None:
    runtime, run = adapter
    seen: list[str] = []

    def main() -> None:
        waker = runtime.waker(lambda: seen.append("answered"))
        waker.wake()
        waker.wake()
        assert seen == [], "not within the call"
        for _ in range(100):
            runtime.sleep(0.001)
        assert seen == ["answered"]
        waker.wake()
        for _ in range(100):
            runtime.sleep(0.001)
        assert seen == ["answered"] * 2
        waker.close()
        waker.wake()
        runtime.sleep(0.001)
        assert seen == ["answered"] * 2

    run(main)


def test_a_job_in_a_process_returns_what_it_made(adapter: Adapter) -> None:
    runtime, run = adapter
    assert run(lambda: list(runtime.run_in_process("test", jobs.echo, [b"a", b""], 30.0))) == [b"a", b""]


def test_a_job_that_asks_is_answered_in_the_callers_task(adapter: Adapter) -> None:
    runtime, run = adapter

    def main() -> None:
        asked: list[bytes] = []

        def answer(question: Sequence[bytes]) -> Sequence[bytes]:
            runtime.sleep(0.001)
            asked.append(question[0])
            return [b"answer to " + question[0]]

        said: Sequence[bytes] = ()
        while not said:  # a simulated process may be killed
            asked.clear()
            with contextlib.suppress(WorkerDied):
                said = runtime.converse_in_process("test", jobs.ask_thrice, [b"x"], answer, 30.0)[1:]
        assert said == [b"answer to 0", b"answer to 1", b"answer to 2"]
        assert asked == [b"0", b"1", b"2"]

        def refuse(question: Sequence[bytes]) -> Sequence[bytes]:
            raise Refused

        with pytest.raises((Refused, WorkerDied)):
            runtime.converse_in_process("test", jobs.ask_thrice, [b"x"], refuse, 30.0)
        with pytest.raises((JobFailed, WorkerDied)):
            runtime.converse_in_process("test", jobs.ask_and_fail, [b"x"], answer, 30.0)

    run(main)


class Refused(Exception):
    """Whoever is asked does not answer."""
