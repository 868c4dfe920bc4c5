"""kill -9 of the server and of its worker processes at random moments, under the clients of kill_rounds.py.

python -m tests.campaigns.kill_nine [--rounds 50] [--seed N] [--durability sync|os]
"""

import contextlib
import os
import random
import signal
import time
from pathlib import Path

from tests.campaigns.kill_rounds import SMALL, faults_under_load, run_from_command_line
from tests.harness.server import ServerProcess


def campaign(rounds: int, seed: int, durability: str, folder: Path, loud: bool = True) -> int:
    """Runs it; raises AssertionError at the first violation. Returns the number of acknowledged operations."""
    chance = random.Random(seed)
    server = ServerProcess(folder / "data", [f"log.durability={durability}", *SMALL])

    def before() -> None:
        seconds = chance.uniform(0.15, 1.5)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(seconds / 10)
            _kill_workers(server)

    def cause(_number: int) -> str:
        server.kill()
        server.start()
        return f"killed, restart took {server.start_seconds:.2f} s"

    with server:
        return faults_under_load(server, rounds, seed, before, cause, loud)


def _kill_workers(server: ServerProcess) -> None:
    """Those processes to which the server gives its compactions: that costs time only."""
    assert server.process is not None
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        with contextlib.suppress(OSError):  # the thread, or the process, is gone
            for child in (task / "children").read_text().split():
                os.kill(int(child), signal.SIGKILL)


if __name__ == "__main__":
    run_from_command_line(campaign, __doc__)
