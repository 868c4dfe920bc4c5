"""A crash at every I/O call of a fixed script: puts, deletes, batches, counters, all three
kinds of compaction, splits, an orderly restart; and a second crash somewhere in the recovery from the first.

At its n-th call the file system loses its power: un-synced bytes vanish, stay or are torn, as the seed wants. The
same again for a kill -9, after which all bytes are there. The next life must find whole rows as promised, with only
the operation under way in doubt; `hbtable check` must find nothing damaged, `hbtable repair` nothing to do, and
writing must go on. No life may log a WARNING or an ERROR, for nothing is damaged: of torn bytes alone it may.

    python -m tests.campaigns.crash_points [--stride 1] [--seed N]
"""

import argparse
import logging
import random
import struct
import time
from collections.abc import Callable, Collection, Iterator
from copy import deepcopy
from dataclasses import replace
from typing import cast

from hbtable.client.client import Client
from hbtable.client.options import ClientOptions
from hbtable.fs.interface import LOCAL, NO_HINTS, AppendFile, FileStatus, FileSystem, PutHints, RandomReadFile
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryDisk
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.lockservice.local import LocalLockService
from hbtable.metadata.retry_policy import RetryPolicy
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, PUT, RowMutation
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.repair.checking import Check
from hbtable.repair.mending import Repair
from hbtable.testing.simulated.runtime import SimulatedRuntime, SimulationOptions
from hbtable.testing.simulated.scheduler import SimulatedCrash
from tests.campaigns.simulation import TABLE, read_everything, small_options
from tests.harness.disks import disk_copy
from tests.harness.program_warnings import program_warnings
from tests.harness.promises import Promises, RowState
from tests.harness.slow_appends import SlowAppends

QUICK = SimulationOptions(offload_seconds=0.001)


class CrashingFileSystem:
    """Counts every call that reaches the medium; at call `crash_at` the power goes, before or after it has happened."""

    log_kind = LOCAL

    def __init__(
        self,
        inner: MemoryFileSystem,
        runtime: SimulatedRuntime,
        chance: random.Random,
        crash_at: int,
        broken_sync: str = "",
    ) -> None:
        self.inner = inner
        self.broken_sync = broken_sync
        """Files below this folder are never synced: to see that the sweep notices."""
        self.calls = 0
        self.tablets = 0
        self.compacted = False
        self.survivor: MemoryFileSystem | None = None
        """As a loss of power left it."""
        self.killed: MemoryFileSystem | None = None
        """As a kill -9 at the same moment left it."""
        self.torn: set[str] = set()
        """Files of `survivor` that end with other bytes than were written."""
        self._runtime = runtime
        self._chance = chance
        self._crash_at = crash_at

    def around(self, call: Callable[[], object]) -> object:
        self.calls += 1
        if self.calls != self._crash_at:
            return call()
        if self._chance.random() < 0.5:
            call()
        self.killed = MemoryFileSystem(self._runtime, disk_copy(self.inner.disk))
        self.survivor = self.inner.crash_clone(self._chance)
        self.torn = torn_files(self.inner.disk, self.survivor.disk)
        self._runtime.crash()
        raise AssertionError("crash() ends this task")

    def create(self, path: str) -> AppendFile:
        return CrashingAppendFile(self, self.around(lambda: self.inner.create(path)))  # type: ignore[arg-type]

    def write_file(self, path: str, data: bytes) -> None:
        self.around(lambda: self.inner.write_file(path, data))

    def put_new(self, path: str, data: bytes, hints: PutHints = NO_HINTS) -> None:
        self.around(lambda: self.inner.put_new(path, data, hints))

    def rename(self, source: str, target: str) -> None:
        self.around(lambda: self.inner.rename(source, target))

    def delete(self, path: str) -> None:
        self.around(lambda: self.inner.delete(path))

    def delete_folder(self, folder: str) -> None:
        self.around(lambda: self.inner.delete_folder(folder))

    # Reading changes nothing: a crash before it is a crash after the call that came before.

    def open(self, path: str) -> RandomReadFile:
        return self.inner.open(path)

    def read_file(self, path: str) -> bytes:
        return self.inner.read_file(path)

    def exists(self, path: str) -> bool:
        return self.inner.exists(path)

    def status(self, path: str) -> FileStatus:
        return self.inner.status(path)

    def list_files(self, folder: str) -> list[FileStatus]:
        return self.inner.list_files(folder)


