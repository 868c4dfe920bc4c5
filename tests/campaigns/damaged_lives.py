"""One server's store through several lives, with damage between them: damage, restart, writes, and damage again.

In a life rows are written and deleted, families dropped, added again and regrouped, tables made, everything flushed,
compacted and split, while the clock jumps ahead and behind. It ends in an orderly stop or a loss of power. Then a file
is spoiled, lost or replaced by an older one, or all of it is put back from a backup (tests/harness/store_damage.py), or
nothing happens. The next life goes on with what is there; sometimes the right file is put back later, or the folder is
repaired. What must hold in all of them: no row is old, missing or wrong without a word; a refusal names what is
damaged; what is written after the damage stays, over further damage; nothing is refused once it was put right. Where a
repair makes METADATA anew and says of no cell that it is lost, deleted cells may be back, and each that was there is.

    python -m tests.campaigns.damaged_lives [--seeds 200] [--seed N] [--kinds "log cut" ...]
"""

import argparse
import logging
import random
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace

from hbtable.client.options import ClientOptions
from hbtable.commitlog.options import LogOptions
from hbtable.errors import HbtableError, NotFound, OutcomeUnknown
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryDisk
from hbtable.launch.embedded_cluster import EmbeddedCluster, EmbeddedOptions
from hbtable.lockservice.local import LocalLockService
from hbtable.metadata.retry_policy import RetryPolicy
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_FAMILY, PUT, RowMutation
from hbtable.model.read import ReadSpec
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.repair.mending import Repair
from hbtable.testing.simulated.runtime import SimulatedRuntime, SimulationOptions
from tests.campaigns.simulation import small_options
from tests.harness.disks import disk_copy
from tests.harness.store_damage import KINDS, LOCKS, Damager, StoreDamage

TABLE, LATER = b"journal", b"later"
ROWS = [b"%02d" % number for number in range(20)]
FAMILIES = (b"f", b"g", b"h")
LIVES = 5
DAY_MILLIS = 86_400_000
JUMPS_MILLIS = (0, 0, 0, 5_000, -5_000, 3_600_000, -3_600_000, 400 * DAY_MILLIS, -400 * DAY_MILLIS)

Key = tuple[bytes, bytes]
Promised = dict[Key, set[bytes]]
"""What each family of each row may hold: b"" for nothing. More than one while the outcome of a write is unknown."""


@dataclass
class Backup:
    """The folder at an instant, and what had been promised by then."""

    disk: MemoryDisk
    promised: Promised
    families: set[bytes]
    damages: list[StoreDamage]
    schema_version: int


