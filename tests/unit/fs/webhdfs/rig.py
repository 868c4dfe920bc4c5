"""A WebHDFS fake with an adapter over it, for tests of what goes wrong."""

import random
from collections.abc import Callable

from hbtable.fs.webhdfs.file_system import WebHdfsFileSystem
from hbtable.fs.webhdfs.options import WebHdfsOptions
from hbtable.testing.fake_hdfs.namespace import FakeNamespace
from hbtable.testing.fake_hdfs.webhdfs import FakeWebHdfs
from hbtable.testing.simulated.runtime import SimulatedRuntime
from hbtable.testing.task_calls import TaskCalls

ROOT = "/root"


class Rig:
    """One process over one cluster, in virtual time."""

    def __init__(
        self,
        seed: int = 1,
        hadoop_2: bool = False,
        gateway: bool = False,
        nodes: int = 3,
        capacity_bytes: int | None = None,
        options: WebHdfsOptions | None = None,
    ) -> None:
        self.runtime = SimulatedRuntime(seed)
        self.namespace = FakeNamespace(self.runtime.wall_millis, capacity_bytes, hadoop_2)
        chance = random.Random(seed)
        self.fake = FakeWebHdfs(self.runtime, self.namespace, chance, nodes=nodes, gateway=gateway)
        self.quirks = self.fake.quirks
        http = self.fake.http(self.runtime)
        calls = TaskCalls(self.runtime)
        self.fs = WebHdfsFileSystem(self.runtime, self.fake.hosts, ROOT, http, options, calls)

    def run(self, body: Callable[[], None]) -> None:
        self.runtime.run(body)

    def content(self, path: str) -> bytes | None:
        file = self.namespace.files().get(f"{ROOT}/{path}")
        return None if file is None else bytes(file.received)
