"""kill -9 and SIGSTOP of the processes of `hbtable start --servers N` at random moments, under the clients of
kill_rounds.py.

Each round has one fault: a server process is killed; one is stopped, and killed or let go on; the launcher is killed,
with one of its processes stopped before or not; all are killed. After a fault that ends all, the folder is opened by
the same number of server processes, by another one, or by the single server.

    python -m tests.campaigns.kill_servers [--rounds 50] [--seed N] [--durability sync|os]
"""

import contextlib
import os
import random
import signal
import time
from pathlib import Path

from tests.campaigns.kill_rounds import SMALL, faults_under_load, run_from_command_line
from tests.harness.server import ServerProcess
from tests.harness.server_processes import await_end, kill_servers, server_pids
from tests.harness.waiting import SOON_SECONDS, eventually

FAULTS = ("server", "stopped server", "resumed server", "launcher", "launcher of a stopped server", "all")
"""Those behind the first three end everything."""
COUNTS = ((), ("--servers", "2"), ("--servers", "3"))


def campaign(rounds: int, seed: int, durability: str, folder: Path, loud: bool = True) -> int:
    """Runs it; raises AssertionError at the first violation. Returns the number of acknowledged operations."""
    chance = random.Random(seed)
    server = ServerProcess(
        folder / "data", [f"log.durability={durability}", "master.balance_after_seconds=0.5", *SMALL]
    )
    server.arguments = ["--servers", "2"]

    def before() -> None:
        _await_all(server)
        time.sleep(chance.uniform(0.15, 1.5))

    def cause(number: int) -> str:
        fault = FAULTS[(number - 1) % len(FAULTS)] if server.arguments else "all"
        _cause(server, chance, fault)
        return f"{fault}, now {server.arguments}"

    with server:
        total = faults_under_load(server, rounds, seed, before, cause, loud)
        _await_all(server)
    return total


def _cause(server: ServerProcess, chance: random.Random, fault: str) -> None:
    pids = server_pids(server)
    victim = chance.choice(pids) if pids else 0
    if "stopped" in fault or "resumed" in fault:
        os.kill(victim, signal.SIGSTOP)
        time.sleep(chance.uniform(0.05, 0.5))
    if fault == "resumed server":
        os.kill(victim, signal.SIGCONT)
    elif "launcher" not in fault and fault != "all":
        kill_servers([victim])
        await_end([victim])
    else:
        if fault == "all":
            kill_servers(pids)
        server.kill()
        await_end(pids)
        server.arguments = list(chance.choice(COUNTS))
        server.start()


def _await_all(server: ServerProcess) -> None:
    count = int(server.arguments[1]) if server.arguments else 0
    with contextlib.suppress(OSError):
        eventually(lambda: len(server_pids(server)) == count, SOON_SECONDS, f"{count} server processes")


if __name__ == "__main__":
    run_from_command_line(campaign, __doc__)
