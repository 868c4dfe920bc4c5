"""Operators and roles whose key or digest is not the cluster's: each reads within seconds which one is wrong, in which
file, and what to do."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hbtable.access.cluster_key_file import make_cluster_key
from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.role_processes import ProcessCluster, until_put
from tests.harness.tiers import long_test
from tests.harness.waiting import SOON_SECONDS, eventually, in_time

pytestmark = pytest.mark.java

OF_CLUSTERS = (("check",), ("check", "--json"), ("repair",), ("repair", "--dry-run"))


@pytest.fixture
def cluster(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> Iterator[ProcessCluster]:
    """One that serves, whose roles have a key and a digest."""
    make_cluster_key(str(tmp_path / "cluster.key"))
    put_digest(tmp_path / "digest", "hbtable:right")
    files = hdfs_servers.hdfs(own_folder)
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, files) as cluster:
        for start in (cluster.start_master, cluster.start_server):
            start(*defines(tmp_path))
        cluster.wait_until_served()
        yield cluster


def put_digest(path: Path, content: str) -> None:
    path.write_text(content)
    path.chmod(0o600)


def defines(folder: Path, key: str = "cluster.key", digest: str = "digest") -> list[str]:
    """On the command line. "": none."""
    values = (("cluster.key", key), ("cluster.zookeeper_digest", digest))
    return [word for name, file in values if file for word in ("-D", f"{name}={folder / file}")]


def said(config: Path, *command: str) -> tuple[int, str]:
    """The exit code of an operator's command and what it said."""
    line = [sys.executable, "-m", "hbtable", *command, "--config", str(config)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=SOON_SECONDS)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


@long_test("an operator's wrong key")
def test_an_operators_command_says_that_its_key_is_wrong(cluster: ProcessCluster, tmp_path: Path) -> None:
    other, without, wrong = tmp_path / "other.key", cluster.config, tmp_path / "wrong.toml"
    make_cluster_key(str(other))
    wrong.write_text(without.read_text().replace("[cluster]\n", f'[cluster]\nkey = "{other}"\n'))
    digest = defines(tmp_path, key="")
    master, server = cluster.masters[0], cluster.servers[0]
    for config, key in ((without, "; cluster.key is not set"), (wrong, f"; cluster.key = {str(other)!r} ({wrong})")):
        for command in OF_CLUSTERS:
            code, text = said(config, *command, *digest)
            assert code, text
            if command[0] == "check":
                assert f"the master at 127.0.0.1:{master.rpc_port} and this process do not come together" in text
                assert key in text
            else:  # it calls no role, and every role must be down
                assert "the cluster is not down" in text
    assert said(without, "check", *defines(tmp_path))[0] == 0
    assert master.stop() == 0
    code, text = said(wrong, "check", *digest)
    assert code
    assert f"the tablet server at 127.0.0.1:{server.rpc_port} and this process do not come together" in text


def test_a_check_beside_a_server_with_another_key_names_it_and_does_not_wait(
    cluster: ProcessCluster, tmp_path: Path
) -> None:
    """The master has the operator's key, and the only server, which serves all, another one."""
    make_cluster_key(str(tmp_path / "other.key"))
    assert cluster.masters[0].stop() == 0
    server, other = cluster.servers[0], defines(tmp_path, key="other.key")
    cluster.start_master(*other)  # one server that refuses it does not keep it from starting
    right = tmp_path / "right.toml"
    right.write_text(cluster.config.read_text().replace("[cluster]\n", f'[cluster]\nkey = "{tmp_path}/other.key"\n'))
    began = time.monotonic()
    code, text = said(right, "check", *defines(tmp_path, key=""))
    assert time.monotonic() - began < in_time(30)
    assert code
    assert f"the tablet server at 127.0.0.1:{server.rpc_port} and this process do not come together" in text
    assert "METADATA cannot be read through the cluster's servers" in text


def test_a_role_with_another_key_does_not_start_also_where_there_is_no_master(
    cluster: ProcessCluster, tmp_path: Path
) -> None:
    """A master would take the lock, and nobody would be called. Two servers say so: one may be wrong itself."""
    other = tmp_path / "other.key"
    make_cluster_key(str(other))
    cluster.start_server(*defines(tmp_path))
    assert cluster.masters[0].stop() == 0
    addresses = [f"the tablet server at 127.0.0.1:{server.rpc_port} " for server in cluster.servers]
    for refused in (cluster.refused_master, cluster.refused_server):
        code, text = refused(*defines(tmp_path, key="other.key"))
        assert code == 2
        assert any(f"{address}and this process do not come together" in text for address in addresses)
        assert f"; cluster.key = {str(other)!r} (-D cluster.key)" in text
    cluster.start_master(*defines(tmp_path))
    cluster.wait_until_served()


@long_test("a role without the digest")
def test_a_command_or_role_without_the_digest_says_so(cluster: ProcessCluster, tmp_path: Path) -> None:
    put_digest(tmp_path / "other", "hbtable:wrong")
    assert said(cluster.config, "user", "add", "ann", "--no-password", "--cluster", *defines(tmp_path)) == (0, "")
    of_users = [("user", word, *name, "--cluster") for word, name in (("list", ()), ("remove", ["ann"]))]
    for digest in ("", "other"):
        given = defines(tmp_path, digest=digest)
        for command in (*OF_CLUSTERS, *of_users):
            code, text = said(cluster.config, *command, *given)
            assert code, command
            assert "cluster.zookeeper_digest has to be the same file" in text, (command, text)
    code, text = cluster.refused_master(*given)
    assert code
    assert "cluster.zookeeper_digest has to be the same file" in text
    assert said(cluster.config, "user", "list", "--cluster", *defines(tmp_path)) == (0, "ann: no password\n")


def test_one_server_with_another_key_keeps_no_role_from_starting(cluster: ProcessCluster, tmp_path: Path) -> None:
    """It came first, when everything was down."""
    make_cluster_key(str(tmp_path / "other.key"))
    assert cluster.servers[0].stop() == 0
    assert cluster.masters[0].stop() == 0
    wrong = cluster.start_server(*defines(tmp_path, key="other.key"))
    master, server = cluster.start_master(*defines(tmp_path)), cluster.start_server(*defines(tmp_path))
    warning = f"the tablet server at 127.0.0.1:{wrong.rpc_port} and this process do not come together"
    eventually(lambda: warning in master.log(), SOON_SECONDS, "the warning")
    cluster.wait_until_served()
    with closing(server.connect()) as connection:
        connection.create_table("t", {"f": {}})
        until_put(connection.table(b"t"), b"r", {b"f:v": b"v"}, SOON_SECONDS)
