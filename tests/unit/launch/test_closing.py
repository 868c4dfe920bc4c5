"""The work of close() is done once, in a thread of its own, whoever interrupts whom."""

import threading
from typing import Any

import pytest

from hbtable.launch import closing as module
from hbtable.launch.closing import Closing


def test_the_first_work_is_done_once_and_everybody_waits_for_it() -> None:
    closing = Closing()
    done: list[str] = []
    may_end = threading.Event()

    def work() -> None:
        assert may_end.wait(60)
        done.append(threading.current_thread().name)

    def close() -> None:
        closing.begin(work)
        closing.wait()
        assert done == ["hbtable close"]
        done_for.append(True)

    done_for: list[bool] = []
    threads = [threading.Thread(target=close) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert done == []
    may_end.set()
    for thread in threads:
        thread.join(60)
    assert done_for == [True] * 4


def test_a_failure_is_raised_to_the_first_that_waits() -> None:
    closing = Closing()

    def fail() -> None:
        raise MemoryError

    closing.begin(fail)
    with pytest.raises(MemoryError):
        closing.wait()
    closing.wait()


def test_a_signal_handler_closes_while_the_thread_that_closes_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the thread is there, and before its starter knows it."""
    closing = Closing()
    done: list[str] = []

    class Interrupted(module.NativeThread):  # type: ignore[misc]  # final: only for this test
        def start(self) -> None:
            monkeypatch.undo()
            self._handler("before it runs")
            super().start()
            self._handler("when it runs")

        def _handler(self, when: str) -> Any:
            closing.begin(lambda: done.append("handler"))
            closing.wait()
            assert len(done) == 1, when

    monkeypatch.setattr(module, "NativeThread", Interrupted)
    closing.begin(lambda: done.append("closer"))
    closing.wait()
    assert len(done) == 1
