"""A folder with a past, to be damaged: tables of several families and tablets, flushes, compactions, splits, a table
that was dropped, restarts; what every row held at each moment; and the folder as it was earlier.
"""

import random
from dataclasses import dataclass, field, replace

from hbtable.client.client import Client
from hbtable.client.options import ClientOptions
from hbtable.fs.interface import LOCAL
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryContent, MemoryDisk
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.metadata.retry_policy import RetryPolicy
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, PUT, RowMutation
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.testing.simulated.runtime import SimulatedRuntime, SimulationOptions
from tests.campaigns.damage_store import ZOOKEEPER, file_system, lock_service
from tests.campaigns.simulation import small_options
from tests.harness.promises import RowState

JOURNAL, ACCOUNTS, QUIET, DROPPED = b"journal", b"team:accounts", b"quiet", b"dropped"
TABLES = (JOURNAL, ACCOUNTS, QUIET)
ROWS = [b"%03d" % number for number in range(30)]
QUICK = SimulationOptions(offload_seconds=0.001)


@dataclass
class Life:
    """`now`: what each table's rows hold. `past`: every state that a row ever had, by table and row."""

    kind: str = LOCAL
    """Of the logs: a single server's, or one of a cluster's two."""
    disk: MemoryDisk = field(default_factory=MemoryDisk)
    earlier: list[MemoryDisk] = field(default_factory=list)
    now: dict[bytes, dict[bytes, RowState]] = field(default_factory=dict)
    past: dict[tuple[bytes, bytes], list[RowState]] = field(default_factory=dict)
    flushed_at: dict[tuple[bytes, bytes], int] = field(default_factory=dict)
    """Which state in `past` each row had when everything was in SSTables last. An equal state may come again later."""

    versions: dict[str, list[bytes]] = field(default_factory=dict)
    """All that each small file ever held, the last one left out."""

    def flushed_now(self) -> None:
        """Everything is in SSTables."""
        self.flushed_at = {key: len(states) - 1 for key, states in self.past.items()}

    def since_flushed(self, name: bytes, row: bytes) -> list[RowState]:
        """The states of a row from the one in SSTables on."""
        return self.past.get((name, row), [{}])[self.flushed_at.get((name, row), 0) :]


class _Watched(dict[str, MemoryContent]):
    """The files of a disk; small ones, which are written whole, are kept in `life` before they are replaced."""

    def __init__(self, files: dict[str, MemoryContent], life: Life) -> None:
        super().__init__(files)
        self._life = life

    def __setitem__(self, path: str, content: MemoryContent) -> None:
        before = self.get(path)
        is_over = bool(self._life.disk.files)  # what is written after the kill is no older version
        if before is not None and not is_over and path.startswith(("lockservice/", "metadata/", f"{ZOOKEEPER}/")):
            found = self._life.versions.setdefault(path, [])
            if bytes(before.content) not in found:
                found.append(bytes(before.content))
        super().__setitem__(path, content)


def disk_copy(disk: MemoryDisk) -> MemoryDisk:
    copy = MemoryDisk()
    for name, content in disk.files.items():
        copy.files[name] = MemoryContent(bytes(content.content), len(content.content), content.modified_millis)
    return copy


def start(runtime: SimulatedRuntime, fs: MemoryFileSystem, deadline_seconds: float = 1.0) -> EmbeddedCluster:
    options = replace(small_options(), client=ClientOptions(RetryPolicy(deadline_seconds=deadline_seconds)))
    cluster = EmbeddedCluster(runtime, fs, lock_service(runtime, fs), options)
    cluster.start()
    return cluster


def live(seed: int, stopped: bool, kind: str = LOCAL) -> Life:
    """`stopped`: in order; else as after a kill, with a log that recovery needs."""
    life = Life(kind)
    chance = random.Random(f"life {seed}")
    disk = MemoryDisk()
    for part in range(3):
        runtime = SimulatedRuntime(seed * 10 + part, QUICK)
        disk.files = _Watched(disk.files, life)
        runtime.run(_part, runtime, file_system(runtime, disk, kind), life, chance, part, stopped)
        disk = disk_copy(disk) if part < 2 else disk
    return life


def _part(
    runtime: SimulatedRuntime, fs: MemoryFileSystem, life: Life, chance: random.Random, part: int, stopped: bool
) -> None:
    cluster = start(runtime, fs)
    client = cluster.client
    if part == 0:
        _create(client, life)
    for step in range(3):
        for _ in range(15):
            _write(client, life, chance)
        if step < 2:
            for name in TABLES:
                client.admin.flush(name)
            life.flushed_now()
        life.earlier.append(disk_copy(fs.disk))
    if part == 0:
        client.admin.split(JOURNAL)
        client.admin.create_table(TableSchema(DROPPED, {b"f": FamilySchema(b"f")}))
        client.table(DROPPED).mutate([RowMutation(b"x", [(PUT, b"f", b"q", SERVER_TIME, b"gone")])])
        client.admin.flush(DROPPED)
    if part == 1:
        client.admin.major_compact(JOURNAL)
        client.admin.disable_table(DROPPED)
        client.admin.delete_table(DROPPED)
        runtime.sleep(10.0)  # what is not needed any more is collected
    if part == 2:
        client.admin.major_compact(ACCOUNTS)
        client.admin.flush(JOURNAL)
        life.flushed_now()
        if not stopped:
            for number in range(25):
                _write(client, life, chance)
                if number == 12:
                    runtime.sleep(5.0 if life.kind == LOCAL else 15.0)  # the log's high-water mark is written
            life.disk = disk_copy(fs.disk)
    cluster.stop()
    if part == 2 and stopped:
        life.flushed_now()
        life.disk = disk_copy(fs.disk)


def _create(client: Client, life: Life) -> None:
    client.admin.create_namespace(b"team", {"owner": "us"})
    families = {name: FamilySchema(name, max_versions=1) for name in (b"f", b"c")}
    client.admin.create_table(TableSchema(JOURNAL, families))
    grouped = {name: FamilySchema(name, max_versions=1, locality_group="both") for name in (b"g", b"h")}
    client.admin.create_table(TableSchema(ACCOUNTS, grouped), [b"015"])
    client.admin.create_table(TableSchema(QUIET, {b"f": FamilySchema(b"f", max_versions=1)}))
    life.now.update({name: {} for name in TABLES})
    client.table(QUIET).mutate([RowMutation(b"one", [(PUT, b"f", b"q", SERVER_TIME, b"only")])])
    _note(life, QUIET, b"one", {b"f:q": b"only"})


def _write(client: Client, life: Life, chance: random.Random) -> None:
    name = chance.choice((JOURNAL, JOURNAL, ACCOUNTS))
    families = (b"f", b"c") if name == JOURNAL else (b"g", b"h")
    row = chance.choice(ROWS)
    state = dict(life.now[name].get(row, {}))
    family, qualifier = chance.choice(families), b"%d" % chance.randrange(2)
    column = family + b":" + qualifier
    if chance.random() < 0.3:
        client.table(name).mutate([RowMutation(row, [(DELETE_COLUMN, family, qualifier, SERVER_TIME, b"")])])
        state.pop(column, None)
    else:
        state[column] = chance.randbytes(chance.choice((3, 200)))
        client.table(name).mutate([RowMutation(row, [(PUT, family, qualifier, SERVER_TIME, state[column])])])
    _note(life, name, row, state)


def _note(life: Life, name: bytes, row: bytes, state: RowState) -> None:
    life.now[name][row] = state
    life.past.setdefault((name, row), [{}]).append(state)
