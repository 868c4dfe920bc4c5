"""The whole embedded cluster under a seeded scheduler, virtual time, and losses of power.

Each schedule runs several lives of one cluster on a memory file system. In a life, clients write, delete, increment and
batch while the server flushes, compacts and splits; at a random moment the power goes, and un-synced
bytes are lost or torn.
The next life must find what was acknowledged, whole rows, and nothing that was never written.

    python -m tests.campaigns.simulation [--schedules 200] [--seed N] [--break-sync]

--break-sync makes the log's syncs lie, as a write path that acknowledges before syncing would: it must be found.
"""

import argparse
import logging
import random
import struct
import time
from collections import Counter
from typing import cast

from hbtable.client.client import Client
from hbtable.commitlog.options import LogOptions
from hbtable.errors import HbtableError
from hbtable.fs.interface import AppendFile, FileSystem
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryDisk
from hbtable.launch.embedded_cluster import EmbeddedCluster, EmbeddedOptions
from hbtable.lockservice.local import LocalLockService
from hbtable.master.files.collector import CollectorOptions
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, PUT, Operation, RowMutation
from hbtable.model.read import ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.options import TabletOptions
from hbtable.tabletserver.maintenance_plan import MaintenanceOptions
from hbtable.tabletserver.role import TabletServerOptions
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.promises import Promises, RowState
from tests.harness.slow_appends import SlowAppends

ROWS_PER_WORKER = 12
WORKERS = 3
LIVES = 3
TABLE = b"journal"


class LyingSync:
    """A log file whose sync does nothing: what a broken order of sync and acknowledgement amounts to."""

    def __init__(self, file: AppendFile) -> None:
        self._file = file
        self.path = file.path

    def append(self, data: bytes) -> None:
        self._file.append(data)

    def sync(self) -> None:
        pass

    def close(self) -> None:
        self._file.close()


class LyingFileSystem:
    """Every call goes to the real one, but log files never reach the disk in time."""

    def __init__(self, inner: FileSystem) -> None:
        self._inner = inner

    def create(self, path: str) -> AppendFile:
        file = self._inner.create(path)
        return LyingSync(file) if path.startswith("logs/") else file

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


class Worker:
    """One client; its rows are its own. Stops at the first refusal, which leaves the outcome open."""

    def __init__(self, index: int, seed: int) -> None:
        self.index = index
        self.random = random.Random(f"{seed} {index}")
        self.promises = Promises()

    def run(self, runtime: SimulatedRuntime, client: Client) -> None:
        table = client.table(TABLE)
        while True:
            try:
                self.step(table)
            except HbtableError:
                return
            runtime.sleep(self.random.choice((0.0, 0.0, 0.001, 0.01)))

    def step(self, table: "object") -> None:
        choice = self.random.random()
        row = b"%d-%03d" % (self.index, self.random.randrange(ROWS_PER_WORKER))
        if choice < 0.2:
            self.increment(table, row)
        elif choice < 0.4:
            mutations, after = self.batch()
            self.attempt(table, mutations, after)
        else:
            mutation, state = self.change(row, self.promises.state(row))
            self.attempt(table, [mutation], {row: state})

    def attempt(self, table: "object", mutations: list[RowMutation], after: dict[bytes, RowState]) -> None:
        self.promises.begin(after)
        table.mutate(mutations)  # type: ignore[attr-defined]
        self.promises.answered()

    def increment(self, table: "object", row: bytes) -> None:
        amount = self.random.randrange(-3, 9)
        before = self.promises.state(row)
        count = struct.unpack(">q", before.get(b"c:n", bytes(8)))[0] + amount
        self.promises.begin({row: {**before, b"c:n": struct.pack(">q", count)}})
        answer = table.increment(row, b"c", b"n", amount)  # type: ignore[attr-defined]
        assert answer == count, f"counter of {row!r}: answered {answer}, promised {count}"
        self.promises.answered()

    def batch(self) -> tuple[list[RowMutation], dict[bytes, RowState]]:
        mutations, after = [], {}
        for _ in range(self.random.randrange(2, 8)):
            row = b"%d-%03d" % (self.index, self.random.randrange(ROWS_PER_WORKER))
            if row not in after:
                mutation, after[row] = self.change(row, self.promises.state(row))
                mutations.append(mutation)
        return mutations, after

    def change(self, row: bytes, before: RowState) -> tuple[RowMutation, RowState]:
        choice = self.random.random()
        if choice < 0.15:
            operations: list[Operation] = [(DELETE_FAMILY, family, b"", SERVER_TIME, b"") for family in (b"f", b"c")]
            return RowMutation(row, operations), {}
        if choice < 0.35:
            qualifier = b"%d" % self.random.randrange(4)
            gone = b"f:" + qualifier
            operations = [(DELETE_COLUMN, b"f", qualifier, SERVER_TIME, b"")]
            return RowMutation(row, operations), {name: value for name, value in before.items() if name != gone}
        after, operations = dict(before), []
        for _ in range(self.random.randrange(1, 4)):
            qualifier, value = b"%d" % self.random.randrange(4), self.random.randbytes(self.random.choice((3, 60, 700)))
            operations.append((PUT, b"f", qualifier, SERVER_TIME, value))
            after[b"f:" + qualifier] = value
        return RowMutation(row, operations), after


