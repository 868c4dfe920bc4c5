"""The hub looks on for a moment before it sleeps, as long as that pays."""

import os
import time
from collections.abc import Callable, Iterator

import gevent
import pytest

from hbtable.runtime import busy_poll
from hbtable.runtime.busy_poll import BusyPoll
from hbtable.runtime.gevent_runtime import GeventRuntime

LIMIT_SECONDS = 0.0001
LOOK_SECONDS = 0.00001


class _Watcher:
    def __init__(self) -> None:
        self.callback: Callable[[], None] | None = None
        self.closed = False
        self.starts = 0

    def start(self, callback: Callable[[], None]) -> None:
        self.starts += 1
        self.callback = callback

    def stop(self) -> None:
        self.callback = None

    def close(self) -> None:
        self.closed = True


class _Loop:
    """A turn of libev's: what is called before it looks, the look, and the idle watcher where it saw nothing. It sleeps
    where no idle watcher is active."""

    MINPRI = -2

    def __init__(self) -> None:
        self.before, self.awake = _Watcher(), _Watcher()
        self.now = 0.0
        self.looks = 0

    def prepare(self, ref: bool, priority: int) -> _Watcher:
        assert not ref
        assert priority == self.MINPRI
        return self.before

    def idle(self, ref: bool, priority: int) -> _Watcher:
        assert not ref
        assert priority == self.MINPRI
        return self.awake

    def wait_for(self, seconds: float) -> bool:
        """Until something happens `seconds` from now. Whether the hub was awake then."""
        happens = self.now + seconds
        while True:
            assert self.before.callback is not None
            self.before.callback()
            if self.awake.callback is None:
                self.now = happens
                return False
            if self.now >= happens:
                return True
            self.awake.callback()
            self.looks += 1
            self.now += LOOK_SECONDS


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Loop]:
    fake = _Loop()
    hub = type("Hub", (), {"loop": fake})()
    monkeypatch.setattr(busy_poll, "get_hub", lambda: hub)
    monkeypatch.setattr(busy_poll, "spare_processors", lambda: True)
    yield fake
    assert fake.before.callback is fake.awake.callback is None


@pytest.fixture
def poll(loop: _Loop) -> Iterator[BusyPoll]:
    one = BusyPoll(LIMIT_SECONDS, lambda: loop.now)
    one.start()
    yield one
    one.stop()
    one.stop()
    assert loop.before.closed
    assert loop.awake.closed


@pytest.mark.usefixtures("poll")
def test_requests_that_come_soon_find_the_hub_awake(loop: _Loop) -> None:
    assert all(loop.wait_for(LIMIT_SECONDS * 0.8) for _ in range(200))


@pytest.mark.usefixtures("poll")
def test_a_late_one_among_many_does_not_end_it(loop: _Loop) -> None:
    for _ in range(20):
        assert all(loop.wait_for(LIMIT_SECONDS / 2) for _ in range(8))
        assert not loop.wait_for(1.0)


@pytest.mark.usefixtures("poll")
def test_slow_clients_cost_a_look_in_many_sleeps(loop: _Loop) -> None:
    assert not any(loop.wait_for(1.0) for _ in range(650))
    assert 5 <= loop.awake.starts <= 11


@pytest.mark.usefixtures("poll")
def test_waits_that_are_long_and_short_in_turns_do_not_pay(loop: _Loop) -> None:
    """As of a lone client that writes, and whose server waits for the disk before each answer."""
    awake = [loop.wait_for(1.0 if turn % 2 else LIMIT_SECONDS / 2) for turn in range(1300)]
    assert sum(awake) <= 2 * 1300 / 64


@pytest.mark.usefixtures("poll")
def test_looks_in_vain_are_no_work(loop: _Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tablet is split when its requests need much of the processor, and not for what the hub looked beside them."""
    monkeypatch.setattr(time, "process_time", lambda: 100.0)
    before = busy_poll.worked_seconds()
    for _ in range(100):
        assert loop.wait_for(0.0)  # the next request is there already
    assert busy_poll.worked_seconds() == before
    looks = loop.looks
    for _ in range(100):
        assert loop.wait_for(LIMIT_SECONDS / 2)
    assert 0 < before - busy_poll.worked_seconds() <= 0.00002 * (loop.looks - looks) * 1.001


@pytest.mark.parametrize("seconds", [0.0, LIMIT_SECONDS])
def test_it_can_be_turned_off_and_is_where_there_is_one_processor(
    loop: _Loop, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(busy_poll, "spare_processors", lambda: seconds == 0)
    one = BusyPoll(seconds)
    one.start()
    assert loop.before.callback is None
    one.stop()


def test_processors_are_those_that_the_process_may_use() -> None:
    if hasattr(os, "sched_setaffinity"):
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(before)})
        try:
            assert not busy_poll.spare_processors()
        finally:
            os.sched_setaffinity(0, before)
        assert busy_poll.spare_processors() == (len(before) > 1)
    else:
        assert busy_poll.spare_processors() == ((os.cpu_count() or 1) > 1)


@pytest.mark.parametrize("several", [True, False])
def test_who_waits_awake_hears_of_the_event_and_of_the_end_of_the_time(
    monkeypatch: pytest.MonkeyPatch, several: bool
) -> None:
    monkeypatch.setattr(busy_poll, "spare_processors", lambda: several)
    runtime, loop = GeventRuntime(), gevent.get_hub().loop
    event = runtime.event()
    before = loop.iteration
    for _ in range(10):  # more than one where others have the processors
        if loop.iteration - before <= 200:
            assert not event.wait_awake(0.05)
    assert (loop.iteration - before > 200) == several  # with one processor it sleeps
    runtime.spawn(event.set)
    assert event.wait_awake(10.0)
    before = loop.iteration
    assert event.wait_awake(10.0)
    runtime.sleep(0.05)
    assert loop.iteration - before < 20
    runtime.close()


def test_timers_threads_and_tasks_go_on_and_an_idle_hub_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(busy_poll, "spare_processors", lambda: True)
    runtime = GeventRuntime()
    poll = BusyPoll(LIMIT_SECONDS)
    poll.start()
    began = time.process_time()
    runtime.sleep(0.5)
    assert time.process_time() - began < 0.25
    for number in range(100):
        assert runtime.offload("file-read", lambda told: told, number) == number
        task = runtime.spawn(runtime.sleep, 0)
        assert task.join(10.0)
    runtime.close()
    poll.stop()
