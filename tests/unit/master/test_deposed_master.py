"""A master that lost its lock and is asked all the same: its caller learns that nothing was begun."""

import pytest

from hbtable.errors import Unavailable
from hbtable.fs.memory import MemoryFileSystem
from hbtable.lockservice.paths import MASTER
from hbtable.master.master import Master
from hbtable.rpc.local import LocalTransport
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime


def test_a_deposed_master_begins_nothing_and_sends_its_callers_on() -> None:
    runtime = SimulatedRuntime(1)

    def main() -> None:
        service = MemoryLockService(runtime)
        session = service.open_session("first")
        lost: list[bool] = []
        master = Master(runtime, session, MemoryFileSystem(runtime), LocalTransport(), lambda: lost.append(True))
        with pytest.raises(Unavailable, match="this is not the master at the moment"):
            master.calls.delete_table(b"t")
        master.acquire("h:1")
        session.close()
        service.open_session("second").lock(MASTER, b"h:2")
        for call in (
            lambda: master.calls.delete_table(b"t"),
            lambda: master.calls.create_namespace(b"n", {}),
            lambda: master.calls.balance(),
        ):
            with pytest.raises(Unavailable, match=r"lost its lock and stops; .* nothing was begun, ask that one"):
                call()

    runtime.run(main)
