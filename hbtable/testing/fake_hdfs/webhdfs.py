"""WebHDFS in memory, with what goes wrong there: carries the adapter's requests in tests and simulation.

    namespace = FakeNamespace(runtime.wall_millis)
    fake = FakeWebHdfs(runtime, namespace, random.Random(seed))
    fs = WebHdfsFileSystem(process, fake.hosts, "/hbtable", fake.http(process), calls=TaskCalls(process))
    fake.quirks.lost_reply = 0.05
    fake.frozen.add(fake.nodes[0])

Requests are served by tasks of the fake's own runtime, so a client that stops waiting, or dies, changes nothing about
what happens. Uploads take their way through webhdfs_datanodes.py. How it ends when nothing is wrong was measured
on Hadoop 3.4.2; docs/hdfs.md.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from hbtable.fs.webhdfs.requests import Http, NoAnswer, NotSent, WebHdfsRequest, WebHdfsResponse
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches
from hbtable.testing.fake_hdfs.namespace import FakeHadoopError, FakeNamespace
from hbtable.testing.fake_hdfs.webhdfs_datanodes import FakeDataNodeQuirks, FakeDataNodes
from hbtable.testing.fake_hdfs.webhdfs_namenode import FakeNameNode, answer, refusal

_HTTP_PORT: Final = 9864
_BLOCK_PORT: Final = 9866
_STANDBY: Final = FakeHadoopError(
    "org.apache.hadoop.ipc.StandbyException",
    "Operation category READ is not supported in state standby. Visit https://s.apache.org/sbnn-error",
)


@dataclass
class FakeWebHdfsQuirks(FakeDataNodeQuirks):
    """The probability of each for a request that it can happen to; 0 is never. Versions: those that show it."""

    namenode_seconds: float = 0.001

    refused: float = 0.0
    """Any: no connection; nothing happens."""

    lost_request: float = 0.0
    """Any: nothing happens, and no answer comes."""

    lost_reply: float = 0.0
    """Any: it is done, and no answer comes."""

    late: float = 0.0
    """Any: it is done up to two minutes later, and no answer comes."""

    doubled: float = 0.0
    """Behind proxies and gateways that repeat: done twice, and the second's answer comes: a rename that was done says
    false, or that there is no source."""


@final
class FakeWebHdfs:
    """One cluster: two NameNodes of which one is active, some DataNodes. `frozen` ones take connections and never
    answer, nor does a pipeline with one; `dead` ones refuse connections; both are still named in redirects, until the
    NameNode counts them as `gone`."""

    def __init__(
        self,
        runtime: Runtime,
        namespace: FakeNamespace,
        chance: random.Random,
        quirks: FakeWebHdfsQuirks | None = None,
        nodes: int = 3,
        gateway: bool = False,
    ) -> None:
        self.namespace = namespace
        self.quirks = quirks or FakeWebHdfsQuirks()
        self.hosts = ("namenode-1:9870", "namenode-2:9870")
        self.active = 0
        self.nodes = tuple(f"datanode-{number}:{_HTTP_PORT}" for number in range(1, nodes + 1))
        self.frozen: set[str] = set()
        self.dead: set[str] = set()
        self.gone: set[str] = set()
        self.safe_mode = False
        self.log: list[WebHdfsRequest] = []
        """Every request that was carried out, in order."""
        self.between: Callable[[str], None] = lambda path: None
        """Called when a file's bytes are received and before it is completed: for what may come between."""
        self._runtime = runtime
        self._chance = chance
        self.datanodes = FakeDataNodes(
            runtime, namespace, chance, self.quirks, self.nodes, self.frozen, self.gone, lambda path: self.between(path)
        )
        self._namenode = FakeNameNode(namespace, self._choose, gateway)

    def http(self, process: Runtime) -> Http:
        """A function through which a process sends its requests."""

        def carry(request: WebHdfsRequest) -> WebHdfsResponse:
            return self._carry(process, request)

        return carry

    # ------------------------------------------------------------ the way there and back

    def _happens(self, likelihood: float) -> bool:
        return likelihood > 0 and self._chance.random() < likelihood

    def _carry(self, process: Runtime, request: WebHdfsRequest) -> WebHdfsResponse:
        quirks = self.quirks
        if request.host in self.dead or self._happens(quirks.refused):
            raise NotSent(f"{request.host} cannot be reached")
        answered = process.event()
        responses: list[WebHdfsResponse] = []
        silent = self._happens(quirks.lost_reply)
        lost = self._happens(quirks.lost_request)
        delay = self._chance.uniform(0, 120.0) if self._happens(quirks.late) else 0.0
        twice = self._happens(quirks.doubled)

        def serve() -> None:
            self._runtime.sleep(delay)
            response = self._served(request)
            if twice and response is not None:
                response = self._served(request)
            if response is not None and not silent and not delay:
                responses.append(response)
                answered.set()

        if not lost:
            self._runtime.spawn(serve, name=f"webhdfs {request.method}")
        if not answered.wait(request.seconds):
            raise NoAnswer(f"{request.host}: no answer in time")
        return responses[0]

    @switches
    def _served(self, request: WebHdfsRequest) -> WebHdfsResponse | None:
        """None when nobody ever answers. *Switches.*"""
        self._runtime.sleep(self._chance.uniform(0, 2 * self.quirks.namenode_seconds))
        if request.host in self.frozen:
            return None
        self.log.append(request)
        if request.host in self.hosts:
            if request.host != self.hosts[self.active]:
                return refusal(_STANDBY)
            if request.target.startswith("/jmx"):
                return self._metrics()
            if self.safe_mode and request.method != "GET":
                message = "Cannot create file. Name node is in safe mode."
                return refusal(FakeHadoopError("org.apache.hadoop.hdfs.server.namenode.SafeModeException", message))
            return self._namenode.serve(request)
        return self.datanodes.serve(request)

    def _metrics(self) -> WebHdfsResponse:
        live = {
            f"{node.partition(':')[0]}:{_BLOCK_PORT}": {
                "infoAddr": f"10.0.0.{n}:{_HTTP_PORT}",
                "xferaddr": _block(node),
            }
            for n, node in enumerate(self.nodes, 1)
            if node not in self.gone
        }
        return answer({"beans": [{"LiveNodes": json.dumps(live)}]})

    def _choose(self, without: frozenset[str]) -> str:
        fitting = [node for node in self.nodes if _block(node) not in without and self.datanodes.takes(node)]
        if not fitting:
            message = f"Failed to find datanode, suggest to check cluster health. excludeDatanodes={','.join(without)}"
            raise FakeHadoopError("java.io.IOException", message)
        return self._chance.choice(fitting)


def _block(node: str) -> str:
    number = node.partition(":")[0].rpartition("-")[2]
    return f"10.0.0.{number}:{_BLOCK_PORT}"
