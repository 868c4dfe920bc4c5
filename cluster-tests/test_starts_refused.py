"""What an operator sees of a role that cannot start on real servers: one clear message, no trace, an exit code that
says whether another try may help (1) or not (2), and that soon."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from tests.harness.real_servers import HdfsServers, ZooKeeperServer, require_java, running_zookeeper
from tests.harness.role_processes import ProcessCluster
from tests.harness.tiers import taking_turns
from tests.harness.waiting import SOON_SECONDS, eventually, in_time, of_the_program

pytestmark = pytest.mark.java

REFUSED_SECONDS = 30
SCHEMES = ["hdfs", "webhdfs"]


def address(servers: HdfsServers, scheme: str, folder: str) -> str:
    return servers.hdfs(folder) if scheme == "hdfs" else servers.webhdfs(folder)


@pytest.fixture
def cluster(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> Iterator[ProcessCluster]:
    """Configured, and nothing of it started."""
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, hdfs_servers.hdfs(own_folder)) as cluster:
        yield cluster


def refused(cluster: ProcessCluster, code: int, words: str, *settings: str, role: str = "tabletserver") -> None:
    began = time.monotonic()
    start = cluster.refused_server if role == "tabletserver" else cluster.refused_master
    found, said = start(*(word for setting in settings for word in ("-D", setting)))
    lines = [line for line in of_the_program(said.splitlines()) if " INFO " not in line]
    assert words in said
    assert (found, len(lines)) == (code, 1), said
    assert time.monotonic() - began < in_time(REFUSED_SECONDS)


@pytest.mark.parametrize("scheme", taking_turns(SCHEMES, 2))
def test_a_port_where_no_namenode_is(cluster: ProcessCluster, zookeeper_server: ZooKeeperServer, scheme: str) -> None:
    refused(cluster, 1, "no NameNode can be reached", f"cluster.files={scheme}://{zookeeper_server.address}/x")


@pytest.mark.parametrize("scheme", taking_turns(SCHEMES, 2))
def test_a_namenode_in_safe_mode(
    cluster: ProcessCluster, hdfs_servers: HdfsServers, own_folder: str, scheme: str
) -> None:
    hdfs_servers.safe_mode(True)
    try:
        refused(cluster, 1, "SafeModeException", f"cluster.files={address(hdfs_servers, scheme, own_folder)}")
    finally:
        hdfs_servers.safe_mode(False)


def test_a_namenode_that_hangs(cluster: ProcessCluster, hdfs_servers: HdfsServers) -> None:
    hdfs_servers.freeze_namenode()
    try:
        refused(cluster, 1, "it takes connections and says nothing")
    finally:
        hdfs_servers.thaw_namenode()


def test_a_session_that_zookeeper_does_not_allow(cluster: ProcessCluster) -> None:
    refused(cluster, 2, "allows only 0.4", "session.session_seconds=0.1")


def test_what_belongs_to_different_clusters(
    cluster: ProcessCluster, hdfs_servers: HdfsServers, own_folder: str
) -> None:
    cluster.start(1)
    cluster.create_table("t", [])
    for role in ("tabletserver", "master"):
        other = hdfs_servers.hdfs(own_folder + "-other")
        refused(cluster, 2, "holds no cluster", f"cluster.files={other}", role=role)
        refused(cluster, 2, "the lock service is empty", f"cluster.root={own_folder}-other", role=role)
    assert cluster.servers[0].stop() == 0


def test_a_list_of_users_that_a_stranger_made_before_the_first_start(
    cluster: ProcessCluster, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> None:
    digest = tmp_path / "digest"
    digest.write_text("hbtable:secret")
    digest.chmod(0o600)
    stranger = KazooClient(zookeeper_server.address, timeout=60.0)
    stranger.start(60)
    stranger.create(f"{own_folder}/users", b"", makepath=True)
    for role in ("tabletserver", "master"):
        named = f"{own_folder} (others may change it), {own_folder}/users (others may change it)"
        refused(cluster, 2, named, f"cluster.zookeeper_digest={digest}", role=role)
    stranger.delete(own_folder, recursive=True)
    stranger.stop()
    stranger.close()
    master = cluster.start_master("-D", f"cluster.zookeeper_digest={digest}")
    assert master.stop() == 0


def test_a_supervised_role_starts_when_what_it_needs_comes(
    hdfs_servers: HdfsServers, own_folder: str, tmp_path: Path
) -> None:
    require_java()
    with (
        running_zookeeper() as zookeeper,
        ProcessCluster(tmp_path, zookeeper.address, own_folder, hdfs_servers.hdfs(own_folder)) as cluster,
    ):
        zookeeper.stop()
        master = cluster.begin_master("--supervised", "-D", "session.call_seconds=1")
        eventually(lambda: "no ZooKeeper can be reached" in master.log(), 2 * SOON_SECONDS, "a first try that failed")
        assert master.process.poll() is None
        zookeeper.start()
        master.wait_until_ready()
        assert master.stop() == 0
        assert "Traceback" not in master.log()
