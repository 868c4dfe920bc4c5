"""Several tasks of one session lock and unlock the same node: what the keeper looks after is what the session has."""

from collections.abc import Callable
from typing import Any

import pytest

from hbtable.lockservice.zookeeper.keeper import HeldLocks
from hbtable.lockservice.zookeeper.lock_service import ZooKeeperSession
from hbtable.runtime.keyed_locks import KeyedLocks
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.tiers import quick_first

PATH = "/servers/00000001-a.lock"


class Nodes:
    """ZooKeeper, as far as one session's locks are concerned. Each call of it takes its time."""

    def __init__(self, runtime: SimulatedRuntime) -> None:
        self._runtime = runtime
        self.made = 0
        self.there: dict[str, int] = {}

    def lock(self, by: float, target: Any, data: bytes) -> int:
        self._call()
        if target.node not in self.there:
            self.made += 1
            self.there[target.node] = self.made
        czxid = self.there[target.node]
        self._call()
        return czxid

    def unlock(self, by: float, target: Any) -> None:
        self._call()
        self.there.pop(target.node, None)
        self._call()

    def _call(self) -> None:
        self._runtime.sleep(self._runtime.random.random())


def session_over(runtime: SimulatedRuntime, nodes: Nodes) -> Any:
    """Without a connection."""
    session: Any = object.__new__(ZooKeeperSession)
    session.root, session._held, session._changes = "", HeldLocks(), nodes
    session._turns = KeyedLocks[str](runtime)

    def run(work: Callable[[float], Any]) -> Any:
        return work(0.0)

    session._run = run
    return session


@pytest.mark.parametrize("seed", quick_first(range(20), 4))
def test_the_keeper_looks_after_the_locks_that_there_are(seed: int) -> None:
    """A keeper that misses a lock ends the session, and with it its master."""
    runtime = SimulatedRuntime(seed)
    nodes = Nodes(runtime)
    session = session_over(runtime, nodes)

    def expire() -> None:
        for _ in range(10):
            session.lock(PATH, b"buried")
            runtime.sleep(runtime.random.random())
            session.unlock(PATH)

    def body() -> None:
        tasks = [runtime.spawn(expire, name="expire") for _ in range(3)]
        while not all(task.join(0.01) for task in tasks):
            missed = [node for node, czxid in session._held.all() if nodes.there.get(node) != czxid]
            assert missed == []
        assert nodes.there == {}
        assert session._held.all() == []

    runtime.run(body)
