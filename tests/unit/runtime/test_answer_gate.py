"""A task that waits for an answer over a connection of its own is woken by it, or after the limit, and leaves
nothing."""

from collections.abc import Iterator
from typing import Any

import gevent
import pytest

from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.interface import Task
from hbtable.runtime.network import sockets
from hbtable.runtime.network.answer_gate import AnswerGate
from tests.harness.waiting import SOON_SECONDS

LONG_SECONDS = 600.0
SHORT_SECONDS = 0.02


class Ends:
    """A connection whose answers are waited for, and its other end."""

    def __init__(self) -> None:
        self.runtime = GeventRuntime()
        self.served: list[Any] = []
        self.over = self.runtime.event()
        self.listener = sockets.serve("127.0.0.1", 0, self._serve)
        self.socket = sockets.connect("127.0.0.1", self.listener.port, SOON_SECONDS)
        assert isinstance(self.socket, sockets.ServedSocket)
        assert isinstance(self.socket.rest, AnswerGate)
        self.gate = self.socket.rest
        while not self.served:
            self.runtime.sleep(0.001)

    def _serve(self, socket: Any, peer: Any) -> None:
        self.served.append(socket)
        self.over.wait()

    def receiving(self, seconds: float, found: list[object]) -> Task:
        """A task that receives, and is waiting for an answer on return."""

        def receive() -> None:
            self.socket.settimeout(seconds)
            try:
                found.append(self.socket.recv(100))
            except OSError as error:
                found.append(error)

        task = self.runtime.spawn(receive, name="receive")
        while self.gate._task is None and not found:
            self.runtime.sleep(0)
        return task

    def is_at_rest(self) -> bool:
        return self.gate._task is None and not self.gate._silence.active

    def close(self) -> None:
        self.over.set()
        self.socket.close()
        self.listener.close()


@pytest.fixture
def ends() -> Iterator[Ends]:
    both = Ends()
    yield both
    both.close()


def test_each_answer_is_received_and_no_timer_is_left(ends: Ends) -> None:
    for number in range(50):
        found: list[object] = []
        task = ends.receiving(LONG_SECONDS + number % 2, found)
        ends.served[0].sendall(b"%d" % number)
        assert task.join(SOON_SECONDS)
        assert found == [b"%d" % number]
        assert ends.is_at_rest()


def test_silence_is_a_timeout_after_which_others_may_wait(ends: Ends) -> None:
    for _ in range(3):
        found: list[object] = []
        assert ends.receiving(SHORT_SECONDS, found).join(SOON_SECONDS)
        assert isinstance(found[0], TimeoutError)
        assert ends.is_at_rest()
    found = []
    task = ends.receiving(LONG_SECONDS, found)
    ends.served[0].sendall(b"late")
    assert task.join(SOON_SECONDS)
    assert found == [b"late"]


def test_a_connection_that_is_closed_while_somebody_waits_is_an_error_for_him(ends: Ends) -> None:
    found: list[object] = []
    task = ends.receiving(LONG_SECONDS, found)
    ends.socket.close()
    assert task.join(SOON_SECONDS)
    assert isinstance(found[0], OSError)
    assert ends.is_at_rest()


def test_the_peers_end_wakes_whoever_waits(ends: Ends) -> None:
    found: list[object] = []
    task = ends.receiving(LONG_SECONDS, found)
    ends.over.set()
    assert task.join(SOON_SECONDS)
    assert found == [b""]


def test_a_task_that_is_killed_leaves_the_connection_to_the_next_one(ends: Ends) -> None:
    found: list[object] = []
    task = ends.receiving(LONG_SECONDS, found)
    task.kill()
    assert found == []
    assert ends.is_at_rest()
    task = ends.receiving(LONG_SECONDS, found)
    ends.served[0].sendall(b"answer")
    assert task.join(SOON_SECONDS)
    assert found == [b"answer"]


def test_others_run_meanwhile(ends: Ends) -> None:
    found: list[object] = []
    task = ends.receiving(LONG_SECONDS, found)
    ran: list[int] = []
    gevent.joinall([gevent.spawn(ran.append, number) for number in range(10)])
    assert ran == list(range(10))
    assert found == []
    ends.served[0].sendall(b"x")
    assert task.join(SOON_SECONDS)
