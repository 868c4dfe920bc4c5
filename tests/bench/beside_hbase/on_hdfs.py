"""hbtable over hdfs:// and webhdfs://, and HBase, on one real HDFS of three DataNodes and one ZooKeeper: of each one
master and one server of tablets or regions."""

import json
import os
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import happybase

from tests.bench.bench_trees import children
from tests.bench.beside_hbase.servers import Contestant, HBaseServer
from tests.harness.real_servers import HdfsServers, ZooKeeperServer, running_hdfs, running_zookeeper
from tests.harness.role_processes import ProcessCluster

SESSION_SECONDS = 30.0
_SETTINGS = """
[hdfs]
web_addresses = "{web}"
[webhdfs]
names_seconds = 60.0
read_seconds = 60.0
put_seconds = 60.0
"""
"""Nothing dies here: a NameNode that answers late has a busy machine."""


class HdfsContestant(Contestant, Protocol):
    """One whose log is in HDFS."""

    promise: str
    """What is so of a put when it is answered."""

    def log_copies(self) -> list[int]:
        """For how many DataNodes each of its log's files is meant, as the NameNode has it."""


class HbtableCluster:
    """This source tree's roles."""

    def __init__(self, name: str, promise: str, cluster: ProcessCluster, hdfs: HdfsServers, folder: str) -> None:
        self.name, self.promise = name, promise
        self._cluster, self._hdfs, self._folder = cluster, hdfs, folder
        cluster.start(servers=1)
        self.port = cluster.servers[0].port

    def pids(self) -> list[int]:
        roles = [role.process.pid for role in (*self._cluster.masters, *self._cluster.servers)]
        return [*roles, *(child for role in roles for child in children(role))]

    def settle(self, table: str) -> None:
        connection = happybase.Connection("127.0.0.1", self.port, timeout=300_000)
        connection.compact_table(table, major=True)
        connection.close()

    def disk_bytes(self) -> int:
        return _bytes_in(self._hdfs, self._folder)

    def log_copies(self) -> list[int]:
        return _copies(self._hdfs, f"{self._folder}/logs")


class HBaseOnHdfs(HBaseServer):
    """HBase 2.6.1 with the settings that it comes with, but for where it is."""

    def __init__(self, hdfs: HdfsServers, zookeeper: ZooKeeperServer, hsync: bool) -> None:
        self._hdfs = hdfs
        where = "on the disks" if hsync else "in the memory"
        self.promise = f"its log is {'synced (hsync)' if hsync else 'flushed (hflush)'}: {where} of the DataNodes"
        settings = {
            "hbase.cluster.distributed": "true",
            "hbase.unsafe.stream.capability.enforce": "true",
            "hbase.rootdir": hdfs.hdfs("/hbase"),
            "hbase.zookeeper.property.clientPort": str(zookeeper.port),
            "hbase.wal.hsync": str(hsync).lower(),
            "dfs.client.use.datanode.hostname": "true",
        }
        super().__init__(settings)

    def disk_bytes(self) -> int:
        return _bytes_in(self._hdfs, "/hbase")

    def log_copies(self) -> list[int]:
        return _copies(self._hdfs, "/hbase/WALs")


@contextmanager
def contestants(hsync: bool) -> Iterator[Sequence[HdfsContestant]]:
    """HBase first. The servers that both use have both of Java's compilers."""
    os.environ["JVM_COMPILER"] = ""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="hbtable-bench-")))
        hdfs, zookeeper = stack.enter_context(running_hdfs(notices_late=True)), stack.enter_context(running_zookeeper())
        hbase = HBaseOnHdfs(hdfs, zookeeper, hsync)
        stack.callback(hbase.stop)
        running: list[HdfsContestant] = [hbase]
        for kind, files, promise in (
            ("hdfs", hdfs.hdfs, "its log is synced (hsync): on the disks of the DataNodes"),
            ("webhdfs", hdfs.webhdfs, "each group of its log is a file that was closed: on the disks of the DataNodes"),
        ):
            (folder / kind).mkdir()
            settings = _SETTINGS.format(web=f"localhost:{hdfs.http_port}")
            cluster = ProcessCluster(
                folder / kind, zookeeper.address, f"/{kind}", files(f"/{kind}"), SESSION_SECONDS, settings
            )
            stack.enter_context(cluster)
            running.append(HbtableCluster(f"hbtable, {kind}", promise, cluster, hdfs, f"/{kind}"))
        yield running


def durability(servers: Sequence[Contestant]) -> list[str]:
    """A sentence about each, of what is on HDFS now."""
    told = []
    for server in servers:
        assert isinstance(server, HbtableCluster | HBaseOnHdfs)
        copies = sorted(set(server.log_copies()))
        told.append(f"{server.name}, when a put is answered: {server.promise}; copies of its log's files: {copies}")
    return told


def _asked(hdfs: HdfsServers, path: str, operation: str) -> dict[str, dict[str, object]]:
    url = f"http://{hdfs.host}:{hdfs.http_port}/webhdfs/v1{path}?op={operation}"
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.loads(answer.read())


def _bytes_in(hdfs: HdfsServers, folder: str) -> int:
    """All copies together."""
    return int(str(_asked(hdfs, folder, "GETCONTENTSUMMARY")["ContentSummary"]["spaceConsumed"]))


def _copies(hdfs: HdfsServers, folder: str) -> list[int]:
    found: list[int] = []
    inside = _asked(hdfs, folder, "LISTSTATUS")["FileStatuses"]["FileStatus"]
    assert isinstance(inside, list)
    for one in inside:
        if one["type"] == "DIRECTORY":
            found += _copies(hdfs, f"{folder}/{one['pathSuffix']}")
        else:
            found.append(one["replication"])
    return found
