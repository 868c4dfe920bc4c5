"""Blocking work in threads, as only the real runtime does it."""

import gc
import threading
import weakref
from collections.abc import Iterator

import gevent
import pytest

from hbtable.runtime.gevent_runtime import GeventOptions, GeventRuntime
from hbtable.runtime.interface import Task


@pytest.fixture
def runtime() -> Iterator[GeventRuntime]:
    runtime = GeventRuntime(GeventOptions(threads_of_kind={"one": 1, "two": 2}, threads=3))
    yield runtime
    runtime.close()


def _join(tasks: list[Task]) -> None:
    for task in tasks:
        assert task.join(60.0)
        assert task.error is None


def test_each_kind_has_threads_of_its_own_so_a_stuck_one_starves_no_other(runtime: GeventRuntime) -> None:
    release = threading.Event()
    stuck = [runtime.spawn(runtime.offload, "one", release.wait, 60.0) for _ in range(3)]
    runtime.sleep(0)
    assert runtime.offload("two", divmod, 7, 2) == (3, 1)
    assert not stuck[0].join(0)
    release.set()
    _join(stuck)


@pytest.mark.parametrize(("kind", "limit"), [("one", 1), ("two", 2), ("any other", 3)])
def test_a_kind_uses_as_many_threads_as_it_may_and_no_more(runtime: GeventRuntime, kind: str, limit: int) -> None:
    gate, inside = threading.Semaphore(0), threading.Semaphore(0)
    counting = threading.Lock()
    most, now = 0, 0

    def work() -> None:
        nonlocal most, now
        with counting:
            now += 1
            most = max(most, now)
        inside.release()
        gate.acquire()
        with counting:
            now -= 1

    tasks = [runtime.spawn(runtime.offload, kind, work) for _ in range(6)]
    runtime.sleep(0)
    for _ in range(limit):
        assert inside.acquire(timeout=60.0), "so many run at once"
    gate.release(6)
    _join(tasks)
    assert most == limit


def test_jobs_of_one_thread_run_in_the_order_of_the_calls(runtime: GeventRuntime) -> None:
    order: list[int] = []
    _join([runtime.spawn(runtime.offload, "one", order.append, number) for number in range(20)])
    assert order == list(range(20))


def test_a_killed_task_s_work_ends_and_the_next_one_gets_its_own_result(runtime: GeventRuntime) -> None:
    release = threading.Event()
    done: list[bool] = []

    def work() -> None:
        release.wait(60.0)
        done.append(True)

    task = runtime.spawn(runtime.offload, "one", work)
    runtime.sleep(0)
    task.kill()
    release.set()
    assert runtime.offload("one", divmod, 7, 2) == (3, 1)
    assert done == [True]


def test_an_idle_thread_keeps_nothing_alive(runtime: GeventRuntime) -> None:
    class Big:
        pass

    thing = Big()
    gone = weakref.ref(thing)
    assert runtime.offload("one", id, thing) == id(thing)
    runtime.offload("one", int)  # the thread has let go of the first job by now
    del thing
    gc.collect()
    assert gone() is None


def test_closing_gives_up_work_that_does_not_end() -> None:
    runtime = GeventRuntime()
    release = threading.Event()
    begun = threading.Event()

    def work() -> None:
        begun.set()
        release.wait(60.0)

    runtime.spawn(runtime.offload, "given up", work)
    runtime.sleep(0)
    assert begun.wait(60.0)
    (thread,) = (thread for thread in threading.enumerate() if thread.name == "hbtable given up")
    runtime.close(grace_seconds=0.01)
    assert thread.is_alive()
    release.set()
    thread.join(60.0)
    assert not thread.is_alive(), "it ends once its work does"


def test_closing_ends_the_threads() -> None:
    runtime = GeventRuntime()
    runtime.offload("closing one", int)
    runtime.offload("closing two", int)
    names = {"hbtable closing one", "hbtable closing two"}
    assert names <= {thread.name for thread in threading.enumerate()}
    runtime.close()
    assert not names & {thread.name for thread in threading.enumerate()}


def test_tasks_that_all_wait_for_each_other_are_still_noticed_after_work_was_done() -> None:
    """In a thread of its own, whose hub has nothing else to wait for."""
    caught: list[BaseException] = []

    def live() -> None:
        runtime = GeventRuntime()
        runtime.offload("one", int)
        try:
            runtime.event().wait()
        except gevent.exceptions.LoopExit as error:
            caught.append(error)
        runtime.close()
        gevent.get_hub().destroy()

    thread = threading.Thread(target=live)
    thread.start()
    thread.join(60.0)
    assert len(caught) == 1
