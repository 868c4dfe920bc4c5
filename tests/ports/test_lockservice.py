"""The promises of lockservice.interface over the adapters that live in one process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hbtable.fs.local import LocalFileSystem
from hbtable.fs.memory import MemoryFileSystem
from hbtable.lockservice.local import LocalLockService
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.testing.memory_lockservice import MemoryLockService
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.lockservice_promises import *  # noqa: F403
from tests.harness.lockservice_promises import Adapter


@pytest.fixture(params=["local on disk", "local simulated", "memory"])
def adapter(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Adapter]:
    if request.param == "local on disk":
        real = GeventRuntime()
        fs = LocalFileSystem(str(tmp_path), real)
        yield Adapter(LocalLockService(fs, real), lambda: LocalLockService(fs, real), real, lambda body: body())
        real.close()
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
