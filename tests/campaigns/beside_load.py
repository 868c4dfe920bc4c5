"""Gets beside a load at full speed with its flushes and compactions, and what the load costs the server's process.

Two servers take turns, round by round: one hands compactions to worker processes, as by default, the other computes
them itself. Each time a process loads batches as fast as it can while another one gets rows of a quiet table, first
alone, then beside the load. Printed: the server's and its workers' processor time for a thousand rows, the gets' p50
and p99 before and beside the load, and the factor between the two p99. A machine that is busy with other things makes
the latencies mean little; the processor times stay.

    python -m tests.campaigns.beside_load [--rows 60000] [--value-bytes 300] [--rounds 3] [--cluster CLIENT_PORT]
"""

import argparse
import multiprocessing
import os
import random
import statistics
import tempfile
import time
from multiprocessing.synchronize import Event
from pathlib import Path

import happybase

from tests.harness.server import ServerProcess

BATCH = 500
QUIET_ROWS = 2000
TICK = os.sysconf("SC_CLK_TCK")


def load(port: int, rows: int, value_bytes: int, seed: int) -> None:
    connection = happybase.Connection("127.0.0.1", port, timeout=120_000)
    table = connection.table("loaded")
    pool = random.Random(seed).randbytes(1 << 20)
    for first in range(0, rows, BATCH):
        with table.batch() as batch:
            for number in range(first, first + BATCH):
                at = number * 7919 % (len(pool) - value_bytes)
                batch.put(b"row%09d" % (number * 1_000_003 % rows), {b"f:q": pool[at : at + value_bytes]})


def gets(port: int, end: Event, results: "multiprocessing.Queue[list[float]]") -> None:
    connection = happybase.Connection("127.0.0.1", port, timeout=120_000)
    table = connection.table("quiet")
    took: list[float] = []
    number = 0
    while not end.is_set():
        number += 1
        began = time.perf_counter()
        assert table.row(b"row%05d" % (number * 7919 % QUIET_ROWS))
        took.append(time.perf_counter() - began)
        time.sleep(0.002)
    results.put(took)


def measure_gets(port: int, beside: multiprocessing.Process | None) -> list[float]:
    """While `beside` runs, or for three seconds."""
    end = multiprocessing.Event()
    results: multiprocessing.Queue[list[float]] = multiprocessing.Queue()
    process = multiprocessing.Process(target=gets, args=(port, end, results))
    process.start()
    if beside is None:
        time.sleep(3)
    else:
        beside.join()
    end.set()
    took = results.get()
    process.join()
    return took


def processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return sum(map(int, fields[11:15])) / TICK  # its own, and of children that have ended


def children(process: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{process}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


class Side:
    """One server and what was measured of it."""

    def __init__(self, name: str, server: ServerProcess) -> None:
        self.name = name
        self.server = server
        self.own: list[float] = []
        self.workers: list[float] = []
        self.rates: list[float] = []
        self.factors: list[float] = []

    def prepare(self) -> None:
        connection = self.server.connect()
        connection.create_table("quiet", {"f": {}})
        with connection.table("quiet").batch() as batch:
            for number in range(QUIET_ROWS):
                batch.put(b"row%05d" % number, {b"f:q": b"v" * 100})

    def round(self, number: int, rows: int, value_bytes: int) -> None:
        assert self.server.process is not None
        process = self.server.process.pid
        connection = self.server.connect()
        if b"loaded" in connection.tables():
            connection.delete_table("loaded", disable=True)
        connection.create_table("loaded", {"f": {"max_versions": 1}})
        quiet = measure_gets(self.server.port, None)
        own, elsewhere = self._used(process)
        began = time.perf_counter()
        loader = multiprocessing.Process(target=load, args=(self.server.port, rows, value_bytes, number))
        loader.start()
        beside = measure_gets(self.server.port, loader)
        assert loader.exitcode == 0
        took = time.perf_counter() - began
        own_after, elsewhere_after = self._used(process)
        per = 1e6 / rows
        self.own.append((own_after - own) * per)
        self.workers.append((elsewhere_after - elsewhere) * per)
        self.rates.append(rows / took)
        before, after = percentile(quiet, 99), percentile(beside, 99)
        self.factors.append(after / before)
        print(
            f"{self.name:18} {rows / took:8.0f} rows/s   own {self.own[-1]:6.1f} us/row   workers "
            f"{self.workers[-1]:6.1f} us/row   gets p50 {percentile(quiet, 50) * 1e3:6.2f} -> "
            f"{percentile(beside, 50) * 1e3:6.2f} ms   p99 {before * 1e3:7.2f} -> {after * 1e3:7.2f} ms "
            f"= {after / before:5.1f}",
            flush=True,
        )

    def _used(self, process: int) -> tuple[float, float]:
        workers = sum(processor_seconds(child) for child in children(process))
        return processor_seconds(process), workers


def percentile(took: list[float], which: int) -> float:
    return sorted(took)[min(len(took) - 1, len(took) * which // 100)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--value-bytes", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--define", action="append", default=[], help="of both servers, as -D")
    arguments = parser.parse_args()
    defines = ["log.durability=os", "tablet.memtable_bytes=8388608", *arguments.define]
    with tempfile.TemporaryDirectory() as folder:
        sides = [
            Side("with workers", ServerProcess(Path(folder) / "workers", [*defines])),
            Side("without workers", ServerProcess(Path(folder) / "own", [*defines, f"tablet.worker_bytes={1 << 50}"])),
        ]
        with sides[0].server, sides[1].server:
            for side in sides:
                side.prepare()
            for number in range(arguments.rounds):
                for side in sides if number % 2 else sides[::-1]:
                    side.round(number, arguments.rows, arguments.value_bytes)
        for side in sides:
            print(
                f"{side.name:18} median: {statistics.median(side.rates):.0f} rows/s, own "
                f"{statistics.median(side.own):.1f} us/row, workers {statistics.median(side.workers):.1f} us/row, "
                f"p99 x {statistics.median(side.factors):.1f}"
            )


if __name__ == "__main__":
    main()
