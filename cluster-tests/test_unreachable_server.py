"""A tablet server that nobody reaches while ZooKeeper does: the others reach it through a proxy, which is cut.

Its rows are served again by others, METADATA included; and where it may not give up it is shown.
"""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from hbtable.shell.connection import ShellConnection
from tests.harness.free_ports import free_ports
from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.role_processes import ProcessCluster, RoleProcess, until_put
from tests.harness.tcp_proxy import TcpProxy
from tests.harness.tiers import long_test
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = [pytest.mark.java, pytest.mark.slow]

HOST = "127.0.0.1"
ANNOUNCED = "127.0.0.2"
"""Another address of this machine: only the proxy listens there."""
ROWS = {b"%c%d" % (letter, number): {b"f:n": b"%d" % number} for letter in b"abcdef" for number in range(5)}


@contextmanager
def announced_server(cluster: ProcessCluster, *arguments: str) -> Iterator[tuple[RoleProcess, TcpProxy]]:
    """A tablet server that the other roles reach through the proxy only."""
    server = cluster.start_server("-D", f"listen.announce={ANNOUNCED}", *arguments)
    with TcpProxy(ANNOUNCED, server.rpc_port, (HOST, server.rpc_port)) as proxy:
        yield server, proxy


def filled(cluster: ProcessCluster) -> None:
    cluster.create_table("t", [b"b", b"c", b"d", b"e", b"f"])
    with closing(cluster.connect()) as connection:
        for row, columns in ROWS.items():
            connection.table("t").put(row, columns)


@long_test("a server that nobody reaches")
def test_rows_and_metadata_of_a_server_that_nobody_reaches_are_served_again(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> None:
    settings = "[reachability]\nperiod_seconds = 0.5\nunreachable_seconds = 2.0\ngive_up_seconds = 2.0\n"
    files = hdfs_servers.hdfs(own_folder)
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, files, settings=settings) as cluster:
        master = cluster.start_master()
        with announced_server(cluster) as (server, proxy):
            cluster.wait_until_served()  # METADATA is there: it is the only one
            other = cluster.start_server()
            cluster.start_server()
            filled(cluster)
            proxy.cut()
            with closing(other.connect()) as connection:
                table = connection.table("t")
                until_put(table, b"a9", {b"f:n": b"after"}, 4 * SOON_SECONDS)
                expected = {**ROWS, b"a9": {b"f:n": b"after"}}
                assert dict(table.scan()) == expected
            assert server.process.wait(SOON_SECONDS) == 3
            eventually(lambda: "cannot be reached for" in master.log(), SOON_SECONDS, "a line in the master's log")
            assert "gives its tablets up: the master and 2 of the 2 tablet servers" in server.log()


@long_test("one that may not give up")
def test_one_that_may_not_give_up_is_shown(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> None:
    settings = "[reachability]\nperiod_seconds = 0.5\nunreachable_seconds = 2.0\ngive_up_seconds = 0.0\n"
    files = hdfs_servers.hdfs(own_folder)
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, files, settings=settings) as cluster:
        masters_port = free_ports(2)
        servers_port = masters_port + 1
        master = cluster.start_master("--http-port", str(masters_port))
        other = cluster.start_server()
        cluster.start_server()
        cluster.wait_until_served()
        with announced_server(cluster, "--http-port", str(servers_port)) as (server, proxy):
            proxy.cut()

            def shown() -> list[str]:
                with closing(ShellConnection(f"{HOST}:{other.port}")) as connection:
                    return [one.who for one in connection.admin("adminStatus").unreachable]

            eventually(lambda: bool(shown()), SOON_SECONDS, "the server in `status`")
            everybody = ["the master and 2 of the 2 tablet servers that watch it"]
            eventually(lambda: shown() == everybody, SOON_SECONDS, "everybody says so")
            for port in (masters_port, servers_port):
                eventually(lambda port=port: not_ready(port), SOON_SECONDS, f"/readyz of port {port}")
            proxy.mend()
            eventually(lambda: not shown(), SOON_SECONDS, "the server out of `status`")
            for port in (masters_port, servers_port):
                eventually(lambda port=port: not not_ready(port), SOON_SECONDS, f"/readyz of port {port}")
            eventually(lambda: "can be reached again" in master.log(), SOON_SECONDS, "a line in the master's log")
            assert server.process.poll() is None


def not_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/readyz", timeout=SOON_SECONDS) as answer:
            page = answer.read()
    except urllib.error.HTTPError as error:
        with error:
            page = error.read()
    return "reach" in " ".join(json.loads(page)["reasons"])
