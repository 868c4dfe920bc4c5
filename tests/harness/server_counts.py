"""What a NameNode and a ZooKeeper were asked, by their own counts."""

import json
import socket
import time
import urllib.request
from typing import Final, NamedTuple

from tests.harness.real_servers import HdfsServers, ZooKeeperServer
from tests.harness.waiting import SOON_SECONDS

_METRICS_SECONDS: Final = 1.2
"""A NameNode of the tests gathers its counts every second."""
_NOT_COUNTED: Final = (
    "SendHeartbeat", "BlockReceivedAndDeleted", "BlockReport", "RegisterDatanode", "VersionRequest",
    "CommitBlockSynchronization", "Overall", "Deferred",
)  # fmt: skip
"""Calls of DataNodes; and the same calls under another name."""


class Counts(NamedTuple):
    """Since the servers' start."""

    calls: dict[str, int]
    """Of the NameNode by Hadoop's own protocol, by method, without those of DataNodes."""
    namenode_seconds: float
    """Of its processor time."""
    zookeeper: int
    """Packets that ZooKeeper received, pings of sessions among them."""
    at_seconds: float

    def since(self, before: "Counts") -> "Counts":
        calls = {name: count - before.calls.get(name, 0) for name, count in self.calls.items()}
        return Counts(
            {name: count for name, count in calls.items() if count},
            self.namenode_seconds - before.namenode_seconds,
            self.zookeeper - before.zookeeper,
            self.at_seconds - before.at_seconds,
        )


def counts(hdfs: HdfsServers, zookeeper: ZooKeeperServer) -> Counts:
    """All that was asked before this call is counted."""
    time.sleep(_METRICS_SECONDS)
    found = _bean(hdfs, f"Hadoop:service=NameNode,name=RpcDetailedActivityForPort{hdfs.port}")
    calls = {
        name.removesuffix("NumOps"): int(str(count))
        for name, count in found.items()
        if name.endswith("NumOps") and "(" not in name and not name.startswith(_NOT_COUNTED)
    }
    nanos = _bean(hdfs, "java.lang:type=OperatingSystem")["ProcessCpuTime"]
    return Counts(calls, int(str(nanos)) / 1e9, _packets(zookeeper), time.monotonic())


def _bean(hdfs: HdfsServers, name: str) -> dict[str, object]:
    url = f"http://{hdfs.host}:{hdfs.http_port}/jmx?qry={name}"
    with urllib.request.urlopen(url, timeout=SOON_SECONDS) as answer:
        beans: list[dict[str, object]] = json.loads(answer.read())["beans"]
    return beans[0]


def _packets(zookeeper: ZooKeeperServer) -> int:
    with socket.create_connection(("127.0.0.1", zookeeper.port), SOON_SECONDS) as asking:
        asking.sendall(b"mntr")
        text = b"".join(iter(lambda: asking.recv(65536), b"")).decode()
    lines = dict(line.split("\t", 1) for line in text.splitlines() if "\t" in line)
    return int(float(lines["zk_packets_received"]))
