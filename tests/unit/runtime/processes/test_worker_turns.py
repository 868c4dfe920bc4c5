"""Who is served by a worker process next: by a clock that goes on only when a test says so, and once with processes."""

from collections.abc import Iterator
from pathlib import Path

import gevent
import pytest

from hbtable.errors import Overloaded
from hbtable.runtime.gevent_runtime import GeventOptions, GeventRuntime
from hbtable.runtime.interface import WorkerDied
from hbtable.runtime.processes.worker_turns import WorkerTurn, WorkerTurns
from tests.harness import jobs
from tests.harness.waiting import SOON_SECONDS

LONG = 1.0


class Workers:
    """Two of them, and clients whose questions are asked in tasks."""

    def __init__(self, places: int = 2) -> None:
        self.now = 0.0
        self.turns = WorkerTurns(lambda: self.now, "pattern", places)
        self.busy: list[WorkerTurn] = []
        self.begun: list[str] = []
        self.refused: list[str] = []
        self.tasks: list[gevent.Greenlet] = []

    def ask(self, client: str, count: int = 1, wait_seconds: float = 600.0) -> None:
        self.tasks += [gevent.spawn(self._ask, client, wait_seconds) for _ in range(count)]
        gevent.sleep(0)

    def _ask(self, client: str, wait_seconds: float) -> None:
        try:
            turn = self.turns.begin(client, wait_seconds)
        except Overloaded as error:
            self.refused.append(f"{client}: {error}")
            return
        self.begun.append(client)
        self.busy.append(turn)

    def end(self, seconds: float) -> str:
        """The question that was begun first is answered, after so long."""
        turn = self.end_in_the_hub(seconds)
        gevent.sleep(0)
        return turn.share.name

    def end_in_the_hub(self, seconds: float = LONG) -> WorkerTurn:
        """As end(), and nothing that waited for it has gone on yet."""
        turn = self.busy.pop(0)
        self.now += seconds
        self.turns.end(turn, seconds)
        return turn


@pytest.fixture
def workers() -> Iterator[Workers]:
    workers = Workers()
    yield workers
    gevent.killall(workers.tasks)


def test_a_client_with_one_question_waits_for_no_hundred_of_another(workers: Workers) -> None:
    workers.ask("many", 100)
    assert workers.begun == ["many", "many"]
    workers.ask("one")
    workers.end(LONG)
    assert workers.begun[2:] == ["one"]


def test_long_questions_leave_a_worker_free_for_others(workers: Workers) -> None:
    workers.ask("many", 100)
    for _ in range(3):
        workers.end(LONG)
    assert [turn.share.name for turn in workers.busy] == ["many"]
    for number in range(50):
        workers.ask("one")
        assert workers.begun[-1] == "one", number
        workers.busy.insert(0, workers.busy.pop())
        workers.end(0.001)


def test_short_questions_of_one_client_have_all_workers(workers: Workers) -> None:
    workers.ask("many", 20)
    for _ in range(10):
        workers.end(0.001)
        assert len(workers.busy) == 2


def test_clients_get_the_same_time_and_not_the_same_number(workers: Workers) -> None:
    workers.ask("slow", 300)
    workers.ask("quick", 300)
    for _ in range(250):
        workers.end(0.1 if workers.busy[0].share.name == "slow" else 0.02)
    slow, quick = (workers.begun.count(client) for client in ("slow", "quick"))
    assert 3 <= quick / slow <= 8, (slow, quick)


@pytest.mark.parametrize("places", [1, 2, 4])
def test_who_is_at_it_has_half_of_the_workers_beside_a_stream_of_new_clients(places: int) -> None:
    """Of more than one worker it had none at all: a new client's time was counted to those that are at it, because it
    wanted nothing more when its question ended."""
    workers = Workers(places)
    workers.ask("at it", 600)
    for number in range(600):
        for one in range(2):
            workers.ask(f"new {number} {one}")
        workers.end(0.04)
    assert workers.begun[200:600].count("at it") == pytest.approx(200, abs=20)
    gevent.killall(workers.tasks)


