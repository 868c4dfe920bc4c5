"""A tablet server that lost its way to the NameNode, and nothing else: it keeps its lock, and answers other roles. The
way goes through a proxy, which is cut while every socket stays open, so that calls hang instead of failing."""

from collections.abc import Callable
from contextlib import closing

import pytest

from hbtable.shell.connection import ShellConnection
from hbtable.shell.errors import ServerError
from tests.harness.free_ports import free_ports
from tests.harness.real_servers import HdfsServers
from tests.harness.role_processes import ProcessCluster, RoleProcess
from tests.harness.tcp_proxy import TcpProxy
from tests.harness.tiers import long_test
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = [pytest.mark.java, pytest.mark.slow]

HOST = "127.0.0.1"
SETTINGS = "[rpc]\nload_seconds = 2.0\norder_seconds = 20.0\n[log]\ngive_up_seconds = 300.0\n"
ROWS = {b"%c%d" % (letter, number): {b"f:n": b"%d" % number} for letter in b"abcd" for number in range(5)}


@pytest.fixture
def cluster(cluster_with: Callable[[str], ProcessCluster]) -> ProcessCluster:
    return cluster_with(SETTINGS)


def filled(cluster: ProcessCluster) -> None:
    cluster.create_table("t", [b"b", b"c", b"d"])
    with closing(cluster.connect()) as connection:
        for row, columns in ROWS.items():
            connection.table("t").put(row, columns)
    eventually(lambda: len(set(cluster.owners("t"))) == 2, 2 * SOON_SECONDS, "both servers have some of it")


def tablet_of(cluster: ProcessCluster, owner: RoleProcess) -> tuple[int, bytes]:
    """The number of one that `owner` serves, and its first row."""
    with closing(ShellConnection(f"{HOST}:{cluster.servers[0].port}")) as connection:
        tablets = connection.admin("adminTablets", b"t")
    place = cluster.owners("t").index(owner.port)
    return tablets[place].tablet_id, b"abcd"[place : place + 1] + b"0"


def move(cluster: ProcessCluster, tablet: int, target: RoleProcess) -> str:
    """What the order ended with; "": well."""
    with closing(ShellConnection(f"{HOST}:{cluster.servers[0].port}")) as connection:
        try:
            connection.admin("adminMove", b"t", tablet, target.incarnation.encode())
        except ServerError as error:
            return str(error)
    return ""


@long_test("no way to the files")
def test_tablets_stay_where_they_are_served_while_a_server_has_no_way_to_the_files(
    cluster: ProcessCluster, hdfs_servers: HdfsServers, own_folder: str
) -> None:
    cluster.start_master()
    sound = cluster.start_server()
    cluster.wait_until_served()  # METADATA is there
    port = free_ports(1)
    with TcpProxy(HOST, port, (HOST, hdfs_servers.port)) as way:
        cut_off = cluster.start_server("-D", f"cluster.files=hdfs://localhost:{port}{own_folder}")
        filled(cluster)
        with closing(ShellConnection(f"{HOST}:{sound.port}")) as connection:
            connection.admin("adminBalanceSwitch", False)
        coming, row = tablet_of(cluster, sound)
        going, other = tablet_of(cluster, cut_off)
        way.cut()
        told = move(cluster, coming, cut_off)
        assert "which did not load it" in told, told
        assert sound.incarnation in told, "the answer says who serves it"
        with closing(sound.connect()) as connection:
            assert connection.table("t").row(row) == ROWS[row], "it is back where it was"
        assert move(cluster, going, sound) != "", "it cannot be given up"
        assert cut_off.process.poll() is None, "it keeps its lock"
        way.mend()
        eventually(lambda: move(cluster, going, sound) == "", SOON_SECONDS, "it goes once there is a way")
        with closing(sound.connect()) as connection:
            assert connection.table("t").row(other) == ROWS[other]
        eventually(lambda: move(cluster, coming, cut_off) == "", SOON_SECONDS, "and the other one comes")
        with closing(cut_off.connect()) as connection:
            assert dict(connection.table("t").scan()) == ROWS
