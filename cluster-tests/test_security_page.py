"""The way from nothing to a cluster with users, typed as docs/security.md has it, over a real ZooKeeper and HDFS."""

from pathlib import Path

import pytest

from tests.harness.document_blocks import PageRun, blocks_of
from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.tiers import long_test

pytestmark = pytest.mark.java
PAGE = Path(__file__).parents[1] / "docs" / "security.md"


@long_test("a cluster with users by its page")
def test_from_nothing_to_a_cluster_with_users(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> None:
    """In a folder with the certificate and the password of the first section."""
    with PageRun(PAGE, tmp_path) as run:
        run.run(blocks_of(PAGE, "From nothing to users and TLS")[0])
    surroundings = {
        "HBTABLE_CLUSTER__ZOOKEEPER": zookeeper_server.address,
        "HBTABLE_CLUSTER__ROOT": own_folder,
        "HBTABLE_CLUSTER__FILES": hdfs_servers.hdfs(own_folder),
        "HBTABLE_LISTEN__TABLETSERVER_PORT": "0",
        "HBTABLE_LISTEN__MASTER_PORT": "0",
    }
    with PageRun(PAGE, tmp_path, surroundings) as run:
        for block in blocks_of(PAGE, "From nothing to a cluster with users"):
            run.run(block)
