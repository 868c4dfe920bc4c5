"""How many masters there are, and which: told by their locks, shown by `status`."""

import io
from typing import Any

import pytest

from hbtable.fs.memory import MemoryFileSystem
from hbtable.hbase.admin.structs import AdminMaster, AdminStatus
from hbtable.hbase.cluster_backend import LivingMaster, Masters
from hbtable.launch.thrift_gateway import masters
from hbtable.lockservice.paths import MASTER
from hbtable.master.master import Master
from hbtable.rpc.local import LocalTransport
from hbtable.shell.answers.formats import make_output
from hbtable.shell.commands.cluster.status import status
from hbtable.shell.context import Context
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime


def test_standbys_are_counted_and_one_of_them_takes_over() -> None:
    runtime = SimulatedRuntime(1)

    def main() -> None:
        service, fs = MemoryLockService(runtime), MemoryFileSystem(runtime)
        asking = service.open_session("asking")
        assert masters(asking) == Masters(None, [])
        found = []
        for number in range(3):
            session = service.open_session(f"m{number}")
            master = Master(runtime, session, fs, LocalTransport(), lambda: None)
            found.append((session, master, LivingMaster(f"h:{number}", runtime.wall_millis())))
            master.start(f"h:{number}")
            runtime.sleep(3)
        first, second, third = (about for _, _, about in found)
        assert masters(asking) == Masters(first, [second, third])
        found[0][1].stop()
        runtime.sleep(3)
        now = masters(asking)
        assert now.active in (second, third)
        assert first in now.standbys, "its process has not ended"
        found[0][0].close()
        now = masters(asking)
        assert {now.active, *now.standbys} == {second, third}
        for _, master, _ in found[1:]:
            master.stop()

    runtime.run(main)


def test_a_master_that_says_nothing_of_itself_is_the_active_one_all_the_same() -> None:
    runtime = SimulatedRuntime(1)

    def main() -> None:
        session = MemoryLockService(runtime).open_session("embedded")
        session.lock(MASTER)
        assert masters(session) == Masters(LivingMaster("", 0), [])

    runtime.run(main)


class Asked:
    """A server with this status."""

    def __init__(self, found: AdminStatus) -> None:
        self.found = found

    def admin(self, method: str) -> AdminStatus:
        assert method == "adminStatus"
        return self.found


def lines(found: AdminStatus, form: bytes) -> list[str]:
    stream = io.StringIO()
    context: Any = Context.__new__(Context)
    context.server, context.out = Asked(found), make_output("hbase", stream)
    status(context, [form])
    context.out.flush()
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("form", [b"summary", b"simple", b"detailed"])
def test_status_shows_the_masters_that_there_are(form: bytes) -> None:
    standbys = [AdminMaster("b", 2, 20), AdminMaster("c", 3, 0)]
    found = AdminStatus([AdminMaster("a", 1, 10)], standbys, [], ["dead-1"], [])
    shown = lines(found, form)
    if form == b"summary":
        assert shown == ["1 active master, 2 backup masters, 0 servers, 1 dead, 0.0000 average load"]
        return
    place = shown.index("active master:  a:1 10")
    assert shown[place + 1 : place + 4] == ["2 backup masters", "    b:2 20", "    c:3 0"]
    assert shown[shown.index("1 dead servers") + 1] == "    dead-1"


def test_status_shows_that_there_is_no_master() -> None:
    found = AdminStatus([], [AdminMaster("b", 2, 20)], [], [], [])
    assert lines(found, b"summary") == ["0 active master, 1 backup masters, 0 servers, 0 dead, 0.0000 average load"]
    assert not any(line.startswith("active") for line in lines(found, b"simple"))
