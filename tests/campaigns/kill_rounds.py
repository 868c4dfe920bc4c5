"""Rounds of faults under writing, deleting and incrementing clients (the oracle is the clients' journals).

Each worker owns its rows and remembers what every row must hold. An operation whose answer never came leaves its rows
with two allowed states, before and after, each as a whole row. After each fault the whole table is read: every row must
be in an allowed state, nothing else may be there, counters must be exact up to unanswered increments.
"""

import argparse
import random
import struct
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import happybase

from tests.harness.promises import Promises, RowState
from tests.harness.server import ServerProcess

ROWS_PER_WORKER = 150
WORKERS = 3
SMALL = (
    "tablet.memtable_bytes=256 KiB",
    "log.segment_bytes=1 MiB",
    "maintenance.split_bytes=600 KiB",
    "tablet.worker_bytes=50 KiB",
)
"""So that minor compactions, merging compactions, splits and log rotation all happen within a round."""


class Worker:
    """One client with its own rows; `promises` is what it was told."""

    def __init__(self, index: int, seed: int) -> None:
        self.index = index
        self.random = random.Random(seed)
        self.promises = Promises()
        self.refusals: list[str] = []

    def row_key(self) -> bytes:
        return b"%d-%05d" % (self.index, self.random.randrange(ROWS_PER_WORKER))

    def run(self, port: int, stop: threading.Event) -> None:
        try:
            connection = happybase.Connection("127.0.0.1", port, timeout=120_000)
            table = connection.table("journal")
            while not stop.is_set():
                self.step(table)
        except Exception as error:
            if not stop.is_set():
                self.refusals.append(repr(error))

    def step(self, table: happybase.Table) -> None:
        choice = self.random.random()
        row = self.row_key()
        before = self.promises.state(row)
        if choice < 0.45:
            cells = {b"f:%d" % self.random.randrange(6): self.value() for _ in range(self.random.randrange(1, 4))}
            self.attempt({row: {**before, **cells}}, lambda: table.put(row, cells))
        elif choice < 0.60:
            column = b"f:%d" % self.random.randrange(6)
            after = {name: value for name, value in before.items() if name != column}
            self.attempt({row: after}, lambda: table.delete(row, [column]))
        elif choice < 0.68:
            self.attempt({row: {}}, lambda: table.delete(row))
        elif choice < 0.85:
            amount = self.random.randrange(-5, 50)
            count = struct.unpack(">q", before.get(b"c:n", bytes(8)))[0] + amount
            after = {**before, b"c:n": struct.pack(">q", count)}
            self.attempt({row: after}, lambda: table.counter_inc(row, b"c:n", amount))
        else:
            self.batch(table)

    def batch(self, table: happybase.Table) -> None:
        changes: dict[bytes, RowState] = {}
        batch = table.batch()
        for _ in range(20):
            row = self.row_key()
            before = changes.get(row, self.promises.state(row))
            if self.random.random() < 0.25:
                batch.delete(row)
                changes[row] = {}
            else:
                cells = {b"f:%d" % self.random.randrange(6): self.value()}
                batch.put(row, cells)
                changes[row] = {**before, **cells}
        self.attempt(changes, batch.send)

    def value(self) -> bytes:
        return self.random.randbytes(self.random.choice((5, 50, 500, 3000)))

    def attempt(self, after: dict[bytes, RowState], call: Callable[[], object]) -> None:
        self.promises.begin(after)
        call()
        self.promises.answered()


def faults_under_load(
    server: ServerProcess, rounds: int, seed: int, before: Callable[[], None], cause: Callable[[int], str], loud: bool
) -> int:
    """Runs rounds on a server that was started; raises AssertionError at the first violation. `before` passes the time
    of a round, in which no client may be refused. `cause(number)` makes its fault, and returns its name when the server
    serves again. Returns the number of acknowledged operations."""
    workers = [Worker(index, seed * 100 + index) for index in range(WORKERS)]
    server.connect().create_table("journal", {"f": {"max_versions": 1}, "c": {"max_versions": 1}})
    for number in range(1, rounds + 1):
        fault = _one_round(server, workers, before, partial(cause, number))
        wrong = _verify(server, workers)
        assert not wrong, f"round {number} ({fault}) of seed {seed}: " + "; ".join(wrong[:5])
        if loud:
            total = sum(worker.promises.acknowledged for worker in workers)
            print(f"round {number}: {fault}; {total} operations acknowledged so far, nothing wrong", flush=True)
    return sum(worker.promises.acknowledged for worker in workers)


def _one_round(
    server: ServerProcess, workers: list[Worker], before: Callable[[], None], cause: Callable[[], str]
) -> str:
    stop = threading.Event()
    threads = [threading.Thread(target=worker.run, args=(server.port, stop)) for worker in workers]
    for thread in threads:
        thread.start()
    before()
    refused = [text for worker in workers for text in worker.refusals]
    assert not refused, f"a client was refused before the fault: {refused}"
    fault = cause()
    stop.set()
    for thread in threads:
        thread.join()
    for worker in workers:
        worker.refusals.clear()
    return fault


def _verify(server: ServerProcess, workers: list[Worker]) -> list[str]:
    connection = server.connect()
    found: dict[bytes, RowState] = dict(connection.table("journal").scan())
    connection.close()
    wrong = []
    for worker in workers:
        mine = {row: state for row, state in found.items() if row.startswith(b"%d-" % worker.index)}
        wrong += worker.promises.verify(mine)
    return wrong


def run_from_command_line(campaign: Callable[[int, int, str, Path], int], description: str | None) -> None:
    """`campaign`: takes the rounds, the seed, the durability and a folder; returns the acknowledged operations."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0, help="0: chosen now and printed")
    parser.add_argument("--durability", choices=("sync", "os"), default="sync")
    arguments = parser.parse_args()
    seed = arguments.seed or int(time.time())
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="hbtable-kill-") as folder:
        total = campaign(arguments.rounds, seed, arguments.durability, Path(folder))
    print(f"{arguments.rounds} faults, {total} acknowledged operations, none lost, nothing invented (seed {seed})")
