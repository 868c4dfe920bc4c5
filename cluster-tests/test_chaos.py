"""A slice of `make chaos`: servers, masters, DataNodes and members of ZooKeeper are killed and frozen at random, their
supervisors start them again, and clients write, read and count on. HBTABLE_CHAOS_SECONDS says how long (60; 10 in CI).
"""

import os
from pathlib import Path

import pytest

from tests.campaigns.chaos.faults import SESSION_SECONDS
from tests.campaigns.chaos.run import SETTINGS, Plan, Run, start_roles
from tests.harness.fresh_seed import fresh_seed
from tests.harness.real_servers import HdfsServers
from tests.harness.role_processes import ProcessCluster
from tests.harness.zookeeper_ensemble import running_ensemble

pytestmark = [pytest.mark.java, pytest.mark.slow]

SECONDS = float(os.environ.get("HBTABLE_CHAOS_SECONDS", "10" if os.environ.get("CI") else "60"))
KINDS = [
    "server killed",
    "master killed",
    "DataNode killed",
    "ZooKeeper killed",
    "server frozen shortly",
    "clocks apart",
    "clock jumps",
]


def test_what_was_acknowledged_is_there_whoever_was_killed(
    hdfs_servers: HdfsServers, own_folder: str, tmp_path: Path
) -> None:
    settings = f'{SETTINGS}[hdfs]\nweb_addresses = "localhost:{hdfs_servers.http_port}"\n'
    with (
        running_ensemble() as ensemble,
        ProcessCluster(
            tmp_path,
            ensemble.address,
            own_folder,
            hdfs_servers.hdfs(own_folder),
            SESSION_SECONDS,
            settings,
            own_clocks=True,
        ) as cluster,
    ):
        start_roles(cluster)
        run = Run(
            cluster, hdfs_servers, ensemble, Plan(fresh_seed(), SECONDS, 3, writers=2, pause_seconds=0.1, kinds=KINDS)
        )
        run.run()
        assert run.violations == []
