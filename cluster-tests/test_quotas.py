"""Quotas in a cluster of real processes: each tablet server counts for itself, or they share what there is."""

from pathlib import Path

import pytest

from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.role_processes import ProcessCluster
from tests.harness.throttled_puts import LIMIT, fill_to_its_limit, passed
from tests.harness.tiers import long_test

pytestmark = pytest.mark.java
ROWS = [b"a", b"c", b"m", b"t"]
"""One of each tablet; two tablets are on each server."""


@long_test("quotas of a cluster")
def test_throttles_of_machines_and_of_the_cluster_and_space(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> None:
    files = hdfs_servers.hdfs(own_folder)
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, files) as cluster:
        cluster.start(servers=2)
        cluster.create_table("t", [b"c", b"m", b"t"])
        port = cluster.servers[0].port
        assert passed(port, "MACHINE", ROWS) == 2 * LIMIT
        assert passed(port, "CLUSTER", ROWS) == LIMIT
        fill_to_its_limit(port, ROWS[0])
