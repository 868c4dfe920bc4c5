"""A store on which any one file is damaged, by seed: each answer is right or says that it cannot be given.

A life of the store: clients write, overwrite and delete rows of a few tables while memtables are flushed, tablets split
and compactions run; then it is stopped in order, or its power is cut. Then one file is flipped, cut, zeroed, lost or
replaced by another of its kind, on a copy of the disk, and the copy goes on: every row is read, written to, flushed,
compacted, and read again after a restart. What no model allows is a row that is missing, old or wrong without an error.
Rows may be old only where the damage begins behind what the log's mark covers: that looks like a torn end.
"""

import random
from collections.abc import Callable, Iterable

import pytest

from hbtable.commitlog.options import LogOptions
from hbtable.commitlog.recovery.gaps import Gap
from hbtable.errors import HbtableError
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryDisk
from hbtable.launch.embedded_cluster import EmbeddedCluster, EmbeddedOptions
from hbtable.lockservice.local import LocalLockService
from hbtable.model.read import ReadSpec
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet import recovery
from hbtable.tablet.damage import DamagedFiles
from hbtable.tablet.options import TabletOptions
from hbtable.tabletserver.maintenance_plan import MaintenanceOptions
from hbtable.tabletserver.role import TabletServerOptions
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.disks import disk_copy
from tests.harness.store_damage import is_behind_the_mark
from tests.harness.tiers import quick_first, taking_turns

pytestmark = pytest.mark.usefixtures("quiet")  # each damage is logged

SEEDS = 30
TABLES = (b"one", b"two")
ROWS = [b"%02d" % number for number in range(40)]


def has_long_log(seed: int) -> bool:
    """Every third store never flushes or splits before its end, so its log has few records of METADATA, and its second
    table is written behind the log's mark alone."""
    return seed % 3 == 0


def options(seed: int) -> EmbeddedOptions:
    room, mark_seconds = (250, 8.0) if has_long_log(seed) else (1, 0.3)
    return EmbeddedOptions(
        TabletServerOptions(
            log=LogOptions(mark_seconds=mark_seconds, segment_bytes=20_000 * room),
            tablet=TabletOptions(memtable_bytes=4000 * room, merge_files=3),
            maintenance=MaintenanceOptions(split_bytes=9000 * room, period_seconds=0.05, retry_seconds=0.5),
        )
    )


Model = dict[tuple[bytes, bytes], bytes]
Past = dict[tuple[bytes, bytes], set[bytes]]
"""All that a row ever held."""


def start(runtime: SimulatedRuntime, disk: MemoryDisk, seed: int) -> EmbeddedCluster:
    fs = MemoryFileSystem(runtime, disk)
    cluster = EmbeddedCluster(runtime, fs, LocalLockService(fs, runtime), options(seed))
    cluster.start()
    return cluster


