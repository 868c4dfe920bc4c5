"""What a serving process says of itself: whether clients should be sent to it, and why not."""

import pytest

from hbtable.launch.http.status import ProcessStatus
from hbtable.metrics.registry import Registry
from hbtable.testing.memory_lockservice import MemoryLockOptions, MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime


def test_readiness_follows_the_lock_and_the_operator() -> None:
    runtime = SimulatedRuntime(seed=1)

    def life() -> None:
        service = MemoryLockService(runtime, options=MemoryLockOptions(session_seconds=10.0))
        session = service.open_session("s")
        status = ProcessStatus(runtime, Registry(), session)
        status.open("127.0.0.1", 0)
        assert (status.not_ready(), status.pages("h")) == ([], "")
        service.cut(session)
        runtime.sleep(9.0)
        assert status.not_ready() == ["the lock service cannot be reached"]
        service.heal(session)
        runtime.sleep(0.5)
        service.expire(session)
        status.drain()
        assert status.not_ready() == ["draining", "the lock was lost"]
        status.close()

    runtime.run(life)


@pytest.mark.parametrize("lost", [False, True])
def test_a_log_that_was_fenced_counts_as_a_lost_lock(lost: bool) -> None:
    runtime = SimulatedRuntime(seed=1)

    def life() -> None:
        status = ProcessStatus(runtime, Registry(), MemoryLockService(runtime).open_session("s"), lambda: lost)
        assert status.not_ready() == (["the lock was lost"] if lost else [])

    runtime.run(life)