def read_everything(client: Client) -> dict[bytes, RowState]:
    found: dict[bytes, RowState] = {}
    request = ScanRequest(max_rows=7)
    while True:
        page = client.table(TABLE).scan_page(request)
        for row, cells in page.rows:
            found[row] = {column: value for column, _, value in cells}
        if page.next is None:
            return found
        request = ScanRequest(max_rows=7, position=page.next)


class Schedule:
    """One seed: several lives of one cluster."""

    def __init__(self, seed: int, break_sync: bool) -> None:
        self.seed = seed
        self.chance = random.Random(f"schedule {seed}")
        self.break_sync = break_sync
        self.workers = [Worker(index, seed) for index in range(WORKERS)]
        self.wall_millis = 0
        self.coverage: Counter[str] = Counter()
        """What the server did meanwhile: a schedule without compactions and splits proves little."""

    def run(self) -> None:
        """AssertionError at the first violation."""
        disk: MemoryDisk | None = None
        for life in range(LIVES + 1):
            runtime = SimulatedRuntime(self.seed * 100 + life)
            runtime.wall_offset_millis = self.wall_millis + self.chance.choice((0, 0, 5, -2000))
            memory = MemoryFileSystem(runtime, disk)
            fs = cast("FileSystem", LyingFileSystem(memory)) if self.break_sync else memory
            slow = SlowAppends(fs, runtime, f"{self.seed} {life}")
            runtime.run(self.live, runtime, cast("FileSystem", slow), life == LIVES)
            self.coverage["slow appends"] += slow.slow
            self.wall_millis += round(runtime.clock_seconds() * 1000)
            # Taken before the dying tasks may run on, so that nothing they still do reaches the disk.
            disk = memory.crash_clone(self.chance).disk
            runtime.crash()

    def live(self, runtime: SimulatedRuntime, fs: FileSystem, last: bool) -> None:
        cluster = EmbeddedCluster(runtime, fs, LocalLockService(fs, runtime), small_options())
        cluster.start()
        if TABLE not in cluster.client.admin.table_names():
            families = {name: FamilySchema(name, max_versions=1) for name in (b"f", b"c")}
            cluster.client.admin.create_table(TableSchema(TABLE, families))
        self.verify(cluster.client)
        if last:
            cluster.stop()
            return
        for worker in self.workers:
            runtime.spawn(worker.run, runtime, cluster.client, name=f"worker {worker.index}")
        runtime.sleep(self.chance.uniform(0.02, 3.0))
        self.coverage.update({name: value for name, _, value in cluster.registry.counters() if "compact" in name})
        self.coverage["tablets"] = max(self.coverage["tablets"], len(cluster.client.admin.tablets(TABLE)))

    def verify(self, client: Client) -> None:
        found = read_everything(client)
        wrong = []
        for worker in self.workers:
            mine = {row: state for row, state in found.items() if row.startswith(b"%d-" % worker.index)}
            wrong += worker.promises.verify(mine)
        assert not wrong, f"seed {self.seed}: " + "; ".join(wrong[:3])


def small_options() -> EmbeddedOptions:
    """So small that flushes, compactions, splits and log rotation happen within a life."""
    server = TabletServerOptions(
        block_cache_bytes=64 << 10,
        log=LogOptions(segment_bytes=6000),
        tablet=TabletOptions(memtable_bytes=6000, merge_files=3, worker_bytes=4000),
        maintenance=MaintenanceOptions(period_seconds=0.05, split_bytes=12000, log_bytes=20000),
    )
    return EmbeddedOptions(server=server, collector=CollectorOptions(period_seconds=1.0, trash_seconds=0.5))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first schedule; 0: chosen now and printed")
    parser.add_argument("--break-sync", action="store_true")
    arguments = parser.parse_args()
    first = arguments.seed or int(time.time())
    print(f"seeds {first} to {first + arguments.schedules - 1}")
    logging.disable(logging.CRITICAL)  # every life ends in a crash, and says so at length
    acknowledged, begin = 0, time.monotonic()
    coverage: Counter[str] = Counter()
    for seed in range(first, first + arguments.schedules):
        schedule = Schedule(seed, arguments.break_sync)
        try:
            schedule.run()
        except (AssertionError, HbtableError) as error:
            print(f"violation after {seed - first + 1} schedules: {error}")
            raise SystemExit(0 if arguments.break_sync else 1) from error
        acknowledged += sum(worker.promises.acknowledged for worker in schedule.workers)
        coverage.update(schedule.coverage)
    print(
        f"{arguments.schedules} schedules, {acknowledged} acknowledged operations, no violation, "
        f"{time.monotonic() - begin:.0f} s"
    )
    print(", ".join(f"{name} {count}" for name, count in sorted(coverage.items())))
    if arguments.break_sync:
        raise SystemExit("the broken sync was not found: the simulation proves nothing")


if __name__ == "__main__":
    main()
