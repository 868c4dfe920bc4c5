"""A hub in a background thread, called from ordinary threads."""

import signal
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest

from hbtable.errors import Conflict, InvalidRequest, LockLost, OutcomeUnknown, Unavailable
from hbtable.runtime.threads.portal import Portal


@pytest.fixture
def portal() -> Iterator[Portal]:
    portal = Portal()
    yield portal
    portal.close()


def test_a_call_returns_the_result_or_raises_the_error(portal: Portal) -> None:
    def fail() -> None:
        raise Conflict("from the hub")

    assert portal.call(divmod, 7, 2) == (3, 1)
    with pytest.raises(Conflict, match="from the hub"):
        portal.call(fail)
    assert portal.call(divmod, 9, 2) == (4, 1)


def test_calls_run_as_tasks_of_one_thread_beside_each_other(portal: Portal) -> None:
    runtime = portal.runtime
    meet = portal.call(runtime.event)
    idents: set[int] = set()

    def wait() -> bool:
        idents.add(threading.get_ident())
        return meet.wait(60.0)

    def release() -> None:
        idents.add(threading.get_ident())
        meet.set()

    answers: list[bool] = []
    threads = [threading.Thread(target=lambda: answers.append(portal.call(wait))) for _ in range(4)]
    for thread in threads:
        thread.start()
    portal.call(release)
    for thread in threads:
        thread.join()
    assert answers == [True] * 4
    assert len(idents) == 1
    assert threading.get_ident() not in idents


def test_many_threads_at_once_each_get_their_own_answer(portal: Portal) -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        for turn in range(200):
            if portal.call(lambda a, b: a * 1000 + b, number, turn) != number * 1000 + turn:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_offloading_and_sleeping_work_in_the_background_hub(portal: Portal) -> None:
    runtime = portal.runtime
    assert portal.call(runtime.offload, "log-sync", divmod, 7, 2) == (3, 1)
    portal.call(runtime.sleep, 0.001)


def test_a_call_from_inside_the_hub_runs_at_once(portal: Portal) -> None:
    assert portal.call(lambda: portal.call(divmod, 7, 2)) == (3, 1)


def test_closing_waits_for_calls_under_way_and_refuses_new_ones() -> None:
    portal = Portal()
    begun = threading.Event()
    answers: list[str] = []

    def slow() -> str:
        begun.set()
        portal.runtime.sleep(0.02)
        return "done"

    thread = threading.Thread(target=lambda: answers.append(portal.call(slow)))
    thread.start()
    begun.wait()
    portal.close(grace_seconds=60)
    thread.join()
    assert answers == ["done"]
    with pytest.raises(Unavailable, match="closed"):
        portal.call(divmod, 1, 1)
    portal.close()


def test_a_call_that_does_not_end_is_given_up_with_outcome_unknown() -> None:
    portal = Portal()
    begun = threading.Event()
    caught: list[Exception] = []

    def stuck() -> None:
        begun.set()
        portal.runtime.event().wait()

    def work() -> None:
        try:
            portal.call(stuck)
        except OutcomeUnknown as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    portal.close(grace_seconds=0.01)
    thread.join()
    assert len(caught) == 1


def stuck_call(portal: Portal, error: type[Exception]) -> tuple[threading.Thread, list[str]]:
    """A call that does not end is under way; its thread, and what the `error` says that ends it."""
    begun = threading.Event()
    caught: list[str] = []

    def stuck() -> None:
        begun.set()
        portal.runtime.event().wait()

    def work() -> None:
        with pytest.raises(error) as raised:
            portal.call(stuck)
        caught.append(str(raised.value))

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(60)
    return thread, caught


def test_once_refused_calls_fail_at_once_also_those_under_way_and_only_closing_goes_on(portal: Portal) -> None:
    thread, caught = stuck_call(portal, LockLost)
    closing = portal.call_to_close
    closing(portal.refuse, lambda: LockLost("refused"), lambda: LockLost("was under way"))
    thread.join(60)
    assert caught == ["was under way"]
    for _ in range(2):
        with pytest.raises(LockLost, match="refused"):
            portal.call(divmod, 7, 2)
    assert closing(divmod, 7, 2) == (3, 1)


def test_closing_from_inside_is_refused(portal: Portal) -> None:
    with pytest.raises(InvalidRequest, match="inside"):
        portal.call(portal.close)


def test_draining_waits_for_calls_under_way_and_refuses_all_others(portal: Portal) -> None:
    begun = threading.Event()
    go_on: list[object] = []
    answers: list[str] = []

    def slow() -> str:
        event = portal.runtime.event()
        go_on.append(event.set)
        begun.set()
        event.wait()
        return "done"

    def drained() -> None:
        portal.drain(lambda: Unavailable("closing"), 60)
        answers.append("drained")

    caller = threading.Thread(target=lambda: answers.append(portal.call(slow)))
    caller.start()
    assert begun.wait(60)
    closer = threading.Thread(target=lambda: portal.call_to_close(drained))
    closer.start()

    def call_on() -> None:
        while True:
            portal.call(divmod, 7, 2)

    with pytest.raises(Unavailable, match="closing"):
        call_on()
    assert answers == []
    portal.call_to_close(go_on[0])  # type: ignore[arg-type]
    for thread in (caller, closer):
        thread.join(60)
    assert sorted(answers) == ["done", "drained"]


def test_what_does_not_end_while_draining_is_given_up(portal: Portal) -> None:
    thread, caught = stuck_call(portal, OutcomeUnknown)
    portal.call_to_close(portal.drain, lambda: Unavailable("closing"), 0.01)
    thread.join(60)
    assert len(caught) == 1
    assert not portal._running, "close() waits for it once more"


def test_a_signal_handler_may_call_while_its_thread_is_calling(portal: Portal) -> None:
    answers: list[object] = []
    before = signal.signal(signal.SIGUSR1, lambda *_: answers.append(portal.call(divmod, 9, 4)))

    class Calls(deque[Any]):
        def append(self, call: Any) -> None:
            super().append(call)
            if not answers:
                answers.append("interrupted")
                signal.raise_signal(signal.SIGUSR1)  # here the thread is at the gate

    try:
        portal._calls = Calls()
        assert portal.call(divmod, 7, 2) == (3, 1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert answers == ["interrupted", (2, 1)]
