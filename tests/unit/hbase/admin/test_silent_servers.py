"""`status` says of a server that did not answer that it did not, and not that it serves nothing."""

import io
import json
from types import SimpleNamespace
from typing import Any

import pytest

from hbtable.hbase.admin.cluster import AdminClusterCalls
from hbtable.hbase.admin.structs import AdminServer, AdminStatus
from hbtable.hbase.cluster_backend import ClusterBackend, LivingServer, Masters
from hbtable.hbase.server_names import ServerNames
from hbtable.shell.answers.formats import make_output
from hbtable.shell.commands.cluster.status import status
from hbtable.shell.context import Context
from hbtable.testing.simulated.runtime import SimulatedRuntime


def calls() -> AdminClusterCalls:
    """Of a cluster in which `slow` does not answer."""
    admin: Any = SimpleNamespace(statuses=lambda names: {name: [] for name in names if name != "slow"})
    operations: Any = SimpleNamespace(
        every_tablet=list, table_records=list, task_deaths=lambda statuses: {}, balancer_rests=str
    )
    unused: Any = None
    servers = [LivingServer("idle", 1), LivingServer("slow", 2)]
    backend = ClusterBackend(admin, lambda: servers, operations, lambda: Masters(None, []), unused)
    return AdminClusterCalls(backend, ServerNames(backend, lambda incarnation: (incarnation.encode(), 9090)))


def test_it_is_told_from_one_without_tablets() -> None:
    found = SimulatedRuntime(1).run(lambda: calls().adminStatus()).servers
    assert found is not None
    assert [(server.name, server.silent) for server in found] == [("idle", False), ("slow", True)]
    assert SimulatedRuntime(1).run(lambda: calls().adminServers()) == found


def status_shown(form: bytes, output: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, list[str]]:
    """The command's output, and its notes about servers that did not answer."""
    servers = [AdminServer("idle", "idle", 9090, 1, [], 0), AdminServer("slow", "slow", 9090, 2, [], 0, True)]
    context: Any = Context.__new__(Context)
    found, out = AdminStatus([], [], servers, [], [], [], []), io.StringIO()
    context.server, context.out = SimpleNamespace(admin=lambda _name: found), make_output(output, out)
    status(context, [form])
    context.out.flush()
    return out.getvalue(), [line for line in capsys.readouterr().err.splitlines() if "did not answer" in line]


@pytest.mark.parametrize("form", [b"summary", b"simple", b"detailed", b"replication"])
def test_every_form_says_so(form: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    shown, notes = status_shown(form, "hbase", capsys)
    assert notes == ["did not answer: slow,9090,2; its regions are not counted"]
    if form in (b"simple", b"detailed"):
        idle, slow = shown.split("    idle:9090 1\n")[1].split("    slow:9090 2\n")
        assert "numberOfOnlineRegions=0" in idle
        assert slow.splitlines()[0].strip() == "did not answer"


@pytest.mark.parametrize("form", [b"simple", b"detailed"])
def test_a_record_has_no_figures_of_it(form: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    shown, _ = status_shown(form, "json", capsys)
    assert {"server": "slow,9090,2", "silent": True} in json.loads(shown)
