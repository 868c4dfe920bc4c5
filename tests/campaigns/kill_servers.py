"""kill -9 and SIGSTOP of the processes of `hbtable start --servers N` at random moments, under writing, deleting and
incrementing clients (the oracle is the clients' journals, as in kill_nine.py).

Each round has one fault: a server process is killed; one is stopped, and killed or let go on; the launcher is killed,
with one of its processes stopped before or not; all are killed. After a fault that ends all, the folder is opened by
the same number of server processes, by another one, or by the single server.

    python -m tests.campaigns.kill_servers [--rounds 50] [--seed N] [--durability sync|os]
"""

import argparse
import contextlib
import os
import random
import signal
import tempfile
import threading
import time
from pathlib import Path

from tests.campaigns.kill_nine import SMALL, WORKERS, Worker, _verify
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
    workers = [Worker(index, seed * 100 + index) for index in range(WORKERS)]
    with server:
        server.connect().create_table("journal", {"f": {"max_versions": 1}, "c": {"max_versions": 1}})
        for number in range(1, rounds + 1):
            fault = FAULTS[(number - 1) % len(FAULTS)] if server.arguments else "all"
            _one_round(server, workers, chance, fault)
            wrong = _verify(server, workers)
            assert not wrong, f"round {number} ({fault}) of seed {seed}: " + "; ".join(wrong[:5])
            if loud:
                total = sum(worker.promises.acknowledged for worker in workers)
                print(
                    f"round {number}: {fault}; {total} operations acknowledged, nothing wrong; now {server.arguments}",
                    flush=True,
                )
        _await_all(server)
    return sum(worker.promises.acknowledged for worker in workers)


def _one_round(server: ServerProcess, workers: list[Worker], chance: random.Random, fault: str) -> None:
    _await_all(server)
    stop = threading.Event()
    threads = [threading.Thread(target=worker.run, args=(server.port, stop)) for worker in workers]
    for thread in threads:
        thread.start()
    time.sleep(chance.uniform(0.15, 1.5))
    refused = [text for worker in workers for text in worker.refusals]
    assert not refused, f"a client was refused before the fault: {refused}"
    _cause(server, chance, fault)
    stop.set()
    for thread in threads:
        thread.join()
    for worker in workers:
        worker.refusals.clear()


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0, help="0: chosen now and printed")
    parser.add_argument("--durability", choices=("sync", "os"), default="sync")
    arguments = parser.parse_args()
    seed = arguments.seed or int(time.time())
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="hbtable-kill-servers-") as folder:
        total = campaign(arguments.rounds, seed, arguments.durability, Path(folder))
    print(f"{arguments.rounds} faults, {total} acknowledged operations, none lost, nothing invented (seed {seed})")


if __name__ == "__main__":
    main()
