"""Roles of this hbtable understand those of every release in `releases`, and the other way round, message by message.

cluster-tests/test_rolling_upgrade.py runs them side by side; here the interface files are compared, so that a change
which an older role would take for something else is refused before anything runs.

A release is kept whole: `git archive COMMIT hbtable thrift | xz -9e`. Its name ends with the version of the protocol.
One is added before the first change of a protocol, and none is ever removed.
"""

import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import thriftpy2
from thriftpy2.thrift import TType

from hbtable.errors import StaleLocation
from hbtable.rpc.codec.calls import BY_WIRE_NAME, USERS_METHODS
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.handshake import OURS
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.proof import ClusterKey
from hbtable.rpc.thrift_server import RpcServer
from hbtable.rpc.thrift_transport import RpcTransport
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network.sockets import serve

HERE = Path(__file__).parent
OURS_FOLDER = HERE.parents[1] / "thrift"
RELEASES = sorted((HERE / "releases").glob("*.tar.xz"))
FILES = ("tabletserver", "master")

MAY_BE_PASSED_OVER = {
    **{
        f"{name}.{part}": "the older role limits what it does itself, as it always did"
        for name in (f"TabletService.{method.name}" for method in BY_WIRE_NAME.values() if method.is_budgeted)
        for part in ("waitMillis", "spent", "cost")
    },
    "RowMutation.checksum": "the older role checks the frame alone",
    **{
        f"TabletService.{name}{caller}.checksum": "the older role checks the frame alone"
        for name in ("increment", "append", "check_and_mutate")
        for caller in ("", "_for_user")
    },
    "ScanRequest.aggregation": "the older role sends the rows, and who asked does the aggregate",
    "ScanPage.groups": "the older role did not ask for one",
    "ReadSpec.maxBytes": "the older role has a bound of its own",
    "ReadSpec.lifetimes": "the older role answers as for raw, which its values' first byte tells, and that is refused",
    "ScanPosition.column": "cellsDone says the same; the column is quicker",
    "ScanPosition.timestamp": "as its column",
    "ScanPosition.versions": "as its column",
    "TabletStatus.damaged": "shown to people",
    "ServedTablet.reads": "an older master places tablets by their number",
    "ServedTablet.writes": "as its reads",
    "ServedChanges.left": "an older master finds them at its next look at all tablets",
    "MasterService.create_table.creator": "an older master gives the creator no right: a superuser has to",
    "TabletAdmin.tablets.tableId": "the older role tells of every table, which is more than was asked for",
}
"""Fields that a release does not know, and why it does no harm that it skips them. A field of which that cannot be said
is no field: it takes a new call, which the older role refuses by name, or a new major version of the protocol."""

LATER_CALLS = {
    "TabletAdmin.ping": "that it is not known is an answer",
    "TabletAdmin.served_changes": "the master asks for all tablets each time, as it did of every server",
    "TabletAdmin.served_record": "the master reads the rows of the whole table",
    "TabletAdmin.family_usage": "the question is refused, and the message says which server to upgrade",
    "TabletAdmin.task_deaths": "`status` shows none of that server",
    **dict.fromkeys(
        (f"TabletService.{method.name}" for method in USERS_METHODS.values()),
        "a user's call is refused, and the message says which server to upgrade",
    ),
    "TabletService.add_to_columns": "nothing was done, and the gateway adds to one counter after the other",
    "TabletService.delete_range": "nothing is deleted, and the message says which server to upgrade",
    "TabletService.mutate_if": "nothing is changed, and the message says which server to upgrade",
    "TabletService.scan_with_times": "the scan is refused, and the message says which server to upgrade",
    **dict.fromkeys(
        ("RelayService.relay_read", "RelayService.relay_write"),
        "nothing was done, and the gateway makes the call of the decoded one, as the older one does",
    ),
    "MasterService.master_task_deaths": "`status` shows none of the master",
    "MasterService.balancer_rests": "`status` does not say it",
    "MasterService.ping_master": "that it is not known is an answer",
    **dict.fromkeys(
        (
            *("MasterService.normalize", "MasterService.normalizer_switch", "MasterService.normalizer_enabled"),
            *("MasterService.set_throttle", "MasterService.set_quota_exemption", "MasterService.quotas"),
            *("MasterService.set_space_limit", "MasterService.space_usage"),
            *("MasterService.set_throttling", "MasterService.throttling_enabled"),
        ),
        "the command is refused, and the message says which master to upgrade",
    ),
}
"""Calls that a release does not know, and what its refusal means."""


@pytest.fixture(scope="module", params=RELEASES, ids=lambda path: path.name.removesuffix(".tar.xz"))
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    with tarfile.open(request.param) as archive:
        archive.extractall(folder, filter="data")
    return folder


def loaded(folder: Path, name: str) -> ModuleType:
    words = "_".join((*folder.parts[-3:], name)).replace("-", "_")
    module: ModuleType = thriftpy2.load(str(folder / f"{name}.thrift"), module_name=f"{words}_thrift")
    return module


def shown(kind: int, more: Any) -> Any:
    """A type, structs by name."""
    if kind == TType.STRUCT:
        return more.__name__
    if kind in (TType.LIST, TType.SET):
        return kind, shown(*more) if isinstance(more, tuple) else more
    if kind == TType.MAP:
        return kind, [shown(*one) if isinstance(one, tuple) else one for one in more]
    return kind


def fields(struct: Any) -> dict[int, tuple[str, Any, bool]]:
    """By id: name, type, and whether it must be there."""
    found = {}
    for number, (kind, name, *more, required) in struct.thrift_spec.items():
        found[number] = (name, shown(kind, more[0] if more else None), bool(required))
    return found


