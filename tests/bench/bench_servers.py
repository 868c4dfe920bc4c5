"""Single puts and gets of six clients against one server process and against `hbtable start --servers N`, in turns.

    python -m tests.bench.bench_servers [--servers 1,2,4] [--clients 6] [--calls 2000] [--rounds 3]
        [--durability sync|os]

Prints for each N the rate, as a ratio to that of the single server in the same round, and the processor time of all
its processes for a call, with that of the busiest one: where clients, or others, take the processors, rates say little,
and a million divided by the latter is what its core could do.
"""

import argparse
import multiprocessing
import os
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import happybase

import hbtable
from tests.harness.server import ServerProcess
from tests.harness.server_processes import server_pids
from tests.harness.waiting import SOON_SECONDS, eventually

TABLETS = 8
ROWS = 1000
"""In each tablet."""
VALUE = b"x" * 1000
OPERATIONS = ("put", "get")


def key(chance: random.Random) -> bytes:
    return b"%02d-%04d" % (chance.randrange(TABLETS), chance.randrange(ROWS))


def client(port: int, operation: str, calls: int, seed: int, ready: Any, go: Any) -> None:
    """One client process: happybase, keys of all tablets at random."""
    connection = happybase.Connection("127.0.0.1", port, timeout=60000)
    table, chance = connection.table("bench"), random.Random(seed)
    table.row(key(chance))
    ready.put(True)
    go.wait()
    for _ in range(calls):
        if operation == "put":
            table.put(key(chance), {b"f:a": VALUE})
        else:
            table.row(key(chance))


def used_millis(pids: list[int]) -> dict[int, int]:
    """Processor time of each process."""
    found = {}
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        found[pid] = (int(fields[11]) + int(fields[12])) * 1000 // os.sysconf("SC_CLK_TCK")
    return found


def measure(server: ServerProcess, operation: str, clients: int, calls: int) -> tuple[float, float, float]:
    """(calls a second, microseconds of processor time for a call, those of the busiest process)"""
    assert server.process is not None
    ready, go = multiprocessing.Queue(), multiprocessing.Event()
    processes = [
        multiprocessing.Process(target=client, args=(server.port, operation, calls, seed, ready, go))
        for seed in range(clients)
    ]
    for process in processes:
        process.start()
    for _ in processes:
        ready.get()
    pids = [server.process.pid, *server_pids(server)]
    before, began = used_millis(pids), time.monotonic()
    go.set()
    for process in processes:
        process.join()
    seconds = time.monotonic() - began
    used = [after - before[pid] for pid, after in used_millis(pids).items()]
    total = clients * calls
    return total / seconds, sum(used) * 1000 / total, max(used) * 1000 / total


def one_life(count: int, arguments: argparse.Namespace) -> dict[str, tuple[float, float, float]]:
    """`count` 0: the single server."""
    with tempfile.TemporaryDirectory(prefix="hbtable-bench-servers-") as folder:
        defines = [f"log.durability={arguments.durability}", "master.balance_after_seconds=0.5"]
        server = ServerProcess(Path(folder) / "data", defines)
        server.arguments = ["--servers", str(count)] if count else []
        with server:
            fill(server)
            found = {name: measure(server, name, arguments.clients, arguments.calls) for name in OPERATIONS}
            server.stop()
    return found


def fill(server: ServerProcess) -> None:
    database = hbtable.connect("127.0.0.1", server.port)
    database.create_table("bench", {"f": {}}, split_rows=[b"%02d" % number for number in range(1, TABLETS)])
    connection = server.connect()
    with connection.table("bench").batch(batch_size=500) as batch:
        for tablet in range(TABLETS):
            for row in range(ROWS):
                batch.put(b"%02d-%04d" % (tablet, row), {b"f:a": VALUE})
    eventually(lambda: "everything is served" in server.errors.read_text(), SOON_SECONDS, "the tablets to be spread")
    connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", default="1,2,4")
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--calls", type=int, default=2000, help="of each client")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--durability", choices=("sync", "os"), default="sync")
    arguments = parser.parse_args()
    counts = [0, *map(int, arguments.servers.split(","))]
    rounds = []
    for number in range(arguments.rounds):
        rounds.append({count: one_life(count, arguments) for count in counts})
        print(f"round {number + 1} of {arguments.rounds}, load {os.getloadavg()[0]:.1f}", flush=True)
    print(f"{'':16}{'op':5}{'calls/s':>9}{'ratio':>15}{'CPU us':>8}{'busiest':>9}   durability {arguments.durability}")
    for count in counts:
        for name in OPERATIONS:
            rates = [one[count][name][0] for one in rounds]
            ratios = [one[count][name][0] / one[0][name][0] for one in rounds]
            used = statistics.median(one[count][name][1] for one in rounds)
            busiest = statistics.median(one[count][name][2] for one in rounds)
            print(
                f"{f'--servers {count}' if count else 'single server':16}{name:5}{statistics.median(rates):9.0f}"
                f"{statistics.median(ratios):6.2f} {min(ratios):.2f}-{max(ratios):.2f}{used:8.0f}{busiest:9.0f}"
            )


if __name__ == "__main__":
    main()
