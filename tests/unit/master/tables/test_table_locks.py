"""One operation at a time holds a table; guests wait only for those that let none in."""

import random
from collections.abc import Callable

import pytest

from hbtable.errors import Unavailable
from hbtable.master.tables.table_locks import TableLocks
from hbtable.testing.simulated.runtime import SimulatedRuntime


class Scene:
    """What the holders and guests of one table do."""

    def __init__(self, seed: int) -> None:
        self.runtime = SimulatedRuntime(seed)
        self.locks = TableLocks(self.runtime)
        self.did: list[str] = []
        self.inside: list[str] = []

    def work(self, way: str, title: str, seconds: float = 1.0, fails: bool = False) -> None:
        with getattr(self.locks, way)(b"t"):
            self.inside.append(way)
            self.did.append(f"{title} begins")
            holders = [one for one in self.inside if one != "visit"]
            assert len(holders) <= 1
            assert "hold" not in self.inside or len(self.inside) == 1
            try:
                self.runtime.sleep(seconds)
            finally:
                self.inside.remove(way)
            self.did.append(f"{title} ends")
            if fails:
                raise Unavailable("no server")

    def begin(self, *arguments: object) -> None:
        self.runtime.spawn(self.work, *arguments)
        self.runtime.sleep(0.01)

    def play(self, act: Callable[[], None]) -> None:
        self.runtime.run(act)
        assert not self.locks.is_held(b"t")
        assert not len(self.locks)


def test_those_that_hold_it_come_one_after_the_other() -> None:
    scene = Scene(1)

    def act() -> None:
        scene.begin("hold", "first", 1.0, True)
        scene.begin("hold_beside_guests", "second")
        scene.begin("hold", "third")
        assert scene.locks.is_held(b"t")
        assert not scene.locks.is_held(b"u")
        scene.runtime.sleep(4)
        assert scene.did == [f"{one} {does}" for one in ("first", "second", "third") for does in ("begins", "ends")]

    scene.play(act)


def test_a_guest_waits_for_no_move_and_the_next_operation_waits_for_the_guest() -> None:
    scene = Scene(1)

    def act() -> None:
        scene.begin("hold_beside_guests", "move", 1.0)
        scene.begin("hold", "disable", 1.0)
        scene.begin("visit", "guest", 2.0)
        assert scene.did == ["move begins", "guest begins"]
        scene.runtime.sleep(4)
        assert scene.did[2:] == ["move ends", "guest ends", "disable begins", "disable ends"]

    scene.play(act)


def test_a_guest_waits_for_an_operation_that_changes_the_table_and_comes_before_the_next() -> None:
    scene = Scene(1)

    def act() -> None:
        scene.begin("hold", "alter", 1.0)
        scene.begin("hold", "disable", 1.0)
        scene.begin("visit", "one", 1.0)
        scene.begin("visit", "other", 2.0)
        scene.runtime.sleep(1.5)
        assert scene.did == ["alter begins", "alter ends", "one begins", "other begins"]
        scene.runtime.sleep(4)
        assert scene.did[4:] == ["one ends", "other ends", "disable begins", "disable ends"]

    scene.play(act)


def test_moves_begin_beside_guests() -> None:
    scene = Scene(1)

    def act() -> None:
        scene.begin("visit", "guest", 2.0)
        scene.begin("hold_beside_guests", "move", 1.0)
        scene.runtime.sleep(3)
        assert scene.did == ["guest begins", "move begins", "move ends", "guest ends"]

    scene.play(act)


@pytest.mark.parametrize("way", ["hold", "visit"])
def test_one_that_is_ended_while_it_waits_leaves_nothing_behind(way: str) -> None:
    scene = Scene(1)

    def act() -> None:
        scene.begin("hold", "first", 2.0)
        waits = scene.runtime.spawn(scene.work, way, "waits")
        scene.runtime.sleep(0.5)
        waits.kill()
        waits.join()
        scene.begin("hold", "last", 1.0)
        scene.runtime.sleep(4)
        assert scene.did == ["first begins", "first ends", "last begins", "last ends"]

    scene.play(act)


def test_one_that_waits_too_long_is_refused_and_leaves_nothing_behind() -> None:
    scene = Scene(1)

    def act() -> None:
        scene.begin("hold", "first", 30.0)
        with pytest.raises(Unavailable, match="held up table t; nothing was begun"), scene.locks.hold(b"t", 20.0):
            raise AssertionError("it came in")
        assert scene.runtime.clock_seconds() < 21
        scene.begin("hold", "last", 1.0)
        scene.runtime.sleep(20)
        assert scene.did == ["first begins", "first ends", "last begins", "last ends"]

    scene.play(act)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_comes_everyone_has_its_turn(seed: int) -> None:
    scene, chance = Scene(seed), random.Random(f"locks {seed}")

    def act() -> None:
        tasks = []
        for number in range(60):
            way = chance.choice(["hold", "hold_beside_guests", "visit"])
            tasks.append(scene.runtime.spawn(scene.work, way, str(number), chance.uniform(0, 2)))
            scene.runtime.sleep(chance.choice([0, chance.uniform(0, 1)]))
            if chance.random() < 0.1:
                tasks[-1].kill()
        ended = [task.join(300) for task in tasks]
        assert all(ended)

    scene.play(act)


def test_whoever_has_his_turn_too_late_is_refused_as_well() -> None:
    """His task stood still: the turn came, and then the end of the wait, before it went on."""
    runtime = SimulatedRuntime(1)
    process = runtime.another_process("master")
    locks = TableLocks(process)
    did: list[str] = []

    def first() -> None:
        with locks.hold(b"t"):
            runtime.sleep(5)

    def second() -> None:
        with locks.hold(b"t", 20):
            did.append("began")

    def act() -> None:
        runtime.spawn(first)
        runtime.sleep(1)
        late = process.spawn(second)
        runtime.sleep(1)
        process.pause()
        runtime.sleep(60)
        process.resume()
        late.join()
        assert not did
        assert isinstance(late.error, Unavailable)
        runtime.sleep(1)
        assert not locks.is_held(b"t")

    runtime.run(act)
