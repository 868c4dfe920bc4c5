"""The promises of lockservice.interface over a real ZooKeeper."""

from collections.abc import Iterator

import pytest

from hbtable.lockservice.interface import LockService
from hbtable.lockservice.zookeeper.access import Digest, NodeAccess
from hbtable.lockservice.zookeeper.lock_service import ZooKeeperLockService, ZooKeeperSession
from hbtable.lockservice.zookeeper.options import ZooKeeperOptions
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.lockservice_promises import *  # noqa: F403
from tests.harness.lockservice_promises import Adapter
from tests.harness.real_servers import ZooKeeperServer


class Sessions:
    """A lock service that knows its sessions, to end them where a test means that everybody was restarted."""

    def __init__(self, service: ZooKeeperLockService) -> None:
        self._service = service
        self._open: list[ZooKeeperSession] = []

    def open_session(self, name: str) -> ZooKeeperSession:
        session = self._service.open_session(name)
        self._open.append(session)
        return session

    def restarted(self) -> LockService:
        for session in self._open:
            session.close()
        return self


@pytest.fixture(params=[NodeAccess(), NodeAccess([Digest("hbtable", "secret")])], ids=["open", "protected"])
def adapter(request: pytest.FixtureRequest, zookeeper_server: ZooKeeperServer, own_folder: str) -> Iterator[Adapter]:
    runtime = GeventRuntime()
    options = ZooKeeperOptions(session_seconds=20.0, call_seconds=15.0)
    service = ZooKeeperLockService(runtime, zookeeper_server.address, own_folder, options, request.param)
    sessions = Sessions(service)
    found = Adapter(sessions, sessions.restarted, runtime, lambda body: body())
    found.settle_seconds = 0.5
    yield found
    sessions.restarted()
    runtime.close()