def structs(module: ModuleType) -> dict[str, Any]:
    meta = module.__thrift_meta__
    return {struct.__name__: struct for struct in (*meta["structs"], *meta["exceptions"])}


def compare(name: str, old: Any, new: Any) -> None:
    """That either side understands what the other writes of this struct."""
    before, now = fields(old), fields(new)
    for number, (field, kind, required) in before.items():
        assert number in now, f"{name}.{field}: older roles send it"
        assert now[number][1] == kind, f"{name}.{field}: older roles send another type"
        assert required or not now[number][2], f"{name}.{field}: older roles may leave it out"
        assert now[number][2] or not required, f"{name}.{field}: older roles need it"
    for number in now.keys() - before.keys():
        field, _, required = now[number]
        assert not required, f"{name}.{field}: older roles do not send it"
        assert f"{name}.{field}" in MAY_BE_PASSED_OVER, f"{name}.{field}: older roles pass over it; is that harmless?"


@pytest.mark.parametrize("file", FILES)
def test_every_struct_of_a_release_is_understood_in_both_directions(release: Path, file: str) -> None:
    old, new = structs(loaded(release / "thrift", file)), structs(loaded(OURS_FOLDER, file))
    assert old.keys() <= new.keys()
    for name, struct in old.items():
        compare(name, struct, new[name])


@pytest.mark.parametrize("file", FILES)
def test_every_call_of_a_release_is_understood_in_both_directions(release: Path, file: str) -> None:
    old, new = loaded(release / "thrift", file), loaded(OURS_FOLDER, file)
    later = set()
    for now in new.__thrift_meta__["services"]:
        before = getattr(old, now.__name__, None)
        if before is None:
            later |= {f"{now.__name__}.{name}" for name in now.thrift_services}
            continue
        assert set(before.thrift_services) <= set(now.thrift_services), "older roles still call it"
        for name in before.thrift_services:
            for part in ("args", "result"):
                same = f"{now.__name__}.{name}"
                compare(same, getattr(before, f"{name}_{part}"), getattr(now, f"{name}_{part}"))
        later |= {f"{now.__name__}.{name}" for name in set(now.thrift_services) - set(before.thrift_services)}
    assert later <= LATER_CALLS.keys(), "older roles refuse them by name: what does the caller do then?"


def test_a_shell_of_a_release_and_this_gateway_understand_each_other(release: Path) -> None:
    """A shell passes over fields that it does not know, and so does a gateway: none may change its number or type."""
    old, new = loaded(release / "thrift", "admin"), loaded(OURS_FOLDER, "admin")
    pairs = [(struct, getattr(new, name)) for name, struct in structs(old).items()]
    for name in old.HbtableAdmin.thrift_services:
        assert name in new.HbtableAdmin.thrift_services, f"older shells call {name}"
        for part in ("args", "result"):
            pairs.append((getattr(old.HbtableAdmin, f"{name}_{part}"), getattr(new.HbtableAdmin, f"{name}_{part}")))
    for before, now in pairs:
        for number, (field, kind, required) in fields(before).items():
            same = fields(now).get(number, ())[1:]
            assert same == (kind, required), f"{now.__name__}.{field}: older shells know another"


class Role:
    """Remembers its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def roll_log(self) -> None:
        self.calls.append("roll_log")


def beside(release: Path, key: ClusterKey | None, check: Callable[[list[str], RpcTransport, Role], None]) -> None:
    """`check` gets what the older role read (old_role.py), a caller of it, and the role that it called."""
    runtime, role, roles = GeventRuntime(), Role(), LocalTransport()
    roles.register_server("s1", role, role)  # type: ignore[arg-type]
    server = RpcServer(runtime, roles, lambda handle: serve("127.0.0.1", 0, handle), key=key)
    address = f"127.0.0.1:{server.start()}"
    command = [sys.executable, "-P", "-W", "ignore", str(HERE / "old_role.py"), address]
    environment = {**os.environ, "PYTHONPATH": str(release)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as older:
        assert older.stdout is not None
        try:
            outcome = runtime.offload("older", older.stdout.readline).strip()
            theirs = runtime.offload("older", older.stdout.readline).strip()
            long = RpcOptions(connect_seconds=60, read_seconds=60, write_seconds=60)
            caller = RpcTransport(runtime, lambda name: theirs, lambda: theirs, long, key=key)
            check([outcome], caller, role)
            caller.close()
        finally:
            older.kill()
    server.close()
    runtime.close()


@pytest.mark.verify
@pytest.mark.parametrize("key", [None, ClusterKey([b"k" * 32], "c", required=False)], ids=["no key", "not required"])
def test_a_role_of_a_release_and_one_of_this_hbtable_call_each_other(release: Path, key: ClusterKey | None) -> None:
    def check(outcome: list[str], caller: RpcTransport, role: Role) -> None:
        assert outcome == ["done"]
        assert role.calls == ["roll_log"]
        caller.tablet_admin("s1").roll_log()

    beside(release, key, check)


@pytest.mark.verify
def test_a_role_of_a_release_is_refused_by_name_where_the_clusters_key_is_required(release: Path) -> None:
    def check(outcome: list[str], caller: RpcTransport, role: Role) -> None:
        assert "Unavailable: " in outcome[0]
        assert "set cluster.key to the file" in outcome[0]
        assert role.calls == []
        with pytest.raises(StaleLocation, match=r"does not prove that it has the cluster's key.*upgrade it"):
            caller.tablet_admin("s1").roll_log()

    beside(release, ClusterKey([b"k" * 32], "c"), check)


def test_there_is_a_release_of_the_protocol_before_and_the_major_version_is_theirs() -> None:
    assert RELEASES
    assert {path.name.removesuffix(".tar.xz").partition("rpc-")[2].partition(".")[0] for path in RELEASES} == {
        str(OURS.major)
    }
