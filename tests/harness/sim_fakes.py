"""The production adapters over their fakes as a simulated process' storage, in place of sim_storage.py.

One namespace of each kind is shared by all processes. Between a process and the fake lies the simulated network: a cut
way loses requests (towards STORAGE) or answers (from it), after the time that the adapter allows. Through WebHDFS the
ways to the NameNodes and to the DataNodes are two.
"""

import random
from typing import Any

from hbtable.fs.hdfs.file_system import HdfsNativeFileSystem
from hbtable.fs.interface import WEBHDFS
from hbtable.fs.webhdfs.file_system import WebHdfsFileSystem
from hbtable.fs.webhdfs.requests import NoAnswer, WebHdfsRequest, WebHdfsResponse
from hbtable.testing.fake_hdfs.namespace import FakeNamespace
from hbtable.testing.fake_hdfs.native_client import FakeHdfsClient
from hbtable.testing.fake_hdfs.native_cluster import FakeHdfs
from hbtable.testing.fake_hdfs.webhdfs import FakeWebHdfs
from hbtable.testing.simulated.runtime import SimulatedRuntime
from hbtable.testing.task_calls import TaskCalls
from tests.harness.sim_network import DATANODES, NAMENODE, STORAGE, Network
from tests.harness.sim_sessions import Owner


class Fakes:
    """What stands behind all views."""

    def __init__(self, runtime: SimulatedRuntime, network: Network, seed: int) -> None:
        self.network = network
        self.web = FakeWebHdfs(runtime, FakeNamespace(runtime.wall_millis), random.Random(f"fake {seed}"))
        self.web.quirks.datanode_seconds = 0.004
        self.native = FakeHdfs(runtime)

    def view(self, owner: Owner, log_kind: str) -> Any:
        """The file system of a process."""
        calls = TaskCalls(owner.runtime)
        if log_kind == WEBHDFS:
            return WebHdfsFileSystem(owner.runtime, self.web.hosts, "/hbtable", self._http(owner), calls=calls)
        client = CutClient(self.native, owner, self.network)
        return HdfsNativeFileSystem(owner.runtime, "fake:8020", "/hbtable", client=client, calls=calls)

    def _http(self, owner: Owner) -> Any:
        carry = self.web.http(owner.runtime)

        def http(request: WebHdfsRequest) -> WebHdfsResponse:
            end = NAMENODE if request.host in self.web.hosts else DATANODES
            if not self.network.passes(owner.name, end):
                owner.runtime.sleep(request.seconds)
                raise NoAnswer(f"{request.host}: no answer in time")
            response = carry(request)
            if not self.network.answers(end, owner.name):
                owner.runtime.sleep(request.seconds)
                raise NoAnswer(f"{request.host}: no answer in time")
            return response

        return http


class CutClient(FakeHdfsClient):
    """hdfs-native asks for ever where nobody answers."""

    def __init__(self, cluster: FakeHdfs, owner: Owner, network: Network) -> None:
        super().__init__(cluster, owner.runtime, owner.name)
        self._network = network

    def pass_time(self) -> None:
        if not self._network.passes(self.name, STORAGE):
            self.hang()
        super().pass_time()
        if not self._network.answers(STORAGE, self.name):
            self.hang()


class FakeStorage:
    """What the harness expects of a process' disk."""

    def __init__(self, fs: Any) -> None:
        self.fs = fs
        self.slow_log_seconds = 0.0

    def died(self) -> None:
        """Its tasks end with the process; what it sent goes on."""
