"""WebHDFS in memory, with what goes wrong there: carries the adapter's requests in tests and simulation.

    namespace = TwinNamespace(runtime.wall_millis)
    twin = WebHdfsTwin(runtime, namespace, random.Random(seed))
    fs = WebHdfsFileSystem(process, twin.hosts, "/hbtable", twin.http(process), calls=TaskCalls(process))
    twin.quirks.lost_reply = 0.05
    twin.frozen.add(twin.nodes[0])

Requests are served by tasks of the twin's own runtime, so a client that stops waiting, or dies, changes nothing about
what happens. One content takes its way through a DataNode in steps (file created, bytes received, file completed), and
anything may come between them. How it ends when nothing is wrong was measured on Hadoop 3.4.2; docs/hdfs.md.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from hbtable.fs.hdfs_twin_namespace import JavaError, TwinFile, TwinNamespace
from hbtable.fs.webhdfs_requests import Http, NoAnswer, NotSent, Request, Response
from hbtable.fs.webhdfs_twin_namenode import TwinNameNode, answer, refusal, split_target
from hbtable.runtime.interface import Runtime

_HTTP_PORT: Final = 9864
_BLOCK_PORT: Final = 9866
_STANDBY: Final = JavaError(
    "org.apache.hadoop.ipc.StandbyException",
    "Operation category READ is not supported in state standby. Visit https://s.apache.org/sbnn-error",
)


@dataclass
class WebHdfsQuirks:
    """How likely each is for a request it can happen to; 0 is never. Versions: those that show it."""

    namenode_seconds: float = 0.001
    datanode_seconds: float = 0.015
    """Up to twice this each, at random."""

    slow_close: float = 0.05
    """All versions: completing a file waits 0.4 s for the last block's report."""

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

    lying_created: float = 0.0
    """2.7.3: 201, and the file is absent, or has another length, because a failing close() is not reported. 3.4.2
    reports it."""

    cut_content: float = 0.0
    """All versions: the connection breaks during the content; what had come becomes a complete-looking file."""

    cut_read: float = 0.0
    """All versions: 200, and the body ends early: a DataNode died, or each copy is damaged."""


@final
class WebHdfsTwin:
    """One cluster: two NameNodes of which one is active, some DataNodes. `frozen` ones take connections and never
    answer, nor does a pipeline with one; `dead` ones refuse connections; both are still named in redirects."""

    def __init__(
        self,
        runtime: Runtime,
        namespace: TwinNamespace,
        chance: random.Random,
        quirks: WebHdfsQuirks | None = None,
        nodes: int = 3,
        gateway: bool = False,
    ) -> None:
        self.namespace = namespace
        self.quirks = quirks or WebHdfsQuirks()
        self.hosts = ("namenode-1:9870", "namenode-2:9870")
        self.active = 0
        self.nodes = tuple(f"datanode-{number}:{_HTTP_PORT}" for number in range(1, nodes + 1))
        self.frozen: set[str] = set()
        self.dead: set[str] = set()
        self.safe_mode = False
        self.log: list[Request] = []
        """Every request that was carried out, in order."""
        self.between: Callable[[str], None] = lambda path: None
        """Called when a file's bytes are received and before it is completed: for what may come between."""
        self._runtime = runtime
        self._chance = chance
        self._namenode = TwinNameNode(namespace, self._choose, gateway)
        self._writers = 0

    def http(self, process: Runtime) -> Http:
        """What a process sends its requests through."""

        def carry(request: Request) -> Response:
            return self._carry(process, request)

        return carry

    # ------------------------------------------------------------ the way there and back

    def _happens(self, likelihood: float) -> bool:
        return likelihood > 0 and self._chance.random() < likelihood

    def _carry(self, process: Runtime, request: Request) -> Response:
        quirks = self.quirks
        if request.host in self.dead or self._happens(quirks.refused):
            raise NotSent(f"{request.host} cannot be reached")
        answered = process.event()
        responses: list[Response] = []
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

    def _served(self, request: Request) -> Response | None:
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
                return refusal(JavaError("org.apache.hadoop.hdfs.server.namenode.SafeModeException", message))
            return self._namenode.serve(request)
        path, parameters = split_target(request.target)
        try:
            return self._read(path, parameters) if request.method == "GET" else self._write(request, path, parameters)
        except JavaError as error:
            return refusal(error)

    def _metrics(self) -> Response:
        live = {
            f"{node.partition(':')[0]}:{_BLOCK_PORT}": {
                "infoAddr": f"10.0.0.{n}:{_HTTP_PORT}",
                "xferaddr": _block(node),
            }
            for n, node in enumerate(self.nodes, 1)
        }
        return answer({"beans": [{"LiveNodes": json.dumps(live)}]})

    def _choose(self, without: frozenset[str]) -> str:
        fitting = [node for node in self.nodes if _block(node) not in without]
        if not fitting:
            message = f"Failed to find datanode, suggest to check cluster health. excludeDatanodes={','.join(without)}"
            raise JavaError("java.io.IOException", message)
        return self._chance.choice(fitting)

    # ------------------------------------------------------------ DataNodes

    def _write(self, request: Request, path: str, parameters: dict[str, str]) -> Response | None:
        content = request.body if isinstance(request.body, bytes) else _whole(request)
        replication = int(parameters.get("replication", "3"))
        self._writers += 1
        holder = f"DFSClient_{self._writers}"
        parents = parameters.get("createparent", "true") == "true"
        file = self.namespace.create(path, holder, replication, parameters.get("overwrite") == "true", parents)
        others = [node for node in self.nodes if node != request.host]
        pipeline = [request.host, *self._chance.sample(others, min(replication - 1, len(others)))]
        self._runtime.sleep(self._chance.uniform(0, 2 * self.quirks.datanode_seconds))
        if any(node in self.frozen for node in pipeline):
            return None  # the file stays open, and empty to readers
        cut = self._happens(self.quirks.cut_content)
        self.namespace.write(file, holder, content[: self._chance.randrange(len(content) or 1)] if cut else content)
        self.between(path)
        if self._happens(self.quirks.slow_close):
            self._runtime.sleep(0.4)
        if self._happens(self.quirks.lying_created):
            self._break(path, file, holder)
            return Response(201, "", b"")
        self._complete(file, holder)
        return None if cut else Response(201, "", b"")

    def _complete(self, file: TwinFile, holder: str) -> None:
        try:
            self.namespace.complete(file, holder)
        except JavaError:
            if not self.namespace.hadoop_2:  # which says 201 all the same
                raise

    def _break(self, path: str, file: TwinFile, holder: str) -> None:
        """What a 201 of 2.7.3 may stand for."""
        if self._chance.random() < 0.5:
            self.namespace.delete(path)
        else:
            del file.received[self._chance.randrange(len(file.received) or 1) :]
            self.namespace.complete(file, holder)

    def _read(self, path: str, parameters: dict[str, str]) -> Response:
        file = self.namespace.file(path)
        self._runtime.sleep(self._chance.uniform(0, 2 * self.quirks.datanode_seconds))
        offset = int(parameters.get("offset", "0"))
        size = int(parameters.get("length", len(file.readable)))
        body = file.readable[offset : offset + size]
        if body and self._happens(self.quirks.cut_read):
            return Response(200, "", body[: self._chance.randrange(len(body))], complete=False)
        return Response(200, "", body)


def _block(node: str) -> str:
    number = node.partition(":")[0].rpartition("-")[2]
    return f"10.0.0.{number}:{_BLOCK_PORT}"


def _whole(request: Request) -> bytes:
    assert not isinstance(request.body, bytes)
    request.body.seek(0)
    return request.body.read()
