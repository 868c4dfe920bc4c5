"""The processes of `hbtable start --servers N`, for tests that stop and kill them."""

import contextlib
import os
import signal
from pathlib import Path

from tests.harness.server import ServerProcess
from tests.harness.waiting import SOON_SECONDS, eventually


def server_pids(server: ServerProcess) -> list[int]:
    """Of the server processes that run now, the oldest first; without the launcher."""
    assert server.process is not None
    found: set[int] = set()
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        with contextlib.suppress(OSError):  # the thread is gone
            found.update(map(int, (task / "children").read_text().split()))
    return sorted(pid for pid in found if is_server(pid))


def is_server(pid: int) -> bool:
    """Whether this is a server process that has not ended."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
        threads = len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return False
    if state == "Z" and threads == 1:
        return False
    # One that is ending loses its memory, and with it the command, before its last thread and its files.
    return not command or b"hbtable.launch.servers.server_process" in command


def kill_servers(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def await_end(pids: list[int]) -> None:
    eventually(lambda: not any(map(is_server, pids)), SOON_SECONDS, "the server processes to be gone")
