"""A ZooKeeper of three members under a cluster that is written to: each member is killed and frozen in turn, the leader
too, and then two of them at once."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.harness.real_servers import HdfsServers, require_java
from tests.harness.role_processes import ProcessCluster
from tests.harness.tiers import long_test
from tests.harness.waiting import SOON_SECONDS, eventually, in_time
from tests.harness.written_rows import WrittenRows
from tests.harness.zookeeper_ensemble import ZooKeeperEnsemble, running_ensemble

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.alone]

SESSION_SECONDS = in_time(8.0)


@pytest.fixture
def ensemble() -> Iterator[ZooKeeperEnsemble]:
    require_java()
    with running_ensemble() as members:
        yield members


@pytest.fixture
def cluster(
    ensemble: ZooKeeperEnsemble, hdfs_servers: HdfsServers, own_folder: str, tmp_path: Path
) -> Iterator[ProcessCluster]:
    """A master, its standby and two tablet servers."""
    address = hdfs_servers.hdfs(own_folder)
    with ProcessCluster(tmp_path, ensemble.address, own_folder, address, SESSION_SECONDS) as roles:
        roles.start(servers=2)
        roles.start_master()
        roles.create_table("rows", [])
        yield roles


@long_test("a member of ZooKeeper lost")
def test_whichever_member_is_lost_writes_go_on_within_a_session_and_nothing_is_lost(
    ensemble: ZooKeeperEnsemble, cluster: ProcessCluster
) -> None:
    rows = WrittenRows(cluster.servers[0], "rows")
    rows.go_on("at first")
    faults: dict[str, tuple[Callable[[int], None], Callable[[int], None]]] = {
        "killed": (ensemble.kill, ensemble.restart),
        "frozen": (ensemble.freeze, ensemble.thaw),
    }
    pauses: dict[str, float] = {}
    for fault, (lose, bring_back) in faults.items():
        for member in ensemble.MEMBERS:
            leader = ensemble.wait_until_whole()
            clients = ensemble.clients()
            rows.longest_seconds = 0.0
            lose(member)
            rows.go_on(f"while member {member} is {fault}")
            ensemble.wait_until_served_without(member)
            eventually(lambda: ensemble.clients(member) >= clients, SOON_SECONDS, "everybody with the two others")  # noqa: B023
            rows.go_on(f"with the two others, member {member} {fault}")
            bring_back(member)
            ensemble.wait_until_whole()
            rows.go_on(f"after member {member} is back")
            pauses[f"{'leader' if member == leader else 'follower'} {member} {fault}"] = rows.longest_seconds
    rows.end()
    print(*(f"{what}: {seconds:.2f} s" for what, seconds in pauses.items()), sep="\n")
    assert max(pauses.values()) <= SESSION_SECONDS
    assert all(role.process.poll() is None for role in (*cluster.masters, *cluster.servers)), "nobody lost its lock"
    with closing(cluster.connect()) as connection:
        assert rows.lost(connection) == []


def test_one_member_alone_serves_nobody_and_two_go_on(ensemble: ZooKeeperEnsemble, cluster: ProcessCluster) -> None:
    rows = WrittenRows(cluster.servers[0], "rows")
    rows.go_on("at first")
    leader = ensemble.wait_until_whole()
    alone, *others = (leader, *(member for member in ensemble.MEMBERS if member != leader))
    for member in others:
        ensemble.freeze(member)
    ensemble.wait_until_refused_by(alone)
    for member in others:
        ensemble.thaw(member)
    ensemble.wait_until_whole()
    rows.go_on("after two members were frozen and came back")
    rows.end()
    with closing(cluster.connect()) as connection:
        assert rows.lost(connection) == []