class DamagedLives:
    """One seed. `kinds` of damage that are done; (): any."""

    def __init__(self, seed: int, kinds: tuple[str, ...] = ()) -> None:
        self.seed = seed
        self.count: Counter[str] = Counter()
        self._chance = random.Random(f"damaged lives {seed}")
        self._kinds = kinds or KINDS
        self._disk = MemoryDisk()
        self._wall_millis = 0
        self._families: set[bytes] = set()
        self._families_known = True
        self._schema_known = True
        self._schema_version = 0
        """The highest that the table may have had."""
        self._promised: Promised = {(row, family): {b""} for row in ROWS for family in FAMILIES}
        self._ever: Promised = {key: {b""} for key in self._promised}
        self._damages: list[StoreDamage] = []
        """What was damaged and not put right."""
        self._backup: Backup | None = None
        self._before: Backup | None = None
        """Of before the last damage."""
        self._closed = False
        self._number = 0
        self._life = 0

    def run(self) -> Counter[str]:
        """AssertionError at the first violation."""
        try:
            for self._life in range(LIVES):
                self._one_life()
                if self._life < LIVES - 1:
                    self._between()
        except (AssertionError, HbtableError) as error:
            told = "; ".join(damage.what for damage in self._damages)
            raise AssertionError(f"seed {self.seed}, life {self._life}, {told}: {error}") from error
        return self.count

    # ------------------------------------------------------------ between two lives

    def _between(self) -> None:
        chance = self._chance
        if self._closed or (self._damages and chance.random() < 0.4):
            self._put_right()
        if chance.random() < 0.2:
            return
        kind = chance.choice(self._kinds)
        before = self._here()
        damage = Damager(self._disk, self._backup.disk if self._backup else None, chance).do(kind)
        if damage is None:
            self.count["nothing to damage"] += 1
            return
        self.count[f"damaged: {kind}"] += 1
        self.count["damaged again"] += bool(self._damages)
        self._before = before
        if damage.restored:
            assert self._backup is not None
            self._become(self._backup)
            return
        self._damages.append(damage)
        if damage.unsaid:
            self._promised = {key: set(values) for key, values in self._ever.items()}

    def _put_right(self) -> None:
        """By the file itself, by the folder as it was before, or by a repair."""
        last = self._damages[-1]
        way = self._chance.choice(("file", "folder", "repair"))
        if way == "file" and last.right is not None and not self._closed:
            path, content = last.right
            self._disk.files[path] = content
            self._damages.pop()
        elif way == "folder" and self._before is not None and self._closed:
            self._become(self._before)
        else:
            way = "repair"
            self._repair()
        self._closed = False
        self.count[f"put right by: {way}"] += 1

    def _repair(self) -> None:
        runtime = self._runtime(0)
        fs = MemoryFileSystem(runtime, self._disk)
        report = runtime.run(lambda: Repair(runtime, fs, fs, f"repair-backup-{self._life}").run())
        self._wall_millis += round(runtime.clock_seconds() * 1000)
        if any(names_cells(line) for line in report.lost):
            self._promised = {key: set(values) for key, values in self._ever.items()}
        elif any(line.startswith("METADATA's rows") for line in report.done):
            self._from_files_alone()
        self._damages = []
        self._look_at_a_copy()

    def _from_files_alone(self) -> None:
        """What was deleted may be back, as nothing need tell of it any more. What is there stays as it was."""
        self.count["made anew, nothing lost"] += 1
        for key, values in self._promised.items():
            if b"" in values:
                values |= self._ever[key]
            else:
                self.count["cells that have to be there"] += 1
        self._schema_known = False

    def _look_at_a_copy(self) -> None:
        """At what a repair left, before it is damaged again."""
        runtime = self._runtime(0)
        fs = MemoryFileSystem(runtime, disk_copy(self._disk))

        def look() -> None:
            cluster = EmbeddedCluster(runtime, fs, LocalLockService(fs, runtime), options())
            cluster.start()
            if self._is_there(cluster):
                self._read_schema(cluster)
                self._look(cluster)
            cluster.stop()

        runtime.run(look)

    def _here(self) -> Backup:
        """Does not switch."""
        promised = {key: set(values) for key, values in self._promised.items()}
        return Backup(disk_copy(self._disk), promised, set(self._families), list(self._damages), self._schema_version)

    def _become(self, backup: Backup) -> None:
        self._disk = disk_copy(backup.disk)
        self._promised = {key: set(values) for key, values in backup.promised.items()}
        self._families = set(backup.families)
        self._schema_version = backup.schema_version
        self._damages = list(backup.damages)

    # ------------------------------------------------------------ a life

    def _runtime(self, jump_millis: int) -> SimulatedRuntime:
        runtime = SimulatedRuntime(self.seed * 100 + self._life, SimulationOptions(offload_seconds=0.001))
        runtime.wall_offset_millis = self._wall_millis + jump_millis
        return runtime

    def _one_life(self) -> None:
        chance = self._chance
        runtime = self._runtime(chance.choice(JUMPS_MILLIS))
        fs = MemoryFileSystem(runtime, self._disk)
        stopped = runtime.run(self._live, runtime, fs)
        self._wall_millis += round(runtime.clock_seconds() * 1000)
        died = [(name, error) for name, error in runtime.scheduler.errors if not isinstance(error, HbtableError)]
        assert not died, f"tasks died: {died}"
        if not stopped:
            self._disk = fs.crash_clone(chance).disk
            runtime.crash()

    def _live(self, runtime: SimulatedRuntime, fs: MemoryFileSystem) -> bool:
        """Whether it was stopped in order."""
        cluster = EmbeddedCluster(runtime, fs, LocalLockService(fs, runtime), options())
        try:
            cluster.start()
        except HbtableError as refusal:
            self._check_refusal(refusal)
            self._closed = True
            self.count["closed"] += 1
            return True
        self._find_table(cluster)
        self._look(cluster)
        for _ in range(self._chance.randrange(2, 5)):
            self._work(runtime, cluster)
        self._new_table(cluster)
        self._look(cluster)
        if self._chance.random() < 0.5:
            self._backup = self._here()
        if self._chance.random() < 0.5:
            cluster.stop()
            return True
        if self._chance.random() < 0.5:
            runtime.sleep(2.0)  # until the log's mark covers everything
        return False

    def _find_table(self, cluster: EmbeddedCluster) -> None:
        """Which families there are; the table is made where it is not there, and may be."""
        try:
            if self._is_there(cluster):
                self._read_schema(cluster)
                return
        except HbtableError as refusal:
            self._check_refusal(refusal)
            return
        self._families = set(FAMILIES)
        for key in self._promised:
            self._promised[key] = {b""}
        cluster.client.admin.create_table(TableSchema(TABLE, self._schemas()), [b"07"])

    def _is_there(self, cluster: EmbeddedCluster) -> bool:
        if TABLE in cluster.client.admin.table_names():
            return True
        unknown = all(b"" in values for values in self._promised.values())
        assert unknown, f"{TABLE!r} is gone without a word"
        return False

    def _read_schema(self, cluster: EmbeddedCluster) -> None:
        schema = cluster.client.admin.schema(TABLE)
        there = set(schema.families)
        if not self._schema_known:  # it is that of the newest SSTable, and families added since are no more
            if schema.version < self._schema_version:
                self._promised = {key: set(values) for key, values in self._ever.items()}
                self.count["older schemas"] += 1
            self._schema_known = True
        self._schema_version = max(self._schema_version, schema.version)
        for family in there ^ self._families if self._families_known else ():
            forgotten = [row for row in ROWS if self._promised[row, family] != self._ever[row, family]]
            assert not forgotten, f"family {family!r} came or went without a word"
        self._families, self._families_known = there, True

    def _schemas(self) -> dict[bytes, FamilySchema]:
        groups = self._chance.choices(("", "one"), k=len(FAMILIES))
        return {
            name: FamilySchema(name, max_versions=1, block_bytes=1024, compression="NONE", locality_group=group)
            for name, group in zip(FAMILIES, groups, strict=True)
            if name in self._families
        }

    # ------------------------------------------------------------ what must hold

    def _look(self, cluster: EmbeddedCluster) -> None:
        """Each row: a right answer, or a refusal that names what is damaged. What was answered once stays."""
        refused = 0
        for row in ROWS:
            found = self._answer(cluster, row)
            if found is None:
                refused += 1
                continue
            self.count["rows read"] += 1
            for family in FAMILIES:
                value, promised = found.get(family + b":v", b""), self._promised[row, family]
                assert value in promised, f"{row!r} {family!r} is {value[:20]!r}, not of {sorted(promised)[:4]}"
                self._promised[row, family] = {value}
        self.count["rows refused"] += refused
        if not refused:  # what the start put right is no reason to refuse anything later
            self._damages = [damage for damage in self._damages if not damage.path.startswith(LOCKS)]

    def _answer(self, cluster: EmbeddedCluster, row: bytes) -> dict[bytes, bytes] | None:
        try:
            rows = cluster.client.table(TABLE).read_rows([row], ReadSpec())
        except HbtableError as refusal:
            self._check_refusal(refusal)
            return None
        return {column: value for _, cells in rows for column, _, value in cells}

    def _check_refusal(self, refusal: HbtableError) -> None:
        names = [name for damage in self._damages if damage.path for name in _names(damage)]
        assert any(name in str(refusal) for name in names), f"refused, and no damage is named: {refusal}"

    # ------------------------------------------------------------ what is done

    def _work(self, runtime: SimulatedRuntime, cluster: EmbeddedCluster) -> None:
        chance, admin = self._chance, cluster.client.admin
        for _ in range(chance.randrange(5, 25)):
            self._write(cluster)
            runtime.sleep(chance.random() * 0.02)
        if chance.random() < 0.15:
            runtime.wall_offset_millis += chance.choice(JUMPS_MILLIS)
        chore = chance.choice(("drop", "add", "regroup", "flush", "flush", "compact", "split", "rest"))
        with suppress(HbtableError):
            if chore == "drop" and len(self._families) > 1:
                self._drop(cluster)
            elif chore == "add" and len(self._families) < len(FAMILIES):
                self._add(cluster)
            elif chore == "regroup":
                self._alter(cluster)
            elif chore in ("flush", "compact"):
                (admin.flush if chore == "flush" else admin.major_compact)(TABLE)
            elif chore == "split":
                admin.split(TABLE, chance.choice(ROWS))
        if chore == "rest":
            runtime.sleep(chance.choice((0.5, 5.0)))
        self.count[chore] += 1

    def _write(self, cluster: EmbeddedCluster) -> None:
        """To some families of a row."""
        if not self._families:
            return
        row = self._chance.choice(ROWS)
        families = self._chance.sample(sorted(self._families), self._chance.randint(1, len(self._families)))
        value = b""
        operations = [(DELETE_FAMILY, family, b"", SERVER_TIME, b"") for family in families]
        if self._chance.random() < 0.8:
            self._number += 1
            value = b"%d/" % self._number + b"v" * self._chance.choice((4, 60, 300))
            operations = [(PUT, family, b"v", SERVER_TIME, value) for family in families]
        for family in families:
            self._ever[row, family].add(value)
        try:
            cluster.client.table(TABLE).mutate([RowMutation(row, operations)])
        except OutcomeUnknown:
            for family in families:
                self._promised[row, family].add(value)
        except HbtableError as refusal:
            self.count["writes refused"] += 1
            self._check_refusal(refusal)
            for family in families:
                self._ever[row, family] -= {value} - {b""}
        else:
            self.count["written"] += 1
            for family in families:
                self._promised[row, family] = {value}

    def _drop(self, cluster: EmbeddedCluster) -> None:
        family = self._chance.choice(sorted(self._families))
        self._families.discard(family)
        for row in ROWS:
            self._promised[row, family].add(b"")
        self._alter(cluster)
        for row in ROWS:
            self._promised[row, family] = {b""}

    def _add(self, cluster: EmbeddedCluster) -> None:
        self._families.add(self._chance.choice([name for name in FAMILIES if name not in self._families]))
        self._alter(cluster)

    def _alter(self, cluster: EmbeddedCluster) -> None:
        """To the families that there are to be, in groups by chance. One that is refused may yet come."""
        admin = cluster.client.admin
        try:
            version = admin.schema(TABLE).version + 1
            self._schema_version = max(self._schema_version, version)
            admin.alter_table(TableSchema(TABLE, self._schemas(), version))
        except HbtableError as refusal:
            self._check_refusal(refusal)
            self._promised = {key: set(values) for key, values in self._ever.items()}
            self._families_known = False
            self._read_schema(cluster)
            raise

    def _new_table(self, cluster: EmbeddedCluster) -> None:
        """It has a number of its own, and shares nothing with another."""
        name = b"%b%d" % (LATER, self._life)
        try:
            cluster.client.admin.create_table(TableSchema(name, {b"f": FamilySchema(b"f")}), [b"m"])
            for row in (b"a", b"z"):
                assert cluster.client.table(name).read_rows([row], ReadSpec()) == [], f"{row!r} of a new table is there"
                cluster.client.table(name).mutate([RowMutation(row, [(PUT, b"f", b"v", SERVER_TIME, row)])])
            ids = Counter(record.tablet_id for record in cluster.client.catalog.all_tablet_rows())
        except HbtableError as refusal:
            if not isinstance(refusal, NotFound) and "already" not in str(refusal):
                self._check_refusal(refusal)
            return
        twice = [tablet_id for tablet_id, count in ids.items() if count > 1]
        assert not twice, f"several tablets have one id: {twice}"
        self.count["new tables"] += 1


