"""The processes of `hbtable start --servers N`, for tests that stop and kill them."""

import contextlib
import os
import signal

from hbtable.testing.server_pids import is_server, server_pids_of
from tests.harness.server import ServerProcess
from tests.harness.waiting import SOON_SECONDS, eventually


def server_pids(server: ServerProcess) -> list[int]:
    """Of the server processes that run now, the oldest first; without the launcher."""
    assert server.process is not None
    return server_pids_of(server.process.pid)


def kill_servers(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def await_end(pids: list[int]) -> None:
    eventually(lambda: not any(map(is_server, pids)), SOON_SECONDS, "the server processes to be gone")
