"""The eight workloads, by happybase clients in processes of their own: how many operations, and how long each took."""

import multiprocessing
import os
import queue
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import happybase

from tests.bench.beside_hbase.servers import Contestant, cpu_seconds, create_table

BATCH = 1000
PAGES = 5
COUNTERS = 100
_LATENCIES = 20_000

_FAMILY: dict[str, object] = {"block_cache_enabled": True, "bloom_filter_type": "ROW"}
TABLES: dict[str, dict[str, object]] = {
    "read": _FAMILY,
    "memory": {**_FAMILY, "in_memory": True},
    "written": _FAMILY,
    "counted": _FAMILY,
}
LOADED = ("read", "memory")


@dataclass(frozen=True)
class Profile:
    """What the rows are: one cell each."""

    rows: int
    value_bytes: int
    is_compressible: bool = False

    def __str__(self) -> str:
        kind = "compressible" if self.is_compressible else "random"
        return f"{self.rows:,} rows of one value of {self.value_bytes:,} {kind} bytes"


def key(number: int) -> bytes:
    return b"%010d" % number


class Client:
    """One connection. Each workload is a method that takes a number and returns how many operations that was."""

    def __init__(self, port: int, profile: Profile, seed: int) -> None:
        self.connection = happybase.Connection("127.0.0.1", port, timeout=300_000)
        self.profile = profile
        self.random = random.Random(seed)
        words = b"the quick brown fox jumps over the lazy dog and runs on; "
        size = (1 << 20) + profile.value_bytes
        self.pool = (words * (size // len(words) + 1))[:size] if profile.is_compressible else os.urandom(size)
        self.read, self.memory, self.written, self.counted = map(self.connection.table, TABLES)

    def value(self) -> bytes:
        start = self.random.randrange(1 << 20)
        return self.pool[start : start + self.profile.value_bytes]

    def sequential_puts(self, number: int) -> int:
        self.written.put(key(number % self.profile.rows), {b"f:q": self.value()})
        return 1

    def random_puts(self, number: int) -> int:
        return self.sequential_puts(self.random.randrange(self.profile.rows))

    def batches(self, number: int) -> int:
        self.send(self.written, number, BATCH)
        return BATCH

    def send(self, table: happybase.Table, first: int, count: int) -> None:
        with table.batch() as batch:
            for number in range(first, first + count):
                batch.put(key(number % self.profile.rows), {b"f:q": self.value()})

    def random_gets(self, number: int) -> int:
        return self._get(self.read, self.random.randrange(self.profile.rows))

    def memory_gets(self, number: int) -> int:
        return self._get(self.memory, self.random.randrange(self.profile.rows))

    def sequential_gets(self, number: int) -> int:
        return self._get(self.read, number % self.profile.rows)

    def _get(self, table: happybase.Table, number: int) -> int:
        found = table.row(key(number))
        if len(found.get(b"f:q", b"")) != self.profile.value_bytes:
            raise SystemExit(f"row {number} came back as {str(found)[:100]}")
        return 1

    def scans(self, number: int) -> int:
        length = min(BATCH * PAGES, self.profile.rows)
        start = number % (self.profile.rows - length + 1)
        rows = self.read.scan(row_start=key(start), row_stop=key(start + length), batch_size=BATCH)
        count = sum(1 for _ in rows)
        if count != length:
            raise SystemExit(f"a scan of {length} rows gave {count}")
        return count

    def increments(self, number: int) -> int:
        self.counted.counter_inc(key(number % COUNTERS), b"f:n")
        return 1


WORKLOADS = {
    "sequential puts": Client.sequential_puts,
    "random puts": Client.random_puts,
    "batches of 1000": Client.batches,
    "random gets": Client.random_gets,
    "random gets, in-memory family": Client.memory_gets,
    "sequential gets": Client.sequential_gets,
    "scans, pages of 1000": Client.scans,
    "increments": Client.increments,
}


class Turn(NamedTuple):
    """What some clients did together."""

    rate: float
    """Operations a second: rows, of batches and scans."""
    cpu_micros: float
    """Of the server, for an operation."""
    latencies: list[float]
    """Seconds of calls, or of whole scans; a sample where there were many."""


def load(server: Contestant, profile: Profile) -> None:
    """The tables anew; those that are only read lie in files afterwards."""
    client = Client(server.port, profile, 0)
    there = set(client.connection.tables())
    for name, family in TABLES.items():
        if name.encode() in there:
            client.connection.delete_table(name, disable=True)
        create_table(client.connection, name, family)
    client.connection.close()
    for name in LOADED:
        client = Client(server.port, profile, 0)
        for first in range(0, profile.rows, BATCH):
            client.send(client.connection.table(name), first, min(BATCH, profile.rows - first))
        client.connection.close()  # HBase closes one that does nothing for a minute
        server.settle(name)


def run(server: Contestant, workload: str, profile: Profile, clients: int, seconds: float) -> Turn:
    """All clients begin together, when each has connected; what was under way at the end counts with its time."""
    context = multiprocessing.get_context("fork")
    together = context.Barrier(clients + 1)
    results: multiprocessing.Queue[tuple[int, float, list[float]]] = context.Queue()
    workers = [
        context.Process(
            target=_work, args=(server.port, workload, profile, seconds, number, clients, together, results)
        )
        for number in range(clients)
    ]
    for worker in workers:
        worker.start()
    together.wait(120)
    before = cpu_seconds(server)
    found: list[tuple[int, float, list[float]]] = []
    while len(found) < clients:
        try:
            found.append(results.get(timeout=1))
        except queue.Empty:
            if any(worker.exitcode for worker in workers):
                raise SystemExit(f"a client of {workload} failed on {server.name}") from None
    cpu = cpu_seconds(server) - before
    for worker in workers:
        worker.join()
    operations = sum(count for count, _, _ in found)
    latencies = [latency for _, _, some in found for latency in some]
    return Turn(sum(count / took for count, took, _ in found), cpu / operations * 1e6, latencies)


def _work(
    port: int,
    workload: str,
    profile: Profile,
    seconds: float,
    number: int,
    clients: int,
    together: "multiprocessing.synchronize.Barrier",
    results: "multiprocessing.Queue[tuple[int, float, list[float]]]",
) -> None:
    client = Client(port, profile, os.getpid())
    step: Callable[[int], int] = WORKLOADS[workload].__get__(client)
    place = profile.rows * number // clients
    step(place)
    together.wait(120)
    done = 0
    latencies: list[float] = []
    began = now = time.perf_counter()
    while now - began < seconds:
        before = now
        count = step(place + done)
        done += count
        now = time.perf_counter()
        latencies.append(now - before)
    results.put((done, now - began, client.random.sample(latencies, min(len(latencies), _LATENCIES))))


def warm(server: Contestant, workload: str, profile: Profile, seconds: float, most: int) -> int:
    """Turns of one client until the last three rates lie within a tenth of each other; how many it took. A JVM gets
    faster for a minute."""
    rates: list[float] = []
    while len(rates) < most:
        rates.append(run(server, workload, profile, 1, seconds).rate)
        last = rates[-3:]
        if len(last) == 3 and max(last) < 1.1 * min(last):
            break
    return len(rates)
