"""A role's look at real servers as it starts, and what it says of them."""

from pathlib import Path

import pytest

from hbtable.commitlog.options import LogOptions
from hbtable.fs.hdfs.options import HdfsNativeOptions
from hbtable.fs.opened import FileSystemOptions
from hbtable.launch.roles.safety_warnings import ClusterSurroundings
from hbtable.launch.roles.surroundings import surroundings
from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.role_processes import ProcessCluster
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.java


def test_real_servers_say_how_they_are_set_up(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str
) -> None:
    files = hdfs_servers.webhdfs(own_folder)
    web = files.removeprefix("webhdfs://").partition("/")[0]
    options = FileSystemOptions(hdfs=HdfsNativeOptions(web_addresses=web))
    zookeeper = zookeeper_server.address
    # As compat-tests/servers/real-hdfs and real-zookeeper set them up.
    expected = ClusterSurroundings((zookeeper,), ("standalone",), "webhdfs", 3, 0, 3, True, 3.0, 2.0)
    eventually(lambda: surroundings(zookeeper, files, options, LogOptions()) == expected, SOON_SECONDS, f"{expected}")
    native = ClusterSurroundings((zookeeper,), ("standalone",), "hdfs", 3, 2, 3, True, 3.0, 2.0)
    files = hdfs_servers.hdfs(own_folder)
    eventually(lambda: surroundings(zookeeper, files, options, LogOptions()) == native, SOON_SECONDS, f"{native}")


def test_a_role_warns_as_it_starts(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> None:
    files = hdfs_servers.webhdfs(own_folder)
    settings = "[webhdfs]\nlog_replication = 1\n"
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, files, settings=settings) as cluster:
        cluster.start(1)
        for role in (*cluster.masters, *cluster.servers):
            for said in ("ZooKeeper is one server by itself", "webhdfs.log_replication = 1: what was acknowledged"):
                eventually(lambda role=role, said=said: said in role.log(), SOON_SECONDS, said)
