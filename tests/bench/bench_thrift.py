"""hbtable beside a server that only speaks Thrift, or beside a real HBase: writes, reads and scans (paper, section 7).

Both servers run at once, the clients drive them in turns, round by round, so that a noisy machine hits both. Writes
go to a table of their own; reads and scans are of a table that was loaded and compacted, so they come from SSTables
through the block cache.
Prints for each workload hbtable's rate, the other's, and the ratio of the medians; and the processor's time of both
server processes for an operation, without worker processes: beside other work on the machine that says more than a
rate. --beside names the port of a server that runs already (compat-tests/servers/real-hbase start 9190); its tables
`read` and `written` are dropped.

    bench_thrift.py [--beside 9190] [--rows 20000] [--seconds 3] [--rounds 3] [--clients 1] [--durability os|sync]
                    [--json FILE]
"""

import argparse
import json
import math
import multiprocessing
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import happybase

from tests.bench.bench_trees import cpu_of

HERE = Path(__file__).resolve().parent
BATCH = 1000
Step = Callable[[int], int]
"""Does some operations, beginning with number n; returns how many."""


def key(number: int) -> bytes:
    return b"%010d" % number


class Client:
    """One connection and its workloads. A row is one cell f:q of `value_bytes` random bytes."""

    def __init__(self, port: int, rows: int, value_bytes: int, seed: int) -> None:
        self.connection = happybase.Connection("127.0.0.1", port, timeout=60000)
        self.table = self.connection.table("read")
        self.written = self.connection.table("written")
        self.rows, self.value_bytes = rows, value_bytes
        self.random = random.Random(seed)
        self.pool = os.urandom(1 << 20)

    def value(self) -> bytes:
        start = self.random.randrange(len(self.pool) - self.value_bytes)
        return self.pool[start : start + self.value_bytes]

    def sequential_write(self, number: int) -> int:
        self.written.put(key(number % self.rows), {b"f:q": self.value()})
        return 1

    def random_write(self, number: int) -> int:
        self.written.put(key(self.random.randrange(self.rows)), {b"f:q": self.value()})
        return 1

    def sequential_read(self, number: int) -> int:
        return self.read(number % self.rows)

    def random_read(self, number: int) -> int:
        return self.read(self.random.randrange(self.rows))

    def read(self, number: int) -> int:
        found = self.table.row(key(number))
        if len(found.get(b"f:q", b"")) != self.value_bytes:
            raise SystemExit(f"row {number} came back as {str(found)[:100]}")
        return 1

    def scan(self, number: int) -> int:
        start = number % max(self.rows - BATCH * 5, 1)
        stop = min(start + BATCH * 5, self.rows)
        count = 0
        for _, columns in self.table.scan(row_start=key(start), row_stop=key(stop), batch_size=BATCH):
            count += len(columns)
        if count != stop - start:
            raise SystemExit(f"a scan of {stop - start} rows gave {count}")
        return count

    def batch(self, number: int) -> int:
        return self.send(self.written, number)

    def send(self, table: happybase.Table, number: int) -> int:
        with table.batch() as batch:
            for offset in range(BATCH):
                batch.put(key((number + offset) % self.rows), {b"f:q": self.value()})
        return BATCH


WORKLOADS = {
    "sequential writes": "sequential_write",
    "random writes": "random_write",
    "sequential reads": "sequential_read",
    "random reads": "random_read",
    "scans": "scan",
    "batches of 1000": "batch",
}


def work(
    port: int,
    workload: str,
    arguments: argparse.Namespace,
    index: int,
    results: "multiprocessing.Queue[tuple[float, int]]",
) -> None:
    client = Client(port, arguments.rows, arguments.value_bytes, index)
    step: Step = getattr(client, WORKLOADS[workload])
    done, number = 0, arguments.rows * index // arguments.clients
    warming = 0
    end = time.perf_counter() + 0.2
    while time.perf_counter() < end:
        count = step(number)
        warming += count
        number += count
    begin = time.perf_counter()
    end = begin + arguments.seconds
    while (now := time.perf_counter()) < end:
        count = step(number)
        done += count
        number += count
    results.put((done / (now - begin), done + warming))


class Driven(NamedTuple):
    """A server; `pid` None: its processor's time is not looked at."""

    port: int
    pid: int | None


