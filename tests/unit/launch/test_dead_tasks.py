"""A background task that dies of a bug: its work goes on, and /readyz says so meanwhile."""

import pytest

from hbtable.fs.memory import MemoryFileSystem
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.launch.http.status import ProcessStatus
from hbtable.lockservice.local import LocalLockService
from hbtable.master.master import Master
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tabletserver.maintenance import Maintenance
from hbtable.testing.simulated.runtime import SimulatedRuntime

SCHEMA = TableSchema(b"t", {b"f": FamilySchema(b"f")})


@pytest.mark.parametrize(
    ("name", "owner", "method"), [("maintenance", Maintenance, "look"), ("master", Master, "cycle")]
)
def test_the_work_goes_on_and_readyz_says_what_happened(
    monkeypatch: pytest.MonkeyPatch, name: str, owner: type, method: str
) -> None:
    runtime = SimulatedRuntime(1)
    runtime.deaths.restarts = True
    memory = MemoryFileSystem(runtime)
    step = getattr(owner, method)
    steps: list[bool] = []

    def broken_once(self: object) -> object:
        steps.append(True)
        if len(steps) == 1:
            raise IndexError("list index out of range")
        return step(self)

    def life() -> None:
        cluster = EmbeddedCluster(runtime, memory, LocalLockService(memory, runtime))
        cluster.start()
        status = ProcessStatus(runtime, cluster.registry, cluster.session)
        assert status.not_ready() == []
        monkeypatch.setattr(owner, method, broken_once)
        cluster.master.wake()
        runtime.sleep(5.0)
        (reason,) = status.not_ready()
        assert reason.startswith(f"background task {name!r} died of IndexError: list index out of range")
        assert len(steps) > 1
        cluster.client.admin.create_table(SCHEMA, [])
        runtime.sleep(100.0)
        assert status.not_ready() == []
        assert cluster.server is not None
        here = cluster.server.incarnation
        operations = cluster.client.operations
        said = operations.task_deaths([here, "of one that is gone"])
        assert [text.partition(" died of")[0] for text in said.pop(here)] == [f"background task {name!r}"]
        assert said == {}
        assert operations.master_task_deaths() == operations.task_deaths([here])[here]
        assert cluster.stop() == ""

    runtime.run(life)