class CrashingAppendFile:
    """An append file whose calls count."""

    def __init__(self, system: CrashingFileSystem, inner: AppendFile) -> None:
        self._system = system
        self._inner = inner
        self.path = inner.path

    def append(self, data: bytes) -> None:
        self._system.around(lambda: self._inner.append(data))

    def sync(self) -> None:
        broken = self._system.broken_sync and self.path.startswith(self._system.broken_sync)
        self._system.around((lambda: None) if broken else self._inner.sync)

    def close(self) -> None:
        self._inner.close()


class Script:
    """The fixed script. `promises` is what its client was told."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"script {seed}")
        self.promises = Promises()
        self.merges = 0

    def run(self, runtime: SimulatedRuntime, fs: CrashingFileSystem) -> None:
        cluster = start(runtime, fs)
        families = {name: FamilySchema(name, max_versions=1) for name in (b"f", b"c")}
        cluster.client.admin.create_table(TableSchema(TABLE, families))
        for step in self._steps(cluster.client):
            step()
        self.merges = cluster.server.shared.compaction_seconds["merging"].count
        cluster.stop()
        cluster = start(runtime, fs)
        for step in self._writes(cluster.client, 10):
            step()
        cluster.client.admin.major_compact(TABLE)
        fs.tablets = len(cluster.client.admin.tablets(TABLE))
        fs.compacted = cluster.server.shared.compaction_seconds["major"].count > 0 < self.merges
        cluster.stop()

    def _steps(self, client: Client) -> Iterator[Callable[[], object]]:
        admin = client.admin
        for _ in range(4):
            yield from self._writes(client, 12)
            yield lambda: admin.flush(TABLE)
        yield lambda: admin.compact(TABLE)
        yield from self._writes(client, 10)
        yield lambda: admin.split(TABLE)
        yield from self._writes(client, 10)
        yield lambda: admin.major_compact(TABLE)
        yield from self._writes(client, 10)

    def _writes(self, client: Client, count: int) -> Iterator[Callable[[], object]]:
        table = client.table(TABLE)
        for _ in range(count):
            choice = self._random.random()
            row = b"%03d" % self._random.randrange(30)
            before = self.promises.state(row)
            if choice < 0.2:
                yield lambda row=row, before=before: self._increment(table, row, before)  # type: ignore[misc]
            elif choice < 0.35:
                operations = [(DELETE_FAMILY, name, b"", SERVER_TIME, b"") for name in (b"f", b"c")]
                yield lambda row=row, operations=operations: self._mutate(  # type: ignore[misc]
                    table, {row: {}}, [RowMutation(row, operations)]
                )
            elif choice < 0.5:
                after = {name: value for name, value in before.items() if name != b"f:1"}
                mutation = RowMutation(row, [(DELETE_COLUMN, b"f", b"1", SERVER_TIME, b"")])
                yield lambda row=row, after=after, mutation=mutation: self._mutate(  # type: ignore[misc]
                    table, {row: after}, [mutation]
                )
            else:
                rows = [row, *self._rows()]
                yield lambda rows=rows: self._put(table, rows)  # type: ignore[misc]

    def _rows(self) -> list[bytes]:
        return [b"%03d" % self._random.randrange(30) for _ in range(self._random.choice((0, 0, 5)))]

    def _put(self, table: object, rows: list[bytes]) -> None:
        after: dict[bytes, RowState] = {}
        mutations = []
        for row in dict.fromkeys(rows):
            qualifier, value = b"%d" % self._random.randrange(3), self._random.randbytes(self._random.choice((3, 300)))
            mutations.append(RowMutation(row, [(PUT, b"f", qualifier, SERVER_TIME, value)]))
            after[row] = {**self.promises.state(row), b"f:" + qualifier: value}
        self._mutate(table, after, mutations)

    def _mutate(self, table: object, after: dict[bytes, RowState], mutations: list[RowMutation]) -> None:
        self.promises.begin(after)
        table.mutate(mutations)  # type: ignore[attr-defined]
        self.promises.answered()

    def _increment(self, table: object, row: bytes, before: RowState) -> None:
        count = struct.unpack(">q", before.get(b"c:n", bytes(8)))[0] + 7
        self.promises.begin({row: {**before, b"c:n": struct.pack(">q", count)}})
        assert table.increment(row, b"c", b"n", 7) == count  # type: ignore[attr-defined]
        self.promises.answered()


def start(runtime: SimulatedRuntime, fs: "CrashingFileSystem | MemoryFileSystem") -> EmbeddedCluster:
    options = replace(small_options(), client=ClientOptions(RetryPolicy(deadline_seconds=1.0)))
    slow = cast("FileSystem", SlowAppends(cast("FileSystem", fs), runtime, "crash points"))
    cluster = EmbeddedCluster(runtime, slow, LocalLockService(slow, runtime), options)
    cluster.start()
    return cluster


def one_crash(seed: int, crash_at: int, crash_again: bool = False, broken_sync: str = "") -> bool:
    """Crashes at that call and verifies. False when the script has fewer calls: then it ended well."""
    where = f"seed {seed}, crash at call {crash_at}"
    chance = random.Random(f"crash {seed} {crash_at}")
    script = Script(seed)
    runtime = SimulatedRuntime(seed, QUICK)
    fs = CrashingFileSystem(MemoryFileSystem(runtime), runtime, chance, crash_at, broken_sync)
    with program_warnings(lambda: fs.survivor is None) as said:
        try:
            runtime.run(script.run, runtime, fs)
        except SimulatedCrash:
            pass
    said.check(f"{where}, before it")
    if fs.survivor is None or fs.killed is None:
        assert fs.tablets > 1, "the script splits nothing"
        assert fs.compacted, "the script compacts nothing"
        return False
    survivor, torn = fs.survivor, fs.torn
    if crash_again:
        survivor, torn_again = crash_in_recovery(seed, survivor, torn, chance, where)
        torn = torn | torn_again
    verify(SimulatedRuntime(seed + 1000, QUICK), survivor, deepcopy(script.promises), torn, f"{where}, power lost")
    verify(SimulatedRuntime(seed + 2000, QUICK), fs.killed, script.promises, (), f"{where}, killed")
    return True


def torn_files(before: MemoryDisk, after: MemoryDisk) -> set[str]:
    """Files that are no beginning of what was written to them."""
    return {
        path
        for path, content in after.files.items()
        if not before.files[path].content.startswith(bytes(content.content))
    }


def crash_in_recovery(
    seed: int, survivor: MemoryFileSystem, torn: Collection[str], chance: random.Random, where: str
) -> tuple[MemoryFileSystem, set[str]]:
    """What is left after a start on `survivor` that crashed too, or that ended first, as a kill would end it; and which
    files are torn then."""
    runtime = SimulatedRuntime(seed + 500, QUICK)
    fs = CrashingFileSystem(MemoryFileSystem(runtime, survivor.disk), runtime, chance, chance.randrange(1, 60))
    with program_warnings(lambda: fs.survivor is None) as said:
        try:
            runtime.run(start, runtime, fs)
        except SimulatedCrash:
            pass
    said.check(f"{where}, the start that crashed too", torn)
    if fs.survivor is not None:
        return fs.survivor, fs.torn
    left = fs.inner.crash_clone(chance)
    runtime.crash()
    return left, torn_files(fs.inner.disk, left.disk)


def verify(
    runtime: SimulatedRuntime, survivor: MemoryFileSystem, promises: Promises, torn: Collection[str], where: str
) -> None:
    fs = MemoryFileSystem(runtime, survivor.disk)

    def main() -> None:
        check = Check(runtime, fs)
        check.run()
        assert not check.findings, f"{where}: check says {check.findings}"
        copy = MemoryFileSystem(runtime, disk_copy(survivor.disk))
        repair = Repair(runtime, copy, copy, "repair-backup-1").run()
        assert repair.is_empty, f"{where}: check finds nothing, and repair {repair}"
        cluster = start(runtime, fs)
        if TABLE in cluster.client.admin.table_names():
            wrong = promises.verify(read_everything(cluster.client))
            table = cluster.client.table(TABLE)
            table.mutate([RowMutation(b"after", [(PUT, b"f", b"1", SERVER_TIME, b"x")])])
            assert read_everything(cluster.client)[b"after"] == {b"f:1": b"x"}, where
        else:
            wrong = [] if not promises.acknowledged else [f"the table is gone after {promises.acknowledged} operations"]
        assert not wrong, f"{where}: {'; '.join(wrong[:3])}"
        cluster.stop()

    with program_warnings() as said:
        runtime.run(main)
    said.check(where, torn)


def sweep(seed: int, first: int, stride: int, loud: bool = False) -> int:
    """Crashes at calls first, first + stride, ... to the script's end; how many."""
    crashes, call = 0, first
    while one_crash(seed, call, crash_again=crashes % 3 == 2):
        crashes += 1
        call += stride
        if loud and not crashes % 100:
            print(f"{crashes} crashes, the last at call {call}, nothing wrong", flush=True)
    return crashes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="0: chosen now and printed")
    parser.add_argument("--stride", type=int, default=1)
    arguments = parser.parse_args()
    seed = arguments.seed or int(time.time())
    print(f"seed {seed}")
    logging.disable(logging.CRITICAL)  # every life ends in a crash, and says so at length
    begin = time.monotonic()
    crashes = sweep(seed, 1, arguments.stride, loud=True)
    print(f"{crashes} crash points, nothing lost and nothing invented, {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
