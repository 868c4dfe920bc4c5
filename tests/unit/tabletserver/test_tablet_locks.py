"""Turns of those who load, unload and split a tablet, and loads that are ended."""

from collections.abc import Callable

import pytest

from hbtable.errors import Unavailable
from hbtable.runtime.interface import Task
from hbtable.tabletserver.tablet_locks import TabletLocks
from hbtable.testing.simulated.runtime import SimulatedRuntime

TABLET = 22


class Desk:
    """Loads and unloads of one tablet, and what became of them in order."""

    def __init__(self) -> None:
        self.runtime = SimulatedRuntime(1)
        self.locks = TabletLocks(self.runtime)
        self.did: list[str] = []

    def load(self, name: str, open_tablet: Callable[[], str]) -> Task:
        def run() -> None:
            with self.locks.hold(TABLET):
                try:
                    self.did.append(f"{name}: {self.locks.opened(TABLET, open_tablet)}")
                except Unavailable:
                    self.did.append(f"{name}: given up")

        return self._begun(run)

    def unload(self, name: str) -> Task:
        def run() -> None:
            with self.locks.hold(TABLET, unloads=True):
                self.did.append(f"{name}: unloaded")

        return self._begun(run)

    def hang(self) -> str:
        try:
            self.runtime.event().wait()
        finally:
            self.did.append("it ended")
        return "loaded"

    def slow(self) -> str:
        self.runtime.sleep(1)
        return "loaded"

    def _begun(self, run: Callable[[], None]) -> Task:
        task = self.runtime.spawn(run)
        self.runtime.sleep(0.1)
        return task


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_who_comes_to_unload_ends_the_load_and_those_before_him_but_not_those_after(desk: Desk) -> None:
    def body() -> None:
        desk.load("first", desk.hang)
        desk.load("second", desk.hang)
        assert desk.did == []
        tasks = [
            desk.unload("third"),
            desk.load("fourth", desk.slow),
            desk.unload("fifth"),
            desk.load("sixth", desk.slow),
        ]
        for task in tasks:
            task.join()
        assert desk.did == [
            "it ended",
            "first: given up",
            "second: given up",
            "third: unloaded",
            "fourth: given up",
            "fifth: unloaded",
            "sixth: loaded",
        ]
        assert not desk.locks.any()

    desk.runtime.run(body)


def test_a_split_waits_for_the_load(desk: Desk) -> None:
    def body() -> None:
        load = desk.load("load", desk.slow)
        with desk.locks.hold(TABLET):
            assert desk.did == ["load: loaded"]
        load.join()
        assert not desk.locks.any()

    desk.runtime.run(body)


def test_a_load_that_is_done_when_its_end_is_asked_for_counts_as_done(desk: Desk) -> None:
    """And is unloaded like any other."""

    def body() -> None:
        def open_tablet() -> str:
            desk.runtime.spawn(desk.unload, "unload")
            return "loaded"

        desk.load("load", open_tablet).join()
        desk.runtime.sleep(1)
        assert desk.did == ["load: loaded", "unload: unloaded"]

    desk.runtime.run(body)


def test_its_own_error_reaches_who_asked_for_the_load(desk: Desk) -> None:
    def fail() -> str:
        raise KeyError("a bug")

    def body() -> None:
        with desk.locks.hold(TABLET), pytest.raises(KeyError, match="a bug"):
            desk.locks.opened(TABLET, fail)
        assert not desk.locks.any()

    desk.runtime.run(body)


def test_a_load_whose_caller_is_killed_does_not_go_on(desk: Desk) -> None:
    def body() -> None:
        desk.load("load", desk.hang).kill()
        assert desk.did == ["it ended"]
        assert not desk.locks.any()

    desk.runtime.run(body)
