"""A whole cluster goes down and comes back: in order, by kill -9 of everything at once, and with ZooKeeper and HDFS
under it. What was acknowledged is there, ports are as before, and the logs of the lives before are collected."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import happybase  # noqa: F401  makes Hbase_thrift importable
import pytest
from Hbase_thrift import TScan

from hbtable.fs.opened import close_file_system, open_file_system
from hbtable.lockservice.paths import LOCK_SUFFIX
from hbtable.lockservice.paths import SERVERS as SERVERS_FOLDER
from hbtable.lockservice.zookeeper.lock_service import ZooKeeperLockService
from hbtable.lockservice.zookeeper.options import ZooKeeperOptions
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.free_ports import free_ports
from tests.harness.long_timeouts import LONG_TIMEOUTS
from tests.harness.real_servers import HdfsServers, ZooKeeperServer, require_java, running_zookeeper
from tests.harness.role_processes import ProcessCluster, until_put
from tests.harness.tiers import long_test
from tests.harness.waiting import SOON_SECONDS, eventually, runs

pytestmark = pytest.mark.java

SERVERS = 2
SPLITS = [b"b", b"c", b"d"]
SETTINGS = "[garbage]\nperiod_seconds = 1.0\ntrash_seconds = 1.0\n[maintenance]\nperiod_seconds = 0.1\n"


@pytest.fixture
def own_zookeeper() -> Iterator[ZooKeeperServer]:
    """Of this test alone, which kills it."""
    require_java()
    with running_zookeeper() as server:
        yield server


class Lives:
    """One cluster in several lives, on the same ports in each."""

    def __init__(self, cluster: ProcessCluster, files: str) -> None:
        self.cluster = cluster
        self.files = files
        self._first_port = free_ports(3 * SERVERS + 1)
        self._runtime = GeventRuntime()
        self.acknowledged: dict[bytes, bytes] = {}

    def begin(self) -> None:
        """Everything is served, and was read, on return."""
        first = self._first_port
        began = time.monotonic()
        self.cluster.start_master("--rpc-port", str(first))
        for number in range(SERVERS):
            ports = (first + 1 + 3 * number, first + 2 + 3 * number, first + 3 + 3 * number)
            options = zip(("--port", "--rpc-port", "--http-port"), map(str, ports), strict=True)
            server = self.cluster.start_server(*(word for pair in options for word in pair))
            assert (server.port, server.rpc_port) == ports[:2]
        if self.acknowledged:
            self.check()
        else:
            self.cluster.wait_until_served()
        print(f"all of it read {time.monotonic() - began:.1f} s after the first role was started")

    def living(self) -> set[str]:
        return {server.incarnation for server in self.cluster.servers[-SERVERS:]}

    def write(self, life: int) -> None:
        """Some rows in each tablet, by each of the servers."""
        for server in self.cluster.servers[-SERVERS:]:
            connection = server.connect()
            table = connection.table("t")
            for letter in b"abcd":
                row = b"%c-%d-%d" % (letter, life, server.port)
                until_put(table, row, {b"f:v": b"value of " + row}, SOON_SECONDS)
                self.acknowledged[row] = b"value of " + row
            connection.close()

    def check(self) -> None:
        """Through each server."""
        for server in self.cluster.servers[-SERVERS:]:
            connection = server.connect()
            found = {row: cells[b"f:v"] for row, cells in connection.table("t").scan()}
            connection.close()
            assert found == self.acknowledged

    def kill_all(self) -> None:
        """At once: the first one does not see the others die."""
        for role in (*self.cluster.masters, *self.cluster.servers):
            if role.process.poll() is None:
                role.process.send_signal(signal.SIGKILL)
        for role in (*self.cluster.masters, *self.cluster.servers):
            role.process.wait()

    def logs(self) -> set[str]:
        """The incarnations that have a log in HDFS."""
        fs = open_file_system(self.files, self._runtime, LONG_TIMEOUTS)
        try:
            return {status.path.split("/")[1] for status in fs.list_files("logs")}
        finally:
            close_file_system(fs)

    def known(self) -> set[str]:
        """The servers that ZooKeeper knows."""
        options = ZooKeeperOptions(20.0, call_seconds=15.0)
        service = ZooKeeperLockService(self._runtime, self.cluster.zookeeper, self.cluster.root, options)
        session = service.open_session("test")
        try:
            return {name.removesuffix(LOCK_SUFFIX) for name in session.list(SERVERS_FOLDER)}
        finally:
            session.close()

    def until_collected(self) -> None:
        """Nothing is left of the lives before."""
        began = time.monotonic()
        eventually(lambda: self.logs() <= self.living(), 2 * SOON_SECONDS, f"only the logs of {self.living()}")
        print(f"old logs were collected {time.monotonic() - began:.1f} s after")
        eventually(lambda: self.known() == self.living(), SOON_SECONDS, f"only the servers {self.living()}")


@long_test("a cluster stopped or killed")
def test_a_cluster_that_is_stopped_or_killed_goes_on_where_it_was(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> None:
    files = hdfs_servers.hdfs(own_folder)
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, files, settings=SETTINGS) as cluster:
        lives = Lives(cluster, files)
        lives.begin()
        cluster.create_table("t", SPLITS)
        lives.write(1)

        connection = cluster.servers[-1].connect()
        scanner = connection.client.scannerOpenWithScan(b"t", TScan(caching=3), {})
        first = [result.row for result in connection.client.scannerGetList(scanner, 3)]
        connection.close()
        roles = [*cluster.masters, *cluster.servers]
        for role in roles:
            role.process.terminate()
        assert [role.process.wait(2 * SOON_SECONDS) for role in roles] == [0] * len(roles)

        lives.begin()
        assert "fenced" not in cluster.masters[-1].log(), "after a stop in order there is nothing to recover"
        connection = cluster.servers[-1].connect()
        rest = [result.row for result in connection.client.scannerGetList(scanner, 100)]
        connection.close()
        assert first + rest == sorted(lives.acknowledged), "a scanner goes on at the port that it was opened at"
        lives.until_collected()

        lives.write(2)
        lives.kill_all()
        lives.begin()
        lives.write(3)
        lives.until_collected()
        lives.check()


@long_test("everything was killed")
def test_a_cluster_comes_back_after_everything_under_it_was_killed_too(
    hdfs_servers: HdfsServers, own_zookeeper: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> None:
    files = hdfs_servers.webhdfs(own_folder)
    with ProcessCluster(tmp_path, own_zookeeper.address, own_folder, files, settings=SETTINGS) as cluster:
        lives = Lives(cluster, files)
        lives.begin()
        cluster.create_table("t", SPLITS)
        lives.write(1)
        lives.kill_all()
        killed = time.monotonic()
        own_zookeeper.stop()
        hdfs_servers.kill_all()
        hdfs_servers.restart_all()
        own_zookeeper.start()
        print(f"HDFS and ZooKeeper were back {time.monotonic() - killed:.1f} s after they were killed")
        lives.begin()
        lives.write(2)
        lives.until_collected()
        lives.check()


def test_a_role_whose_supervisor_was_killed_stops_in_order(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> None:
    files = hdfs_servers.hdfs(own_folder)
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, files) as cluster:
        port = str(free_ports(1))
        first = cluster.start_master("--supervised", "--rpc-port", port)
        child = first.child()
        first.kill()
        eventually(lambda: not runs(child), 2 * SOON_SECONDS, "the end of the child")
        assert "stopped in order" in first.log()
        second = cluster.start_master("--supervised", "--rpc-port", port)
        assert second.stop() == 0
