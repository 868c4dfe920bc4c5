"""kill -9 of the server and of its worker processes at random moments under writing, deleting and incrementing clients
(the oracle is the clients' journals).

Each worker owns its rows and remembers what every row must hold. An operation whose answer never came leaves its rows
with two allowed states, before and after, each as a whole row. After each restart the whole table is read: every row
must be in an allowed state, nothing else may be there, counters must be exact up to unanswered increments.

    python -m tests.campaigns.kill_nine [--rounds 50] [--seed N] [--durability sync|os]
"""

import argparse
import contextlib
import os
import random
import signal
import struct
import tempfile
import threading
import time
from collections.abc import Callable
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
            connection = happybase.Connection("127.0.0.1", port, timeout=20000)
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


def campaign(rounds: int, seed: int, durability: str, folder: Path, loud: bool = True) -> int:
    """Runs it; raises AssertionError at the first violation. Returns the number of acknowledged operations."""
    chance = random.Random(seed)
    server = ServerProcess(folder / "data", [f"log.durability={durability}", *SMALL])
    workers = [Worker(index, seed * 100 + index) for index in range(WORKERS)]
    with server:
        server.connect().create_table("journal", {"f": {"max_versions": 1}, "c": {"max_versions": 1}})
        for number in range(1, rounds + 1):
            _one_round(server, workers, chance.uniform(0.15, 1.5))
            wrong = _verify(server, workers)
            assert not wrong, f"round {number} of seed {seed}: " + "; ".join(wrong[:5])
            if loud:
                total = sum(worker.promises.acknowledged for worker in workers)
                print(
                    f"round {number}: {total} operations acknowledged so far, restart took "
                    f"{server.start_seconds:.2f} s, nothing wrong",
                    flush=True,
                )
    return sum(worker.promises.acknowledged for worker in workers)


def _one_round(server: ServerProcess, workers: list[Worker], seconds: float) -> None:
    stop = threading.Event()
    threads = [threading.Thread(target=worker.run, args=(server.port, stop)) for worker in workers]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(seconds / 10)
        _kill_workers(server)
    refused = [text for worker in workers for text in worker.refusals]
    assert not refused, f"a client was refused before the kill: {refused}"
    server.kill()
    stop.set()
    for thread in threads:
        thread.join()
    for worker in workers:
        worker.refusals.clear()
    server.start()


def _kill_workers(server: ServerProcess) -> None:
    """Those processes to which the server gives its compactions: that costs time only."""
    assert server.process is not None
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        with contextlib.suppress(OSError):  # the thread, or the process, is gone
            for child in (task / "children").read_text().split():
                os.kill(int(child), signal.SIGKILL)


def _verify(server: ServerProcess, workers: list[Worker]) -> list[str]:
    connection = server.connect()
    found: dict[bytes, RowState] = dict(connection.table("journal").scan())
    connection.close()
    wrong = []
    for worker in workers:
        mine = {row: state for row, state in found.items() if row.startswith(b"%d-" % worker.index)}
        wrong += worker.promises.verify(mine)
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0, help="0: chosen now and printed")
    parser.add_argument("--durability", choices=("sync", "os"), default="sync")
    arguments = parser.parse_args()
    seed = arguments.seed or int(time.time())
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="hbtable-kill-") as folder:
        total = campaign(arguments.rounds, seed, arguments.durability, Path(folder))
    print(f"{arguments.rounds} kills, {total} acknowledged operations, none lost, nothing invented (seed {seed})")


if __name__ == "__main__":
    main()
