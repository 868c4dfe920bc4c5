"""The processes of `hbtable start --servers N`, as the system lists them."""

import contextlib
import os
from pathlib import Path


def server_pids_of(launcher: int) -> list[int]:
    """Of the server processes that run now, ascending; without the launcher, whose children they are."""
    found: set[int] = set()
    for task in Path(f"/proc/{launcher}/task").iterdir():
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
