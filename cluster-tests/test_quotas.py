"""Quotas in a cluster of real processes: each tablet server counts for itself, or they share what there is; the door by
which a call came does not matter."""

import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

import hbtable
from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.role_processes import ProcessCluster
from tests.harness.throttled_puts import LIMIT, Put, fill_to_its_limit, passed, passed_through, shell
from tests.harness.tiers import long_test
from tests.harness.waiting import SOON_SECONDS, eventually

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


AUTH = '[auth]\nenabled = true\nplain_text = true\nsuperusers = "ann"\n'
SECRET = "correct horse"


@long_test("a user's quota at every door")
def test_a_users_quota_is_the_same_through_all_doors(
    hdfs_servers: HdfsServers,
    zookeeper_server: ZooKeeperServer,
    own_folder: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Through both tablet servers and a gateway without tablets he gets no more than through one of them."""
    files = hdfs_servers.hdfs(own_folder)
    with (
        ProcessCluster(tmp_path, zookeeper_server.address, own_folder, files, settings=AUTH) as cluster,
        ExitStack() as opened,
    ):
        secret = tmp_path / "secret"
        secret.write_text(SECRET)
        secret.chmod(0o600)
        for name in ("ann", "ben"):
            line = ["user", "add", name, "--cluster", "--config", str(cluster.config)]
            subprocess.run([sys.executable, "-m", "hbtable", *line], input=f"{SECRET}\n", text=True, check=True)
        cluster.start(servers=2)
        roles = [*cluster.servers, cluster.start_gateway()]
        monkeypatch.setenv("HBTABLE_USER", "ann")
        monkeypatch.setenv("HBTABLE_SECRET", SECRET)
        port = cluster.servers[0].port
        shell(port, "create 't', 'f', SPLITS => ['c', 'm', 't']")
        shell(port, "grant 'ben', 'RW', 't'")

        def door(user: str, port: int) -> Put:
            database = opened.enter_context(closing(hbtable.connect("127.0.0.1", port, user=user, secret=str(secret))))
            table = database.table("t")

            def put(row: bytes) -> bool:
                try:
                    table.put(row, {b"f:a": b"x"})
                except hbtable.Throttled:
                    return False
                return True

            return put

        his, hers = ([door(user, role.port) for role in roles] for user in ("ben", "ann"))
        assert passed_through(his, port, "MACHINE", ROWS, "USER => 'ben'") == 2 * LIMIT
        assert passed_through(his[-1:], port, "MACHINE", ROWS, "USER => 'ben'") == 2 * LIMIT
        assert passed_through(his, port, "CLUSTER", ROWS, "USER => 'ben'") == LIMIT
        shell(port, "set_quota TYPE => THROTTLE, THROTTLE_TYPE => WRITE, USER => 'ben', LIMIT => '1req/day'")
        for put in his:
            for row in ROWS:
                eventually(lambda put=put, row=row: not put(row), SOON_SECONDS, f"no put of {row!r}")
        assert [put(row) for put in hers for row in ROWS] == [True] * len(hers) * len(ROWS)
