"""The users of a cluster: kept in a real ZooKeeper, asked for by each tablet server's gateway."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.role_processes import ProcessCluster, RoleProcess
from tests.harness.tiers import long_test
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.java

AUTH = '[auth]\nenabled = true\nplain_text = true\nsuperusers = "ann, program"\n'
SECRET = "correct horse"


@pytest.fixture
def cluster(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> Iterator[ProcessCluster]:
    with ProcessCluster(
        tmp_path, zookeeper_server.address, own_folder, hdfs_servers.hdfs(own_folder), settings=AUTH
    ) as cluster:
        yield cluster.start(2)


def hbtable(*arguments: str, given: str = "", secret: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "hbtable", *arguments],
        input=given,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "HBTABLE_SECRET": secret},
    )


def user(cluster: ProcessCluster, *arguments: str, given: str = "") -> str:
    done = hbtable("user", *arguments, "--cluster", "--config", str(cluster.config), given=given)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def let_in(server: RoleProcess, name: str, secret: str) -> bool:
    done = hbtable("list", "--url", f"127.0.0.1:{server.port}", "--user", name, secret=secret)
    if done.returncode:
        assert "did not let" in done.stderr
    return done.returncode == 0


@long_test("users at every gateway")
def test_every_gateway_knows_the_users_and_hears_of_changes(cluster: ProcessCluster) -> None:
    one, other = cluster.servers
    assert not let_in(one, "ann", SECRET)
    user(cluster, "add", "ann", given=SECRET + "\n")
    user(cluster, "add", "program", "--no-password")
    token = user(cluster, "token", "program").strip()
    assert user(cluster, "list").startswith("ann: password\nprogram: no password, token ")
    for server in (one, other):
        eventually(lambda server=server: let_in(server, "ann", SECRET), SOON_SECONDS, "the new user")
        eventually(lambda server=server: let_in(server, "program", token), SOON_SECONDS, "the new token")
    script = "create 't', 'f'; put 't', 'r', 'f:a', 'v'"
    url, theirs = f"127.0.0.1:{one.port}", f"127.0.0.1:{other.port}"
    assert hbtable("shell", "--url", url, "--user", "ann", "-e", script, secret=SECRET).returncode == 0
    assert "value=v" in hbtable("get", "t", "r", "--url", theirs, "--user", "program", secret=token).stdout
    user(cluster, "remove", "program")
    eventually(lambda: not let_in(other, "program", token), SOON_SECONDS, "the end of the token")
    assert "AccessDeniedException" in hbtable("list", "--url", url).stderr
