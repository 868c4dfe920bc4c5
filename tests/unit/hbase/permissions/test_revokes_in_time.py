"""A right that was revoked a second ago lets nobody in, whatever keeps a server from hearing of it."""

from collections.abc import Callable
from random import Random
from typing import Any, cast

import pytest

from hbtable.access.actions import Action
from hbtable.access.grants_file import grants_file
from hbtable.access.scopes import of_table
from hbtable.access.user import User
from hbtable.errors import AccessDenied, TableNotFound, Unavailable
from hbtable.hbase.permissions.guard import Guard
from hbtable.lockservice.interface import Session, VersionedFile
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime

PROMISED_SECONDS = 1.0
TABLE = of_table(b"t")


class Slow:
    """A session of a server that is busy or cut off: what it reads comes late, or not at all, and hints are lost."""

    def __init__(self, runtime: SimulatedRuntime, inner: Session) -> None:
        self._runtime = runtime
        self._inner = inner
        self.seconds: Callable[[], float] = lambda: 0.0
        self.is_away: Callable[[], bool] = lambda: False
        self.reads = 0
        self.may_be_behind = 0
        """Of the reads those that a server of ZooKeeper answers by itself, whatever its leader knows."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def watch(self, folder: str, changed: Callable[[], None]) -> None: ...

    def read(self, path: str, latest: bool = False) -> VersionedFile:
        self.reads += 1
        self.may_be_behind += not latest
        self._runtime.sleep(self.seconds() / 2)
        found = None if self.is_away() else self._inner.read(path)
        self._runtime.sleep(self.seconds() / 2)
        if found is None:
            raise Unavailable("the lock service does not answer")
        return found


class Scene:
    """A server whose caller is ann, and an administrator with a session of her own."""

    def __init__(self, seed: int = 1) -> None:
        self.runtime = SimulatedRuntime(seed)
        service = MemoryLockService(self.runtime)
        self.file = grants_file(service.open_session("administrator"))
        self.session = Slow(self.runtime, service.open_session("server"))
        self.caller = User("ann")
        self.guard = Guard(
            self.runtime, cast(Session, self.session), frozenset(("root",)), list, self._record, lambda: self.caller
        )

    def _record(self, name: bytes) -> Any:
        raise TableNotFound(name.decode())

    def grant(self) -> None:
        self.file.change(lambda grants: grants.with_grant("ann", TABLE, Action.READ))

    def revoke(self) -> None:
        self.file.change(lambda grants: grants.without("ann", TABLE))

    def data(self) -> None:
        self.guard.data.readable(b"t", None)

    def whole(self) -> None:
        self.guard.check(TABLE, Action.READ)

    def is_let_in(self, check: Callable[[], None] | None = None) -> bool | None:
        """None: that cannot be found out now."""
        try:
            (check or self.data)()
        except AccessDenied:
            return False
        except Unavailable:
            return None
        return True


@pytest.mark.parametrize("check", ["data", "whole"])
def test_who_hears_nothing_refuses_and_does_not_go_on(check: str) -> None:
    scene = Scene()

    def run() -> None:
        scene.grant()
        scene.guard.start()
        asked: Callable[[], None] = getattr(scene, check)
        assert scene.is_let_in(asked) is True
        scene.session.is_away = lambda: True
        scene.revoke()
        scene.runtime.sleep(PROMISED_SECONDS)
        assert scene.is_let_in(asked) is None
        scene.caller = User("root")
        assert scene.is_let_in(asked) is True  # who is in the configuration
        scene.caller = User("ann")
        scene.session.is_away = lambda: False
        assert scene.is_let_in(asked) is False  # at once, and not at the next look
        assert scene.session.may_be_behind == 0
        scene.guard.stop()

    scene.runtime.run(run)


def test_a_read_that_hangs_keeps_calls_waiting_and_lets_nobody_in() -> None:
    scene = Scene()
    answers: list[bool | None] = []

    def run() -> None:
        scene.grant()
        scene.guard.start()
        scene.session.seconds = lambda: 6.0
        scene.runtime.sleep(0.6)  # the next look is under way
        scene.revoke()
        scene.runtime.sleep(PROMISED_SECONDS)
        before = scene.session.reads
        calls = [scene.runtime.spawn(lambda: answers.append(scene.is_let_in()), name="call") for _ in range(50)]
        for call in calls:
            call.join()
        assert answers == [False] * 50
        assert scene.session.reads <= before + 6  # they share them
        scene.guard.stop()

    scene.runtime.run(run)


@pytest.mark.parametrize("seed", range(30))
def test_no_right_lasts_longer_than_promised(seed: int) -> None:
    """Slow and lost answers, rights that come and go, calls at any time: against what the administrator was told."""
    random = Random(seed)
    scene = Scene(seed)
    runtime = scene.runtime
    slowest = random.choice([0.2, 0.8, 3.0])
    scene.session.seconds = lambda: random.uniform(0, slowest)
    scene.session.is_away = lambda: random.random() < 0.2
    told: list[tuple[float, bool]] = []
    wrong: list[str] = []
    seen: set[bool | None] = set()

    def call() -> None:
        came = runtime.clock_seconds()
        answer = scene.is_let_in()
        seen.add(answer)
        asked_of = [is_granted for at, is_granted in told if at <= came - PROMISED_SECONDS]
        later = {is_granted for at, is_granted in told if at > came - PROMISED_SECONDS}
        if answer is not None and later | set(asked_of[-1:]) == {not answer} and not changing:
            wrong.append(f"a call at {came:.2f} s was answered by {answer}, after {told[-3:]}")

    changing: list[bool] = []

    def run() -> None:
        scene.revoke()
        told.append((runtime.clock_seconds(), False))
        scene.guard.start()
        for number in range(60):
            changing.append(True)
            (scene.revoke if number % 2 else scene.grant)()
            changing.clear()
            told.append((runtime.clock_seconds(), number % 2 == 0))
            for _ in range(random.randrange(8)):
                runtime.sleep(random.uniform(0, 0.8))
                call()
        scene.guard.stop()

    runtime.run(run)
    assert not wrong
    assert {True, False} <= seen


def test_a_change_by_this_server_is_in_force_in_it_whatever_is_still_on_its_way() -> None:
    """A look that began before it comes back after it."""
    scene = Scene()

    def run() -> None:
        scene.grant()
        scene.caller = User("root")
        scene.guard.start()
        scene.session.seconds = lambda: 0.4
        scene.runtime.sleep(0.55)  # a look is under way
        scene.session.seconds = lambda: 0.0
        scene.guard.revoke("ann", TABLE)
        scene.caller = User("ann")
        for _ in range(40):
            assert scene.is_let_in() is False
            scene.runtime.sleep(0.02)
        scene.guard.stop()

    scene.runtime.run(run)
