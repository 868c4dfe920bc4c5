"""The watchdog's own end."""

from hbtable.launch.roles.watchdog import LOST, Watchdog
from hbtable.lockservice.interface import Session
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.waiting import eventually


def test_a_bug_in_it_ends_the_process(capfd) -> None:
    runtime, codes = SimulatedRuntime(1), list[int]()

    def watch() -> Session:
        session = MemoryLockService(runtime).open_session("s")
        Watchdog(runtime, codes.append).watch(session)
        return session

    def broken() -> bool:
        raise IndexError("list index out of range")

    session = runtime.run(watch)
    session.over = broken  # type: ignore[method-assign]
    eventually(lambda: codes, 60, "its end")
    assert codes == [LOST]
    assert "the watchdog died of IndexError: list index out of range; stopping" in capfd.readouterr().err
