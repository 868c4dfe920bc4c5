"""The state of a pretended HDFS: names (namespace.py), replicas, DataNodes to be killed, frozen and thawed.

native_client.py shows it through hdfs-native's API. One state serves any number of clients, as a cluster does; it
outlives the processes that use it. Times are those measured with Hadoop 3.4.2 (docs/hdfs.md).
"""

import random
from dataclasses import dataclass, field
from typing import Final, final

from hbtable.runtime.interface import Event, Runtime
from hbtable.testing.fake_hdfs.namespace import FakeFile, FakeNamespace

UP: Final = "up"
FROZEN: Final = "frozen"
KILLED: Final = "killed"


@dataclass(frozen=True)
class FakeHdfsQuirks:
    """The chance of each quirk at one call; 0 switches it off."""

    call_seconds: float = 0.001
    """Longest time of an ordinary call."""

    slow_completion: float = 0.05
    """close() takes half a second more: the last block is not reported yet. [3.4.2]"""

    repeated: float = 0.0
    """A change of names is applied, its answer lost, and the client asks again: a file that it created exists, the
    source of its rename is gone. [hdfs-native 0.14, after a connection is lost]"""

    vanished: float = 0.0
    """A call of the NameNode never returns; in half of the cases it is applied."""

    dead_after_seconds: float = 30.0
    """From then on the NameNode leaves a DataNode out of new pipelines. [by default 630]"""

    socket_timeout_seconds: float = 2.0
    """dfs.client.socket-timeout: ends a read or a first contact with a frozen DataNode, but no sync. [0.14.7]"""

    recovery_seconds: tuple[float, float] = (0.7, 1.3)
    """Sealing a file whose DataNodes are all up takes a time between these. [3.4.2]"""

    dead_recovery_seconds: float = 11.0
    """The same with a DataNode that does not answer. [3.4.2]"""

    lingering_seconds: float = 3.0
    """The blocks of a deleted file can be read for so long by whoever has it open. [3.4.2]"""


@final
class FakeDataNode:
    """One DataNode."""

    def __init__(self, name: str, changed: Event) -> None:
        self.name = name
        self.state = UP
        self.since_seconds = 0.0
        self.changed = changed


@final
class FakeBlock:
    """The only block of one file: how long each replica is. What the writer sent is FakeFile.received; a replica has a
    prefix of it."""

    __slots__ = ("recovered_at_seconds", "replicas")

    def __init__(self) -> None:
        self.replicas: dict[FakeDataNode, int] = {}
        self.recovered_at_seconds: float | None = None


@final
@dataclass
class FakeHdfs:
    """NameNode and DataNodes."""

    runtime: Runtime
    quirks: FakeHdfsQuirks = field(default_factory=FakeHdfsQuirks)
    node_count: int = 3
    safe_mode: bool = False
    namenode_up: bool = True

    def __post_init__(self) -> None:
        self.chance = random.Random(self.runtime.random.getrandbits(64))
        self.nodes = [FakeDataNode(f"dn{number + 1}", self.runtime.event()) for number in range(self.node_count)]
        self.names = FakeNamespace(self.runtime.wall_millis)
        self._blocks: dict[int, FakeBlock] = {}

    # ------------------------------------------------------------ faults

    def kill(self, number: int) -> None:
        self._turn(number, KILLED)

    def freeze(self, number: int) -> None:
        self._turn(number, FROZEN)

    def _turn(self, number: int, state: str) -> None:
        node = self.nodes[number]
        node.state = state
        node.since_seconds = self.runtime.clock_seconds()
        node.changed.set()
        node.changed.clear()

    # ------------------------------------------------------------ for the clients

    def pipeline(self, replication: int) -> list[FakeDataNode]:
        """DataNodes for a new block, as the NameNode picks them."""
        now = self.runtime.clock_seconds()
        after = self.quirks.dead_after_seconds
        known = [node for node in self.nodes if node.state == UP or now - node.since_seconds < after]
        return self.chance.sample(known, min(replication, len(known)))

    def block(self, file: FakeFile) -> FakeBlock:
        return self._blocks.setdefault(file.inode, FakeBlock())

    def recover(self, path: str) -> bool:
        """One recover_lease: whether the file is complete. The first one shuts the writer out."""
        file = self.names.file(path)
        if not file.holder:
            return True
        block, quirks, now = self.block(file), self.quirks, self.runtime.clock_seconds()
        if block.recovered_at_seconds is None:
            file.holder = "recovery"
            silent = any(node.state != UP for node in block.replicas)
            seconds = quirks.dead_recovery_seconds if silent else self.chance.uniform(*quirks.recovery_seconds)
            block.recovered_at_seconds = now + seconds
        if now < block.recovered_at_seconds:
            return False
        lengths = [length for node, length in block.replicas.items() if node.state == UP]
        if block.replicas and not lengths:
            return False
        # The shortest replica of those that answer: all that was acknowledged, and perhaps some that was not.
        del file.received[min(lengths, default=0) :]
        block.replicas = {node: len(file.received) for node in block.replicas if node.state == UP}
        return self.names.recover_lease(path)
