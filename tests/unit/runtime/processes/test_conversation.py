"""Processes that ask while they compute: what one does, however it ends, costs its own call only."""

import os
import signal
from collections.abc import Iterator, Sequence

import pytest

from hbtable.runtime.gevent_runtime import GeventOptions, GeventRuntime
from hbtable.runtime.interface import JobFailed, WorkerDied
from tests.harness import jobs
from tests.harness.waiting import SOON_SECONDS, eventually, runs


@pytest.fixture
def runtime() -> Iterator[GeventRuntime]:
    runtime = GeventRuntime(GeventOptions(processes=2))
    yield runtime
    runtime.close()


def _echo(question: Sequence[bytes]) -> Sequence[bytes]:
    return [question[-1] + question[0]]


def _process(runtime: GeventRuntime) -> int:
    return int(runtime.run_in_process("test", jobs.process, [], 30.0)[0])


def test_questions_are_answered_where_they_are_asked_and_the_process_is_kept(runtime: GeventRuntime) -> None:
    large = bytes(5 << 20)
    first = runtime.converse_in_process("test", jobs.ask_thrice, [large], _echo, 30.0)
    assert [len(part) for part in first[1:]] == [len(large) + 1] * 3
    assert int(first[0]) == _process(runtime) != os.getpid()
    assert runtime.converse_in_process("test", jobs.ask_thrice, [b"x"], _echo, 30.0)[1:] == [b"x0", b"x1", b"x2"]


def test_an_error_of_whoever_answers_ends_the_work(runtime: GeventRuntime) -> None:
    before = _process(runtime)

    def refuse(question: Sequence[bytes]) -> Sequence[bytes]:
        raise KeyError("cancelled")

    with pytest.raises(KeyError, match="cancelled"):
        runtime.converse_in_process("test", jobs.ask_thrice, [b"x"], refuse, 30.0)
    eventually(lambda: not runs(before), SOON_SECONDS, f"the end of process {before}")
    assert runtime.converse_in_process("test", jobs.ask_thrice, [b"x"], _echo, 30.0)[1:] == [b"x0", b"x1", b"x2"]


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (jobs.ask_and_crash, "ended before it answered"),
        (jobs.ask_and_eat, "needed more than .* bytes of memory"),
        (jobs.ask_and_sleep, "asked and answered nothing for 0.5 s"),
    ],
)
def test_a_crash_a_halt_and_too_much_memory_cost_one_call(runtime: GeventRuntime, job, reason) -> None:
    with pytest.raises(WorkerDied, match=reason):
        runtime.converse_in_process("test", job, [b"x"], _echo, 0.5 if job is jobs.ask_and_sleep else 60.0)
    assert runtime.converse_in_process("test", jobs.ask_thrice, [b"x"], _echo, 60.0)[1:] == [b"x0", b"x1", b"x2"]


def test_an_error_of_the_job_is_told_and_its_process_is_kept(runtime: GeventRuntime) -> None:
    before = _process(runtime)
    with pytest.raises(JobFailed, match=r"ask_and_fail failed in a worker process: ValueError: no use for \[b'x'\]"):
        runtime.converse_in_process("test", jobs.ask_and_fail, [b"x"], _echo, 30.0)
    assert _process(runtime) == before


def test_one_that_is_killed_while_it_waits_for_an_answer_is_replaced(runtime: GeventRuntime) -> None:
    before = _process(runtime)

    def kill(question: Sequence[bytes]) -> Sequence[bytes]:
        os.kill(before, signal.SIGKILL)
        eventually(lambda: not runs(before), SOON_SECONDS, "its end")
        return [b""]

    with pytest.raises(WorkerDied):
        runtime.converse_in_process("test", jobs.ask_thrice, [b"x"], kill, 30.0)
    assert _process(runtime) != before


def test_a_task_that_is_killed_leaves_no_process_behind(runtime: GeventRuntime) -> None:
    before = _process(runtime)
    asked = runtime.event()

    def answer(question: Sequence[bytes]) -> Sequence[bytes]:
        asked.set()
        return [b""]

    for job in (jobs.ask_and_sleep, jobs.ask_thrice):
        asked.clear()
        task = runtime.spawn(runtime.converse_in_process, "test", job, [b"x"], answer, 600.0)
        assert asked.wait(SOON_SECONDS)
        task.kill()
    eventually(lambda: not runs(before), SOON_SECONDS, f"the end of process {before}")
    assert runtime.converse_in_process("test", jobs.ask_thrice, [b"x"], _echo, 60.0)[1:] == [b"x0", b"x1", b"x2"]


def test_no_more_of_a_kind_at_a_time_than_allowed_and_all_get_their_turn(runtime: GeventRuntime) -> None:
    found: set[bytes] = set()

    def talk() -> None:
        found.add(runtime.converse_in_process("test", jobs.ask_thrice, [b"x"], _echo, 60.0)[0])

    tasks = [runtime.spawn(talk) for _ in range(8)]
    for task in tasks:
        assert task.join(60.0)
        assert task.error is None
    assert 1 <= len(found) <= 2


def test_a_closed_runtime_leaves_none_behind() -> None:
    runtime = GeventRuntime()
    process = _process(runtime)
    asked = runtime.event()

    def answer(question: Sequence[bytes]) -> Sequence[bytes]:
        asked.set()
        return [b""]

    task = runtime.spawn(runtime.converse_in_process, "test", jobs.ask_and_sleep, [b"x"], answer, 600.0)
    assert asked.wait(SOON_SECONDS)
    runtime.close()
    assert task.join(60.0)
    assert isinstance(task.error, WorkerDied)
    assert not runs(process)