def names_cells(line: str) -> bool:
    """Whether a repair that tells of this loss may have lost something of the table that there was all the time."""
    return not line.startswith(("tables of which no SSTable tells", f"table {LATER.decode()}"))


def _names(damage: StoreDamage) -> list[str]:
    """What a refusal may call it by. METADATA that is older than it was may name files that are gone since."""
    if damage.path.startswith(LOCKS):
        return [damage.path, damage.path.removeprefix(LOCKS), "lock service", "sstables/", "logs/"]
    if damage.path.startswith("logs/"):
        return [damage.path.rpartition("/")[0], *(["the file is missing"] if damage.unsaid else [])]
    return [damage.path]


def options() -> EmbeddedOptions:
    """Small, as of other simulations; a log's mark is soon written, and a refused call soon answered."""
    small = small_options()
    server = replace(small.server, log=LogOptions(segment_bytes=6000, mark_seconds=0.5))
    return replace(small, server=server, client=ClientOptions(RetryPolicy(deadline_seconds=2.0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="the first; 0: chosen now and printed")
    parser.add_argument("--kinds", nargs="*", default=[], choices=KINDS)
    arguments = parser.parse_args()
    first = arguments.seed or int(time.time())
    print(f"seeds {first} to {first + arguments.seeds - 1}")
    logging.disable(logging.CRITICAL)  # each damage is logged
    total: Counter[str] = Counter()
    for seed in range(first, first + arguments.seeds):
        total += DamagedLives(seed, tuple(arguments.kinds)).run()
    print("no violation; " + ", ".join(f"{name} {count}" for name, count in sorted(total.items())))


if __name__ == "__main__":
    main()
