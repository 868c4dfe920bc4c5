"""The key of a cluster's roles, in processes on real servers: a cluster without one is given it role by role while a
client goes on, and then nobody else is let in."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hbtable.access.cluster_key_file import make_cluster_key
from hbtable.errors import StaleLocation
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.thrift_transport import RpcTransport
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.role_processes import ProcessCluster, RoleProcess, until_put
from tests.harness.tiers import long_test
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = [pytest.mark.java, pytest.mark.slow]

ROWS = [b"a", b"h", b"p"]


@pytest.fixture
def cluster(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> Iterator[ProcessCluster]:
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, hdfs_servers.hdfs(own_folder)) as cluster:
        yield cluster


def key(folder: Path, name: str = "cluster.key") -> str:
    path = folder / name
    if not path.exists():
        make_cluster_key(str(path))
    return f"cluster.key={path}"


def replaced(cluster: ProcessCluster, *arguments: str) -> None:
    """Every role is another process, which is given these arguments; a client goes on meanwhile."""
    masters, servers = list(cluster.masters[-1:]), [one for one in cluster.servers if one.process.poll() is None]
    for master in masters:
        newer = cluster.start_master(*arguments)
        assert master.stop() == 0
        eventually(lambda newer=newer: "everything is served" in newer.log(), SOON_SECONDS, "the new master at work")
    for server in servers:
        cluster.start_server(*arguments)
        assert server.stop() == 0
        check(cluster)


def check(cluster: ProcessCluster) -> None:
    """Through every gateway, in every tablet."""
    for server in cluster.servers:
        if server.process.poll() is None:
            with closing(server.connect()) as connection:
                table = connection.table(b"t")
                for row in ROWS:
                    until_put(table, row, {b"f:v": b"of %d" % server.port}, SOON_SECONDS)
                assert [row for row, _ in table.scan()] == ROWS


def stranger_reads(server: RoleProcess) -> str:
    """The answer to a caller without the key."""
    runtime = GeventRuntime()
    address = f"127.0.0.1:{server.rpc_port}"
    transport = RpcTransport(runtime, lambda name: address, lambda: address, RpcOptions(connect_seconds=60))
    try:
        transport.tablet_admin(server.incarnation).ping()
    except StaleLocation as error:
        return str(error)
    finally:
        transport.close()
        runtime.close()
    return "pong"


@long_test("a key role by role")
def test_a_cluster_is_given_a_key_role_by_role(cluster: ProcessCluster, tmp_path: Path) -> None:
    cluster.start(2)
    cluster.create_table("t", [b"g", b"n"])
    check(cluster)
    assert stranger_reads(cluster.servers[0]) == "pong"
    replaced(cluster, "-D", key(tmp_path), "-D", "cluster.key_required=false")
    assert stranger_reads(cluster.servers[-1]) == "pong"
    replaced(cluster, "-D", key(tmp_path))
    assert "prove that they have the cluster's key" in stranger_reads(cluster.servers[-1])
    refusing = cluster.servers[-1]  # which tells the stranger before it tells its log
    eventually(lambda: "was cut off: it was told that" in refusing.log(), SOON_SECONDS, "the stranger in the log")
    for arguments in ((), ("-D", key(tmp_path, "other.key"))):
        code, said = cluster.refused_server(*arguments)
        assert code == 2
        assert "do not come together: it refused this process: " in said
        assert "cluster.key" in said
    check(cluster)
