"""`status` shows background tasks that died, of whichever role, also beside roles of older releases."""

import io
from types import SimpleNamespace
from typing import Any

import pytest

from hbtable.client.cluster_admin import ClusterAdmin
from hbtable.errors import HbtableError, StaleLocation, Unavailable, UnsupportedFormat
from hbtable.hbase.admin.cluster import AdminClusterCalls
from hbtable.hbase.admin.structs import AdminStatus, AdminTaskDeath
from hbtable.hbase.cluster_backend import ClusterBackend, LivingMaster, LivingServer, Masters
from hbtable.hbase.server_names import ServerNames
from hbtable.rpc.declaration import DeclaredCall
from hbtable.rpc.services import MasterService, TabletAdmin
from hbtable.shell.answers.formats import make_output
from hbtable.shell.commands.cluster.status import status
from hbtable.shell.context import Context
from hbtable.testing.simulated.runtime import SimulatedRuntime

DIED = "background task 'maintenance' died of IndexError: list index out of range (once, 3 s ago)"
SERVERS = ("new", "old", "gone")


class Cluster:
    """Three tablet servers and a master; who does not answer a call raises an error of `errors`."""

    def __init__(self, errors: dict[str, HbtableError], deaths: dict[str, list[str]]) -> None:
        self.errors = errors
        self.deaths = deaths
        self.asked: list[str] = []

    def carry(self, name: str) -> Any:
        def carry(declared: DeclaredCall, _arguments: tuple[object, ...]) -> object:
            if declared.name == "tablets":
                return []
            if declared.name == "balancer_rests":
                return ""
            self.asked.append(name)
            if name in self.errors:
                raise self.errors[name]
            return self.deaths.get(name, [])

        return carry

    def tablet_admin(self, name: str) -> TabletAdmin:
        return TabletAdmin(self.carry(name))

    def master(self) -> MasterService:
        return MasterService(self.carry("master"))

    def status(self, runtime: SimulatedRuntime, master: LivingMaster | None) -> AdminStatus:
        catalog: Any = SimpleNamespace()
        transport: Any = self
        operations: Any = ClusterAdmin(runtime, transport, catalog, 2)
        operations.every_tablet = operations.table_records = list
        admin: Any = SimpleNamespace(statuses=lambda names: {name: [] for name in names if name != "gone"})
        toggles: Any = None
        servers = [LivingServer(name, number) for number, name in enumerate(SERVERS)]
        backend = ClusterBackend(admin, lambda: servers, operations, lambda: Masters(master, []), toggles)
        names = ServerNames(backend, lambda incarnation: (incarnation.encode() or b"here", 9090))
        return AdminClusterCalls(backend, names).adminStatus()


def asked(cluster: Cluster, master: LivingMaster | None) -> AdminStatus:
    runtime = SimulatedRuntime(1)
    return runtime.run(lambda: cluster.status(runtime, master))


MASTER = LivingMaster("m:1", 5)


@pytest.mark.parametrize(
    "error", [UnsupportedFormat("old does not know it"), StaleLocation("it left"), Unavailable("not now")]
)
def test_each_role_that_knows_the_call_is_heard(error: HbtableError) -> None:
    cluster = Cluster({"old": error}, {"new": [DIED, "another"], "master": [DIED]})
    assert asked(cluster, MASTER).task_deaths == [
        AdminTaskDeath("new,9090,0", DIED),
        AdminTaskDeath("new,9090,0", "another"),
        AdminTaskDeath("master m:1", DIED),
    ]
    assert sorted(cluster.asked) == ["master", "new", "old"], "who did not answer before is not asked again"


@pytest.mark.parametrize("error", [UnsupportedFormat("it is older"), Unavailable("there is none now")])
def test_a_master_that_does_not_answer_takes_nothing_from_status(error: HbtableError) -> None:
    cluster = Cluster({"master": error}, {"new": [DIED]})
    assert asked(cluster, MASTER).task_deaths == [AdminTaskDeath("new,9090,0", DIED)]


@pytest.mark.parametrize("master", [None, LivingMaster("", 0)])
def test_a_master_within_the_only_tablet_server_is_not_asked_twice(master: LivingMaster | None) -> None:
    cluster = Cluster({}, {"new": [DIED], "master": [DIED]})
    assert asked(cluster, master).task_deaths == [AdminTaskDeath("new,9090,0", DIED)]


@pytest.mark.parametrize("form", [b"summary", b"simple", b"detailed", b"replication"])
@pytest.mark.parametrize("deaths", [None, [AdminTaskDeath("new,9090,0", DIED)]])
def test_every_form_of_status_shows_them(
    form: bytes, deaths: list[AdminTaskDeath] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    context: Any = Context.__new__(Context)
    found = AdminStatus([], [], [], [], [], None, deaths)
    context.server, context.out = SimpleNamespace(admin=lambda _name: found), make_output("hbase", io.StringIO())
    status(context, [form])
    context.out.flush()
    shown = [line for line in capsys.readouterr().err.splitlines() if "died" in line]
    assert shown == ([f"task died: new,9090,0: {DIED}"] if deaths else [])