def rate(server: Driven, workload: str, arguments: argparse.Namespace) -> tuple[float, float]:
    """Operations (rows, for scans and batches) a second, over all clients; us of the server's processor for each."""
    begin = cpu_of(server.pid) if server.pid is not None else 0.0
    context = multiprocessing.get_context("fork")
    results: multiprocessing.Queue[tuple[float, int]] = context.Queue()
    workers = [
        context.Process(target=work, args=(server.port, workload, arguments, index, results))
        for index in range(arguments.clients)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        if worker.exitcode:
            raise SystemExit(f"a client of {workload} failed")
    rates, counts = zip(*(results.get() for _ in workers), strict=True)
    used = cpu_of(server.pid) - begin if server.pid is not None else math.nan
    return sum(rates), used / sum(counts) * 1e6


def start_hbtable(folder: str, durability: str) -> tuple[subprocess.Popen[str], int]:
    command = [sys.executable, "-m", "hbtable", "start", "--data", folder, "--port", "0"]
    process = subprocess.Popen([*command, "-D", f"log.durability={durability}"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"127\.0\.0\.1:(\d+)", line):
            return process, int(found.group(1))
    raise SystemExit("hbtable did not start")


def start_yardstick(value_bytes: int) -> tuple[subprocess.Popen[str], int]:
    command = [sys.executable, str(HERE / "thrift_only_server.py"), str(value_bytes)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def load(port: int, arguments: argparse.Namespace) -> None:
    connection = happybase.Connection("127.0.0.1", port, timeout=60000)
    for table in {b"read", b"written"}.intersection(connection.tables()):
        connection.delete_table(table, disable=True)
    connection.create_table("read", {"f": {}})
    connection.create_table("written", {"f": {}})
    client = Client(port, arguments.rows, arguments.value_bytes, 0)
    for start in range(0, arguments.rows, BATCH):
        client.send(client.table, start)
    connection.compact_table("read", major=True)


def compare(ours: Driven, others: Driven, other: str, arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Prints a line for each workload; the same figures."""
    print(
        f"{arguments.clients} client(s), {arguments.rows} rows of {arguments.value_bytes} bytes, "
        f"durability = {arguments.durability}; rows or calls a second, median of {arguments.rounds}"
    )
    print(f"{'workload':<20}{'hbtable':>12}{other:>14}{'ratio':>8}{'CPU, us':>12}{other:>14}")
    figures = {}
    for workload in arguments.workloads.split(","):
        pairs = [
            (*rate(ours, workload, arguments), *rate(others, workload, arguments)) for _ in range(arguments.rounds)
        ]
        our_rate, our_cpu, other_rate, other_cpu = (statistics.median(one) for one in zip(*pairs, strict=True))
        figures[workload] = {
            "hbtable": our_rate, other: other_rate, "ratio": our_rate / other_rate,
            "hbtable, CPU us": our_cpu, f"{other}, CPU us": other_cpu,
        }  # fmt: skip
        print(
            f"{workload:<20}{our_rate:>12,.0f}{other_rate:>14,.0f}{our_rate / other_rate:>8.2f}"
            f"{our_cpu:>12.2f}{other_cpu:>14.2f}",
            flush=True,
        )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each workload, server and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--value-bytes", type=int, default=1000)
    parser.add_argument("--durability", choices=("os", "sync"), default="os")
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="comma-separated")
    parser.add_argument("--json", help="also write the figures to this file")
    parser.add_argument("--beside", type=int, metavar="PORT", help="of another server, instead of the yardstick")
    arguments = parser.parse_args()
    other = "thrift only" if arguments.beside is None else "the other"
    processes = []
    with tempfile.TemporaryDirectory(prefix="hbtable-bench-") as folder:
        try:
            ours, our_port = start_hbtable(folder, arguments.durability)
            processes.append(ours)
            load(our_port, arguments)
            if arguments.beside is None:
                yardstick, other_port = start_yardstick(arguments.value_bytes)
                processes.append(yardstick)
                others = Driven(other_port, yardstick.pid)
            else:
                others = Driven(arguments.beside, None)
                load(others.port, arguments)
            figures = compare(Driven(our_port, ours.pid), others, other, arguments)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(30)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