def lived(seed: int) -> tuple[MemoryDisk, Model, Past]:
    """A store after its life, and what it holds: b"" for a row that is not there."""
    runtime, chance = SimulatedRuntime(seed), random.Random(seed)
    disk, model, past = MemoryDisk(), Model(), Past()

    def main() -> bool:
        cluster = start(runtime, disk, seed)
        family = FamilySchema(b"f", max_versions=1, block_bytes=1024, compression="NONE")
        for name in TABLES:
            cluster.client.admin.create_table(TableSchema(name, {b"f": family}), [b"20"])
        writes = chance.randrange(100, 500)
        for number in range(writes):
            table = TABLES[2 * number // writes] if has_long_log(seed) else chance.choice(TABLES)
            if has_long_log(seed) and number == writes // 2:
                runtime.sleep(10)  # until there is a mark
            row = chance.choice(ROWS)
            if chance.random() < 0.15:
                cluster.client.rows(table).delete(row)
                model[table, row] = b""
            else:
                value = b"%d:" % number + bytes(chance.randrange(20, 200))
                cluster.client.rows(table).put(row, {b"f:a": value})
                model[table, row] = value
            past.setdefault((table, row), {b""}).add(model[table, row])
            runtime.sleep(chance.random() * 0.02)
        if has_long_log(seed):
            return False
        if chance.random() < 0.3:
            cluster.stop()
            return True
        if chance.random() < 0.5:
            runtime.sleep(3)  # until the mark covers everything
        return False

    stopped = runtime.run(main)
    return (disk if stopped else MemoryFileSystem(runtime, disk).crash_clone(chance).disk), model, past


def spoil(disk: MemoryDisk, chance: random.Random, of_logs: float) -> tuple[str, str, int]:
    """One file of the copy; what was done, to which, from which byte on. `of_logs`: how often it is a log, but not its
    mark: without it a cut end cannot be seen."""
    paths = sorted(
        path
        for path, file in disk.files.items()
        if path.startswith(("sstables/", "logs/", "lockservice/")) and file.content and not path.endswith("/synced")
    )
    logs = [path for path in paths if path.startswith("logs/")]
    path = chance.choice(logs if logs and chance.random() < of_logs else paths)
    content = disk.files[path].content
    how = chance.choice(["flip", "cut", "zero", "zero to its end", "lose", "swap"])
    at = chance.randrange(len(content)) if how not in ("lose", "swap") else 0
    if how == "flip":
        content[at] ^= 1 << chance.randrange(8)
    elif how == "cut":
        del content[at:]
    elif how == "zero":
        content[at : at + 4096] = bytes(len(content[at : at + 4096]))
    elif how == "zero to its end":
        content[at:] = bytes(len(content) - at)
    elif how == "lose":
        del disk.files[path]
    else:
        kind = path.split("/")[0]
        content[:] = disk.files[chance.choice([one for one in paths if one.startswith(kind)])].content
    return how, path, at


def check(cluster: EmbeddedCluster, model: Model, allowed: Past, where: str) -> int:
    """How many rows were refused. AssertionError: a wrong answer."""
    refused = 0
    for table in TABLES:
        for row in ROWS:
            key = (table, row)
            try:
                found = cluster.client.table(table).read_rows([row], ReadSpec())
            except HbtableError:
                refused += 1
                continue
            value = found[0][1][0][2] if found else b""
            right = allowed.get(key) or {model.get(key, b"")}
            assert value in right, f"{where}: {table!r} {row!r} is {value[:20]!r}"
    return refused


def outcome(seed: int) -> tuple[str, int]:
    """What was spoiled, and how many rows were refused for it; all when the store did not open."""
    disk, model, past = lived(seed)
    chance = random.Random(f"spoil {seed}")
    copy = disk_copy(disk)
    how, path, at = spoil(copy, chance, of_logs=0.9 if has_long_log(seed) else 0.3)
    where = f"seed {seed}: {how} {path} from byte {at} on"
    allowed: Past = dict(past) if is_behind_the_mark(disk.files, path, at) else {}

    def damaged_life(runtime: SimulatedRuntime) -> int:
        try:
            cluster = start(runtime, copy, seed)
        except HbtableError:
            return len(TABLES) * len(ROWS)
        refused = check(cluster, model, allowed, where)
        for table in TABLES:
            for row in chance.sample(ROWS, 10):
                value = b"later %d" % chance.randrange(10**6)
                try:
                    cluster.client.rows(table).put(row, {b"f:a": value})
                except HbtableError:
                    continue
                allowed[table, row] = {value}
            for work in (cluster.client.admin.flush, cluster.client.admin.major_compact):
                try:
                    work(table)
                except HbtableError:
                    continue
        runtime.sleep(1)
        check(cluster, model, allowed, f"{where}, later")
        if chance.random() < 0.5:
            cluster.stop()
        return refused

    refused = 0
    for life in range(2):
        runtime = SimulatedRuntime(seed * 10 + life)
        refused = max(refused, runtime.run(damaged_life, runtime))
    return where, refused


def outcomes(seeds: Iterable[int]) -> dict[str, int]:
    return dict(outcome(seed) for seed in seeds)


def test_the_undamaged_store_is_right() -> None:
    for seed in range(4):
        disk, model, _ = lived(seed)
        runtime = SimulatedRuntime(seed)
        assert (
            runtime.run(lambda disk=disk, model=model, runtime=runtime: check(start(runtime, disk, 0), model, {}, ""))
            == 0
        )


@pytest.mark.parametrize("seeds", quick_first([range(SEEDS // 2), range(SEEDS // 2, SEEDS)], 0, 1))
def test_whatever_file_is_damaged_no_answer_is_wrong(seeds: range) -> None:
    refused = outcomes(seeds)
    everything = len(TABLES) * len(ROWS)
    assert any(0 < rows < everything for rows in refused.values())
    assert sum(rows == everything for rows in refused.values()) < len(seeds) // 2, refused


def _forgives(gap: Gap, tablet_id: int, first_needed: int) -> bool:
    """A planted bug: what a log lost is passed over."""
    return False


def _believes_the_mark(gap: Gap, tablet_id: int, first_needed: int, behind_the_mark: bool = True) -> bool:
    """A planted bug: nothing was written behind a mark."""
    return _MAY_HAVE_LOST(gap, tablet_id, first_needed, False)


_MAY_HAVE_LOST = Gap.may_have_lost


@pytest.mark.parametrize("bug", taking_turns(["forgiving", "passing over", "believing the mark"], 3))
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if bug == "forgiving":
        monkeypatch.setattr(Gap, "may_have_lost", _forgives)
    elif bug == "believing the mark":
        monkeypatch.setattr(Gap, "may_have_lost", _believes_the_mark)
    else:
        real: Callable[..., object] = recovery._open_files

        def open_some(state: object) -> None:
            """A file that cannot be opened is no file."""
            real(state)
            version = state.version  # type: ignore[attr-defined]
            for stack in version.stacks:
                stack.files = tuple(
                    file for file in stack.files if not isinstance(file.reader, recovery.UnreadableFile)
                )

        monkeypatch.setattr(recovery, "_open_files", open_some)
        monkeypatch.setattr(DamagedFiles, "told", lambda self, error: error)
    with pytest.raises(AssertionError, match="seed"):
        outcomes(range(10 * SEEDS))
