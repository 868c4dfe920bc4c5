"""The promises of lockservice.interface over the adapters that live in one process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hbtable.fs.local import LocalFileSystem
from hbtable.fs.memory import MemoryFileSystem
from hbtable.lockservice.interface import LockService
from hbtable.lockservice.local import LocalLockService
from hbtable.lockservice.over_sockets.service import ServedSession
from hbtable.lockservice.over_sockets.session import SocketLockService
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network.handed_sockets import connected, stream_pair
from hbtable.runtime.network.sockets import Socket
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.lockservice_promises import *  # noqa: F403
from tests.harness.lockservice_promises import Adapter


@pytest.fixture(params=["local on disk", "local simulated", "memory", "over sockets"])
def adapter(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Adapter]:
    if request.param == "local on disk":
        real = GeventRuntime()
        fs = LocalFileSystem(str(tmp_path), real)
        yield Adapter(LocalLockService(fs, real), lambda: LocalLockService(fs, real), real, lambda body: body())
        real.close()
        return
    if request.param == "over sockets":
        yield from _over_sockets(tmp_path)
        return
    simulated = SimulatedRuntime(1)
    if request.param == "local simulated":
        memory_fs = MemoryFileSystem(simulated)
        yield Adapter(
            LocalLockService(memory_fs, simulated),
            lambda: LocalLockService(memory_fs, simulated),
            simulated,
            simulated.run,
        )
    else:
        service = MemoryLockService(simulated)
        yield Adapter(service, service.restarted, simulated, simulated.run)
    simulated.crash()


def _over_sockets(folder: Path) -> Iterator[Adapter]:
    """The local one, each of whose sessions is at the other end of a socket."""
    runtime = GeventRuntime()
    fs = LocalFileSystem(str(folder), runtime)
    served, sockets = [], []

    def remote() -> LockService:
        local = LocalLockService(fs, runtime)

        def connect() -> Socket:
            ours, theirs = stream_pair()
            session = ServedSession(runtime, local, connected(ours))
            served.append(runtime.spawn(session.serve))
            sockets.append(connected(theirs))
            return sockets[-1]

        return SocketLockService(runtime, connect)

    yield Adapter(remote(), remote, runtime, lambda body: body())
    for socket in sockets:
        socket.close()
    for task in served:
        task.join()
    runtime.close()
