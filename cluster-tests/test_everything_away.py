"""ZooKeeper, HDFS and the supervisor go at the same moment: the tablet server that is left ends soon."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.role_processes import ProcessCluster
from tests.harness.tiers import long_test
from tests.harness.waiting import SOON_SECONDS, eventually, runs

pytestmark = [pytest.mark.java, pytest.mark.slow]


@long_test("a tablet server that everything left")
def test_a_tablet_server_without_supervisor_lock_service_and_storage_ends(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> None:
    files = hdfs_servers.hdfs(own_folder)
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, files) as cluster:
        cluster.start_master()
        server = cluster.start_server("--supervised")
        cluster.wait_until_served()
        cluster.create_table("t", [b"m"])
        with closing(cluster.connect()) as connection:
            connection.table("t").put(b"a", {b"f:n": b"1"})
            child = server.child()
            zookeeper_server.stop()
            hdfs_servers.kill_all()
            server.kill()  # while a client is connected, for whom the gateway waits
            eventually(lambda: not runs(child), SOON_SECONDS, "the end of the tablet server")
        assert "the supervisor died" in server.log()
        assert "this process cannot stop in order" in server.log()
