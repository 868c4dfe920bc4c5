"""A cluster of real processes on a real HDFS, by both of its addresses: every server answers for all of them, and what
was acknowledged outlives each of them."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import happybase_suite
from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.role_processes import ProcessCluster, until_put
from tests.harness.tiers import taking_turns
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.java

SPLITS = [b"b", b"c", b"d", b"e", b"f"]


@pytest.fixture(params=taking_turns(["hdfs", "webhdfs"], 2))
def files(request: pytest.FixtureRequest, hdfs_servers: HdfsServers, own_folder: str) -> str:
    return hdfs_servers.hdfs(own_folder) if request.param == "hdfs" else hdfs_servers.webhdfs(own_folder)


@pytest.fixture
def cluster(files: str, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path) -> Iterator[ProcessCluster]:
    """One master and three tablet servers."""
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, files) as cluster:
        yield cluster.start(3)


def fill(cluster: ProcessCluster, table: str) -> dict[bytes, bytes]:
    """A table of six tablets, ten rows in each; the value of every acknowledged row."""
    cluster.create_table(table, SPLITS)
    connection = cluster.connect()
    acknowledged = {}
    for letter in b"abcdef":
        for number in range(10):
            row = b"%c%d" % (letter, number)
            connection.table(table).put(row, {b"f:v": b"value of " + row})
            acknowledged[row] = b"value of " + row
    connection.close()
    return acknowledged


def contents(cluster: ProcessCluster, table: str) -> dict[bytes, bytes]:
    connection = cluster.connect()
    try:
        return {row: cells[b"f:v"] for row, cells in connection.table(table).scan()}
    finally:
        connection.close()


@pytest.mark.slow
def test_happybase_passes_against_every_server(cluster: ProcessCluster, files: str, tmp_path: Path) -> None:
    versions = [("0.98", "buffered"), ("0.96", "framed"), ("0.92", "buffered")]
    if files.startswith("webhdfs://"):
        versions = versions[:1]  # what lies below the roles makes no difference to what clients say
    for server, (compat, transport) in zip(cluster.servers, versions, strict=False):
        folder = tmp_path / compat
        folder.mkdir()
        happybase_suite.passes(("127.0.0.1", server.port), folder, compat, transport)


def test_every_server_answers_for_all_and_says_who_has_what(cluster: ProcessCluster) -> None:
    acknowledged = fill(cluster, "spread")
    ports = {server.port for server in cluster.servers}
    eventually(lambda: set(cluster.owners("spread")) == ports, 2 * SOON_SECONDS, "six tablets on three servers")
    for server in cluster.servers:
        connection = server.connect()
        assert {row: cells[b"f:v"] for row, cells in connection.table("spread").scan(columns=[b"f:v"])} == acknowledged
        assert connection.table("spread").counter_inc(b"a-counter", b"f:n") == cluster.servers.index(server) + 1
        connection.close()


@pytest.mark.slow
def test_what_a_killed_server_acknowledged_is_served_by_others(cluster: ProcessCluster) -> None:
    acknowledged = fill(cluster, "kept")
    for _ in range(2):  # the last server has it all, METADATA included
        victim = next(server for server in cluster.servers if server.process.poll() is None)
        victim.kill()
        assert contents(cluster, "kept") == acknowledged
    assert set(cluster.owners("kept")) == {cluster.servers[-1].port}


@pytest.mark.slow
def test_a_standby_master_takes_over(cluster: ProcessCluster) -> None:
    acknowledged = fill(cluster, "ruled")
    standby = cluster.start_master()
    assert "goes to" not in standby.log()
    cluster.masters[0].kill()
    assert contents(cluster, "ruled") == acknowledged, "nobody needs a master to read"
    began = time.monotonic()
    victim = cluster.servers[0]
    victim.kill()
    assert contents(cluster, "ruled") == acknowledged
    print(f"master and a tablet server killed: everything read {time.monotonic() - began:.1f} s later")
    cluster.create_table("later", [])
    connection = cluster.connect()
    assert until_put(connection.table("later"), b"row", {b"f:v": b"1"}, SOON_SECONDS) < SOON_SECONDS
    connection.close()


def test_a_server_that_is_asked_to_stop_hands_its_tablets_over(cluster: ProcessCluster) -> None:
    acknowledged = fill(cluster, "handed")
    leaving = cluster.servers[0]
    assert leaving.stop() == 0
    assert contents(cluster, "handed") == acknowledged
    assert leaving.port not in cluster.owners("handed"), "read in the whole, so every tablet has an owner"
    assert "fenced" not in cluster.masters[0].log(), "its session was not waited for, and there was nothing to recover"


def test_a_role_that_cannot_fence_the_cluster_refuses_to_start(
    files: str, hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> None:
    native = files.startswith("hdfs://")
    other = hdfs_servers.webhdfs(own_folder) if native else hdfs_servers.hdfs(own_folder)
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, files) as cluster:
        cluster.start_master()
        for role in (cluster.refused_master, cluster.refused_server):
            code, message = role("-D", f"cluster.files={other}")
            assert code == 2
            assert "cannot fence" in message
            assert "Traceback" not in message


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("cluster.zookeeper=127.0.0.1:1", "no ZooKeeper can be reached"),
        ("cluster.files=hdfs://127.0.0.1:1/x", "no NameNode can be reached"),
        ("cluster.files=webhdfs://127.0.0.1:1/x", "no NameNode can be reached"),
        ("cluster.files=hdfs://localhost:{web}/x", "is a web port"),
        ("cluster.files=webhdfs://localhost:{rpc}/x", "is the NameNode's RPC port"),
        ("listen.tabletserver_port={taken}", "is in use"),
        ("cluster.flies=x", "did you mean files?"),
    ],
)
def test_what_is_in_the_way_of_a_start_is_said(
    hdfs_servers: HdfsServers,
    zookeeper_server: ZooKeeperServer,
    own_folder: str,
    tmp_path: Path,
    setting: str,
    words: str,
) -> None:
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, hdfs_servers.hdfs(own_folder)) as cluster:
        ports = {"web": hdfs_servers.http_port, "rpc": hdfs_servers.port, "taken": zookeeper_server.port}
        code, message = cluster.refused_server("-D", setting.format(**ports))
    assert code in (1, 2)
    assert words in message
    assert "Traceback" not in message


def test_eventually_no_process_is_left(cluster: ProcessCluster) -> None:
    """SIGTERM to all at once, as an operator does."""
    fill(cluster, "stopped")
    codes = []
    for role in (*cluster.masters, *cluster.servers):
        role.process.terminate()
    for role in (*cluster.masters, *cluster.servers):
        codes.append(role.process.wait(2 * SOON_SECONDS))
    assert codes == [0, 0, 0, 0]
