"""What a serving process says of itself: whether clients should be sent to it, and why not."""

import pytest

from hbtable.access.options import AuthOptions
from hbtable.access.store import AccountFile
from hbtable.access.verification import Verifier
from hbtable.hbase.audit import AuditTrail
from hbtable.launch.http.metrics_export import MetricsPage
from hbtable.launch.http.page_access import PageAccess
from hbtable.launch.http.status import ProcessStatus
from hbtable.metrics.registry import Registry
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.testing.memory_lockservice import MemoryLockOptions, MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime


def test_readiness_follows_the_lock_and_the_operator() -> None:
    runtime = SimulatedRuntime(seed=1)

    def life() -> None:
        service = MemoryLockService(runtime, options=MemoryLockOptions(session_seconds=10.0))
        session = service.open_session("s")
        status = ProcessStatus(runtime, Registry(), session)
        status.open("127.0.0.1", 0, access=None)
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


def test_turns_of_the_hub_are_measured_only_for_pages_that_show_them() -> None:
    """They cost each call of a client that is slower than the server a tenth of its processor's time."""
    runtime, registry = GeventRuntime(), Registry()
    status = ProcessStatus(runtime, registry, MemoryLockService(runtime).open_session("s"))
    status.open("127.0.0.1", 0, access=None)
    for _ in range(10):
        runtime.sleep(0.001)
    status.close()
    ((_, _, turns),) = registry.histograms()
    assert turns.count == 0
    runtime.close()


@pytest.mark.parametrize("lost", [False, True])
def test_a_log_that_was_fenced_counts_as_a_lost_lock(lost: bool) -> None:
    runtime = SimulatedRuntime(seed=1)

    def life() -> None:
        status = ProcessStatus(runtime, Registry(), MemoryLockService(runtime).open_session("s"), lambda: lost)
        assert status.not_ready() == (["the lock was lost"] if lost else [])

    runtime.run(life)


def test_lines_that_the_audit_lost_are_a_figure() -> None:
    runtime = SimulatedRuntime(seed=1)

    def life() -> None:
        registry = Registry()
        status = ProcessStatus(runtime, registry, MemoryLockService(runtime).open_session("s"))
        audit = AuditTrail(lambda line: None, lambda: 0, lambda: "No space left on device", lambda: 7)
        verifier = Verifier(runtime, AccountFile("none"), AuthOptions(enabled=True))
        nobody = PageAccess(verifier, lambda _: False, lambda *_: False, False, lambda *_: None, audit)
        status.open("127.0.0.1", 0, access=nobody)
        assert status.not_ready() == []
        assert "hbtable_audit_lines_lost 7.0" in MetricsPage(runtime, registry).text().decode()
        status.close()

    runtime.run(life)
