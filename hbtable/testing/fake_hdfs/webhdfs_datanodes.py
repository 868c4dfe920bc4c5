"""DataNodes' WebHDFS in memory, for tests and simulation, under webhdfs.py: uploads on their way into files.

An upload has steps (file created, bytes received, file completed), and anything may come between them. A pipeline with
a frozen node stops an upload for `pipeline_seconds`. One of the receiving node's few threads serves it, and every
connection that falls to that thread waits as well (netty's event loops: two a processor in 3.4.2, in turn).
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from hbtable.fs.webhdfs.requests import WebHdfsRequest, WebHdfsResponse
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches
from hbtable.testing.fake_hdfs.namespace import FakeFile, FakeHadoopError, FakeNamespace
from hbtable.testing.fake_hdfs.webhdfs_namenode import refusal, split_target

_THREADS: Final = 4
_BLOCK_BYTES: Final = 128 << 20


@dataclass
class FakeDataNodeQuirks:
    """The probability of each for a request that it can happen to; 0 is never. Versions: those that show it."""

    datanode_seconds: float = 0.015
    """Up to twice this, at random."""

    pipeline_seconds: float = 75.0
    """All versions: after so long a pipeline without an answer fails; dfs.client.socket-timeout changes it."""

    slow_close: float = 0.05
    """All versions: completing a file waits 0.4 s for the last block's report."""

    scattered: bool = False
    """All versions, where several DataNodes have one address: copies go to any nodes, whoever receives the content."""

    lying_created: float = 0.0
    """2.7.3: 201, and the file is absent, or has another length, because a failing close() is not reported. 3.4.2
    reports it."""

    cut_upload: float = 0.0
    """All versions: the connection breaks during the upload; what had come becomes a complete-looking file."""

    room_bytes: float = float("inf")
    """All versions, of each node: as much as the blocks under way may take. A whole one is counted however little is in
    it, also of an upload that was left (for 10 to 20 minutes; here for good)."""

    least_block_bytes: int = 1 << 20
    """All versions: dfs.namenode.fs-limits.min-block-size."""

    cut_read: float = 0.0
    """All versions: 200, and the body ends early: a DataNode died, or each copy is damaged."""


@final
class FakeNodeThread:
    """One of a node's."""

    def __init__(self, runtime: Runtime, taken_until: list[float], number: int) -> None:
        self._runtime = runtime
        self._taken_until = taken_until
        self._number = number

    @switches
    def wait(self) -> None:
        """*Switches.* Until it is free."""
        while (left := self._taken_until[self._number] - self._runtime.clock_seconds()) > 0:
            self._runtime.sleep(left)

    def occupy(self, until: float) -> None:
        self._taken_until[self._number] = max(self._taken_until[self._number], until)


@final
class FakeDataNodes:
    """Serves requests in tasks of the callers. `between` is called with the path when a file's bytes are received and
    before it is completed."""

    def __init__(
        self,
        runtime: Runtime,
        namespace: FakeNamespace,
        chance: random.Random,
        quirks: FakeDataNodeQuirks,
        nodes: tuple[str, ...],
        frozen: set[str],
        gone: set[str],
        between: Callable[[str], None],
    ) -> None:
        self.runtime = runtime
        self.namespace = namespace
        self.chance = chance
        self.quirks = quirks
        self.frozen = frozen
        self.gone = gone
        self.between = between
        self.scheduled_bytes = dict.fromkeys(nodes, 0)
        self._nodes = nodes
        self._writers = 0
        self._taken_until = {node: [0.0] * _THREADS for node in nodes}
        self._turns = dict.fromkeys(nodes, 0)

    @switches
    def serve(self, request: WebHdfsRequest) -> WebHdfsResponse | None:
        """None when nobody ever answers. *Switches.*"""
        thread = self.thread(request.host)
        thread.wait()
        try:
            if request.method == "GET":
                return self._read(request)
            body = request.body if isinstance(request.body, bytes) else _whole(request)
            return FakeUpload(self, thread, request).finish(body)
        except FakeHadoopError as error:
            return refusal(error)

    def thread(self, node: str) -> FakeNodeThread:
        """That the next connection to the node falls to."""
        number = self._turns[node]
        self._turns[node] = (number + 1) % _THREADS
        return FakeNodeThread(self.runtime, self._taken_until[node], number)

    def happens(self, likelihood: float) -> bool:
        return likelihood > 0 and self.chance.random() < likelihood

    def pause(self) -> None:
        self.runtime.sleep(self.chance.uniform(0, 2 * self.quirks.datanode_seconds))

    def holder(self) -> str:
        self._writers += 1
        return f"DFSClient_{self._writers}"

    def takes(self, node: str, block_bytes: int = _BLOCK_BYTES) -> bool:
        """Whether the NameNode leads a new block to it."""
        return node not in self.gone and self.scheduled_bytes[node] + block_bytes <= self.quirks.room_bytes

    def pipeline(self, receiver: str, replication: int, block_bytes: int) -> list[str]:
        """At least one node. FakeHadoopError."""
        fitting = [node for node in self._nodes if self.takes(node, block_bytes)]
        if not fitting:
            message = f"could only be written to 0 of the 1 minReplication nodes. {len(self._nodes)} are running"
            raise FakeHadoopError("java.io.IOException", message)
        count = min(replication, len(fitting))
        if self.quirks.scattered or receiver not in fitting:
            return self.chance.sample(fitting, count)
        others = [node for node in fitting if node != receiver]
        return [receiver, *self.chance.sample(others, count - 1)]

    def _read(self, request: WebHdfsRequest) -> WebHdfsResponse:
        path, parameters = split_target(request.target)
        file = self.namespace.file(path)
        self.pause()
        offset = int(parameters.get("offset", "0"))
        size = int(parameters.get("length", len(file.readable)))
        body = file.readable[offset : offset + size]
        if body and self.happens(self.quirks.cut_read):
            return WebHdfsResponse(200, "", body[: self.chance.randrange(len(body))], complete=False)
        return WebHdfsResponse(200, "", body)