def test_clients_with_one_question_at_a_time_take_turns(workers: Workers) -> None:
    """Six have one at a time; two had three times as many answers as the others."""
    for client in "abcdef":
        workers.ask(client)
    for _ in range(60):
        workers.ask(workers.end(LONG / 2))
    counts = [workers.begun.count(client) for client in "abcdef"]
    assert max(counts) - min(counts) <= 1, counts


def test_whoever_waits_for_too_long_is_told_and_leaves_no_trace(workers: Workers) -> None:
    workers.ask("many", 2)
    workers.ask("late", wait_seconds=0.0)
    workers.tasks[-1].join()
    assert workers.refused == [
        "late: the worker processes that pattern questions need had no turn for this one within 0 s: there are 2, and "
        "each client gets its share of them; try again, or ask for less at a time"
    ]
    workers.ask("next")
    workers.end(LONG)
    assert workers.begun == ["many", "many", "next"]


def test_a_turn_that_comes_as_the_wait_ends_is_taken() -> None:
    """Of a busy server both are due in one pass of its event loop. The question failed, and its worker was lost."""
    workers = Workers(places=1)
    workers.ask("first")
    workers.ask("second", wait_seconds=1e-6)
    ends = gevent.get_hub().loop.timer(0)
    ends.start(workers.end_in_the_hub)
    workers.tasks[-1].join()
    assert (workers.begun, workers.refused) == (["first", "second"], [])
    workers.end(LONG)
    workers.ask("third")
    assert workers.begun[2:] == ["third"]


def test_a_task_that_is_killed_while_it_waits_or_works_gives_its_place_on(workers: Workers) -> None:
    workers.ask("many", 2)
    workers.ask("killed")
    workers.tasks[-1].kill()
    workers.ask("next")
    gevent.get_hub().loop.run_callback(workers.tasks[-1].throw, gevent.GreenletExit)
    workers.turns.end(workers.busy.pop(0), LONG)  # it is killed when it has its place, and has not gone on yet
    workers.ask("last")
    workers.tasks[-1].join()
    assert workers.begun == ["many", "many", "last"]


def test_one_worker_is_shared_too() -> None:
    workers = Workers(1)
    workers.ask("many", 5)
    workers.ask("one")
    workers.end(LONG)
    assert workers.begun == ["many", "one"]
    workers.end(LONG)
    assert workers.begun == ["many", "one", "many"]
    gevent.killall(workers.tasks)


def test_questions_of_other_clients_are_answered_beside_many_that_take_long(tmp_path: Path) -> None:
    """In the order of asking all of the many would come first, and they end only after that."""
    runtime = GeventRuntime(GeventOptions(processes=2, process_wait_seconds=600.0))
    for _ in range(2):
        runtime.run_in_process("test", jobs.echo, [], SOON_SECONDS)
    worked: list[float] = []
    held = tmp_path / "held"
    held.touch()

    def spin() -> None:
        with pytest.raises(WorkerDied):
            runtime.run_in_process("test", jobs.spin, [], 0.2, "many", worked=worked.append)

    def wait() -> None:
        parts = [str(held).encode()]
        runtime.run_in_process("test", jobs.wait_while_there, parts, 600.0, "many", worked=worked.append)

    tasks = [runtime.spawn(work) for work in (spin, *[wait] * 11)]
    gevent.sleep(0)
    try:
        for _ in range(3):
            answer = runtime.run_in_process("test", jobs.echo, [b"x"], SOON_SECONDS, "one", SOON_SECONDS)
            assert answer == [b"x"]
        assert len(worked) == 1, "the one that was killed for its time"
    finally:
        held.unlink()
    for task in tasks:
        task.join()
        assert task.error is None
    assert len(worked) == 12
    assert worked[0] >= 0.2
    runtime.close()
