"""How often a cluster asks the NameNode and ZooKeeper, at rest and under load, by their own counts: what they can do is
the ceiling of the whole cluster."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.role_processes import ProcessCluster
from tests.harness.server_counts import Counts, counts

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.alone]

SERVERS = 3
REST_SECONDS = 15.0
WRITERS = 8
PUTS = 150


@pytest.fixture
def cluster(
    hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer, own_folder: str, tmp_path: Path
) -> Iterator[ProcessCluster]:
    address = hdfs_servers.hdfs(own_folder)
    settings = f'[hdfs]\nweb_addresses = "{hdfs_servers.host}:{hdfs_servers.http_port}"\n'
    with ProcessCluster(tmp_path, zookeeper_server.address, own_folder, address, settings=settings) as roles:
        roles.start(SERVERS)
        roles.create_table("rows", [])
        yield roles


def test_a_cluster_at_rest_asks_little(
    cluster: ProcessCluster, hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer
) -> None:
    before = counts(hdfs_servers, zookeeper_server)
    time.sleep(REST_SECONDS)  # a rate is counted over a time; a machine that stands still makes it lower
    asked = counts(hdfs_servers, zookeeper_server).since(before)
    _print("at rest", asked)
    assert sum(asked.calls.values()) / asked.at_seconds <= 1.0 * SERVERS
    assert asked.zookeeper / asked.at_seconds <= 20.0 * SERVERS


def test_a_put_asks_the_namenode_for_its_groups_sync_alone(
    cluster: ProcessCluster, hdfs_servers: HdfsServers, zookeeper_server: ZooKeeperServer
) -> None:
    _put(cluster, 1, 20)  # what is done once
    found = {}
    for writers in (1, WRITERS):
        before = counts(hdfs_servers, zookeeper_server)
        _put(cluster, writers, PUTS)
        found[writers] = asked = counts(hdfs_servers, zookeeper_server).since(before)
        puts = writers * PUTS
        _print(f"{puts} puts of {writers} writers", asked)
        print(f"    {puts / asked.namenode_seconds:.0f} puts a second of the NameNode's processor")
        others = {name: count for name, count in asked.calls.items() if name != "Fsync"}
        assert asked.calls["Fsync"] <= puts + 2.0 * SERVERS * asked.at_seconds
        assert sum(others.values()) <= 1.0 * SERVERS * asked.at_seconds + 30
        assert asked.zookeeper / asked.at_seconds <= 20.0 * SERVERS
    alone, together = (found[writers].calls["Fsync"] / (writers * PUTS) for writers in (1, WRITERS))
    print(f"syncs that the NameNode hears of, for a put: {alone:.2f} of one writer, {together:.2f} of {WRITERS}")
    assert together <= alone / 2, "writers share a sync"


def _put(cluster: ProcessCluster, writers: int, puts: int) -> None:
    """One row a call, on connections of their own."""
    failed: list[BaseException] = []

    def write(number: int) -> None:
        try:
            with closing(cluster.connect()) as connection:
                table = connection.table("rows")
                for row in range(puts):
                    table.put(b"%d-%06d" % (number, row), {b"f:q": b"v" * 100})
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def _print(what: str, asked: Counts) -> None:
    every = ", ".join(f"{name} {count}" for name, count in sorted(asked.calls.items(), key=lambda one: -one[1]))
    seconds = asked.at_seconds
    print(
        f"\n{what}, {seconds:.1f} s: the NameNode {sum(asked.calls.values()) / seconds:.1f} calls a second ({every}),"
    )
    print(f"    {asked.namenode_seconds:.2f} s of its processor; ZooKeeper {asked.zookeeper / seconds:.1f} a second")