@final
class FakeUpload:
    """An upload that a DataNode has begun to receive: the file is created, and its pipeline stands. FakeHadoopError."""

    def __init__(self, nodes: FakeDataNodes, thread: FakeNodeThread, request: WebHdfsRequest) -> None:
        self._nodes = nodes
        self._thread = thread
        self._path, parameters = split_target(request.target)
        replication = int(parameters.get("replication", "3"))
        parents = parameters.get("createparent", "true") == "true"
        overwrite = parameters.get("overwrite") == "true"
        self._block_bytes = int(parameters.get("blocksize", _BLOCK_BYTES))
        if self._block_bytes < nodes.quirks.least_block_bytes:
            message = (
                "Specified block size is less than configured minimum value (dfs.namenode.fs-limits.min-block-size): "
                f"{self._block_bytes} < {nodes.quirks.least_block_bytes}"
            )
            raise FakeHadoopError("java.io.IOException", message)
        self._holder = nodes.holder()
        self._file = nodes.namespace.create(self._path, self._holder, replication, overwrite, parents)
        self._pipeline = nodes.pipeline(request.host, replication, self._block_bytes)
        for node in self._pipeline:
            nodes.scheduled_bytes[node] += self._block_bytes
        self._fails_at = nodes.runtime.clock_seconds() + nodes.quirks.pipeline_seconds

    @switches
    def finish(self, body: bytes) -> WebHdfsResponse | None:
        """The answer once all of it came; None when nobody ever answers. *Switches.* FakeHadoopError."""
        nodes = self._nodes
        nodes.pause()
        if self._stuck():
            self._thread.occupy(self._fails_at)
            return None  # the file stays open, and empty to readers
        cut = nodes.happens(nodes.quirks.cut_upload)
        self._receive(body[: nodes.chance.randrange(len(body) or 1)] if cut else body)
        nodes.between(self._path)
        if nodes.happens(nodes.quirks.slow_close):
            nodes.runtime.sleep(0.4)
        if nodes.happens(nodes.quirks.lying_created):
            self._break()
            return WebHdfsResponse(201, "", b"")
        try:
            self._complete(self._file)
        except FakeHadoopError:
            if not nodes.namespace.hadoop_2:  # which says 201 all the same
                raise
        return None if cut else WebHdfsResponse(201, "", b"")

    def _stuck(self) -> bool:
        frozen = any(node in self._nodes.frozen for node in self._pipeline)
        return frozen and self._nodes.runtime.clock_seconds() < self._fails_at

    def _receive(self, body: bytes) -> None:
        self._nodes.namespace.write(self._file, self._holder, body)

    def _complete(self, file: FakeFile) -> None:
        self._nodes.namespace.complete(file, self._holder)
        for node in self._pipeline:
            self._nodes.scheduled_bytes[node] -= self._block_bytes

    def _break(self) -> None:
        """Loses the file, or a part of it: a 201 of 2.7.3 may stand for either."""
        if self._nodes.chance.random() < 0.5:
            self._nodes.namespace.delete(self._path)
        else:
            del self._file.received[self._nodes.chance.randrange(len(self._file.received) or 1) :]
            self._complete(self._file)


def _whole(request: WebHdfsRequest) -> bytes:
    assert not isinstance(request.body, bytes)
    request.body.seek(0)
    return request.body.read()
