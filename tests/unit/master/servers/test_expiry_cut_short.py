"""Whatever call the end of a dead server breaks off at, the next look at the servers finishes it: a server is never
neither alive nor dead."""

from collections.abc import Callable
from typing import Any

import pytest

from hbtable.errors import HbtableError, LockLost, OutcomeUnknown, Unavailable
from hbtable.lockservice.interface import Session
from hbtable.lockservice.paths import ServerFile, server_file, server_lock
from hbtable.master.own_changes import OwnSession
from hbtable.master.servers.liveness import Servers, expire_server, list_servers
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.delegating_fake import DelegatingFake

DEAD = "00000001-dead"
CALLS = ("holder", "lock", "delete", "unlock")


class Breaking(DelegatingFake):
    """A session of which one call fails once, before or after the lock service has carried it out."""

    def __init__(self, inner: Any, call: str, carried_out: bool) -> None:
        super().__init__(inner)
        self.call, self.carried_out = call, carried_out

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if name != self.call:
            return method

        def fails(*arguments: Any) -> None:
            self.call = ""
            if self.carried_out:
                method(*arguments)
                raise OutcomeUnknown("no answer")
            raise Unavailable("away")

        return fails


class Scene:
    """A server that died, and two masters' sessions, of which the first ends only by itself."""

    def __init__(self, runtime: SimulatedRuntime) -> None:
        locks = MemoryLockService(runtime)
        server = locks.open_session("server")
        server.lock(server_lock(DEAD))
        server.create(server_file(DEAD), ServerFile("", 0).encode())
        server.close()
        self.first, self.second = locks.open_session("first"), locks.open_session("second")


def played(act: Callable[[Scene], None]) -> None:
    runtime = SimulatedRuntime(1)
    runtime.run(lambda: act(Scene(runtime)))


def check_gone(session: Session) -> None:
    """Another look than the one that ended it: nothing is left of the server."""
    assert list_servers(session) == Servers({}, [], frozenset())
    assert expire_server(session, DEAD)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("carried_out", [False, True])
def test_a_master_finishes_what_it_was_broken_off_at(call: str, carried_out: bool) -> None:
    def act(scene: Scene) -> None:
        with pytest.raises(HbtableError):
            list_servers(Breaking(scene.first, call, carried_out))
        servers = list_servers(scene.first)
        assert not servers.living
        check_gone(scene.first)
        check_gone(scene.second)

    played(act)


@pytest.mark.parametrize("changes", range(2))
def test_a_master_that_is_deposed_between_two_changes_leaves_no_lock(changes: int) -> None:
    def act(scene: Scene) -> None:
        left = [changes]

        def check() -> None:
            if not left[0]:
                raise LockLost("this master has stopped")
            left[0] -= 1

        with pytest.raises(LockLost):
            list_servers(OwnSession(scene.first, check))
        assert list_servers(scene.second).expired == [DEAD]
        check_gone(scene.second)

    played(act)


@pytest.mark.parametrize("own", [True, False])
def test_a_server_that_starts_is_not_taken_for_one_that_was_ended(own: bool) -> None:
    def act(scene: Scene) -> None:
        (scene.first if own else scene.second).lock(server_lock("00000002-new"))
        assert list_servers(scene.first).starting == {"00000002-new"}
        assert list_servers(scene.first).starting == {"00000002-new"}

    played(act)
