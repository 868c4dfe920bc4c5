"""The promises of fs.interface (fs_promises.py), over every adapter that needs no server."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from hbtable.fs.hdfs.file_system import HdfsNativeFileSystem
from hbtable.fs.interface import FileSystem
from hbtable.fs.local import LocalFileSystem
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.webhdfs.file_system import WebHdfsFileSystem
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.testing.fake_hdfs.namespace import FakeNamespace
from hbtable.testing.fake_hdfs.native_client import FakeHdfsClient
from hbtable.testing.fake_hdfs.native_cluster import FakeHdfs
from hbtable.testing.fake_hdfs.webhdfs import FakeWebHdfs
from hbtable.testing.faulty_fs import FaultPlan, FaultyFileSystem
from hbtable.testing.simulated.runtime import SimulatedRuntime
from hbtable.testing.task_calls import TaskCalls
from tests.ports.fs_promises import *  # noqa: F403
from tests.ports.fs_promises import Adapter

KINDS = ["local", "local simulated", "memory", "memory gevent", "faulty", "hdfs native fake"]
KINDS += ["webhdfs fake", "webhdfs fake of 2.7"]


@pytest.fixture(params=KINDS)
def adapter(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Adapter]:
    kind = request.param
    if kind in ("local", "memory gevent"):
        real = GeventRuntime()
        fs: FileSystem = LocalFileSystem(str(tmp_path), real) if kind == "local" else MemoryFileSystem(real)
        yield Adapter(fs, real, lambda body: body())
        real.close()
        return
    simulated = SimulatedRuntime(1)
    if kind == "local simulated":
        fs = LocalFileSystem(str(tmp_path), simulated)
    elif kind == "hdfs native fake":
        client = FakeHdfsClient(FakeHdfs(simulated), simulated)
        fs = HdfsNativeFileSystem(simulated, "fake:8020", "/root", client=client, calls=TaskCalls(simulated))
    elif kind.startswith("webhdfs"):
        namespace = FakeNamespace(simulated.wall_millis, hadoop_2=kind.endswith("2.7"))
        fake = FakeWebHdfs(simulated, namespace, random.Random(7))
        fs = WebHdfsFileSystem(simulated, fake.hosts, "/some/root", fake.http(simulated), calls=TaskCalls(simulated))
    elif kind == "memory":
        fs = MemoryFileSystem(simulated)
    else:
        fs = FaultyFileSystem(MemoryFileSystem(simulated), FaultPlan(), simulated)
    yield Adapter(fs, simulated, simulated.run)
    simulated.crash()
