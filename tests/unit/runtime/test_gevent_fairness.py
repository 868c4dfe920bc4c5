"""A task that computes in slices lets timers and sockets have their turn between any two of them, not after fifty."""

import gevent
import pytest

from hbtable.runtime.fair_scheduler import FairScheduler
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.parallel import run_all
from hbtable.runtime.slices import in_slices
from hbtable.tablet.pacing import Pacer


def test_a_timer_fires_while_tasks_only_yield() -> None:
    runtime = GeventRuntime()
    rounds = 0
    fired: list[int] = []

    def compute() -> None:
        nonlocal rounds
        while not fired and rounds < 1000:
            rounds += 1
            for _ in range(20_000):
                pass
            runtime.sleep(0)

    gevent.spawn_later(0, lambda: fired.append(rounds))
    runtime.spawn(compute).join(60)
    assert fired, "the timer never fired"
    assert fired[0] < 40, "gevent looks at its timers only after fifty callbacks"
    runtime.close()


def test_many_tasks_that_work_side_by_side_have_one_slice_of_time_together() -> None:
    """By a clock that only goes on while a job is done, a millisecond each."""
    runtime = GeventRuntime()
    now = 0.0
    runtime.clock_seconds = lambda: now
    runtime.fair_scheduler = FairScheduler(runtime.clock_seconds)
    runtime.slice_end = runtime.fair_scheduler.slice_end
    between: list[int] = [0]
    is_over = False

    def job() -> None:
        nonlocal now
        now += 0.001
        between[-1] += 1

    def client() -> None:
        nonlocal now
        runtime.request_gate("a client", 1000)
        while not is_over and len(between) < 10_000:
            now += 0.0001
            between.append(0)
            runtime.sleep(0)

    task = runtime.spawn(client)
    runtime.sleep(0)
    run_all(runtime, 16, [job] * 320, "jobs")
    is_over = True
    assert task.join(60)
    assert sum(between) == 320
    assert max(between) <= 4, "the client waited for a slice of each of the sixteen"
    runtime.close()


def test_what_a_request_has_done_side_by_side_counts_for_its_client() -> None:
    """It counted as the server's own work, which has a third of the time whoever else there is."""
    runtime = GeventRuntime()
    found: list[str] = []

    def job() -> None:
        runtime.sleep(0)
        found.append(runtime.fair_scheduler.client())

    def request() -> None:
        runtime.request_gate("a client", 1000)
        run_all(runtime, 4, [job] * 8, "jobs")

    assert runtime.spawn(request).join(60)
    run_all(runtime, 4, [job] * 2, "jobs")
    assert found == ["a client"] * 8 + ["the server itself"] * 2
    runtime.close()


def test_long_work_lets_others_run_more_often_while_several_clients_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    now, pauses = 0.0, 0
    runtime = GeventRuntime()
    runtime.clock_seconds = lambda: now
    runtime.fair_scheduler = scheduler = FairScheduler(runtime.clock_seconds)
    runtime.slice_end = scheduler.slice_end

    def pause() -> None:
        nonlocal pauses
        pauses += 1

    monkeypatch.setattr(scheduler, "pause", pause)

    def in_steps() -> int:
        nonlocal now, pauses
        pauses = 0
        for _ in in_slices(runtime, range(100)):
            now += 0.0001
        return pauses

    def by_a_pacer() -> int:
        nonlocal now, pauses
        pauses = 0
        pacer = Pacer(runtime, 0.001)
        for _ in range(100):
            now += 0.0001
            pacer.pause()
        return pauses

    for work in (in_steps, by_a_pacer):
        assert 9 <= work() <= 11
        for client in "ab":
            scheduler.goes_on(scheduler.share(client), now)
        assert 24 <= work() <= 35
        now += 60.0
    runtime.close()
