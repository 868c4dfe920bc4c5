"""A repair that is killed at any call: the next one takes it back, and says all that is lost."""

import logging
import random
from typing import NamedTuple

import pytest

from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryDisk
from hbtable.repair.backup import UNFINISHED_REPAIR
from hbtable.repair.lock_store import FolderLockStore
from hbtable.repair.mending import Repair
from hbtable.repair.report import Report
from hbtable.repair.taking_back import take_back
from hbtable.testing.simulated.runtime import SimulatedRuntime
from hbtable.testing.simulated.scheduler import SimulatedCrash
from tests.campaigns.crash_points import CrashingFileSystem
from tests.campaigns.damage_life import QUICK, live
from tests.harness.disks import disk_copy

pytestmark = pytest.mark.usefixtures("quiet")  # each damage is logged

SEED = 7


class Tried(NamedTuple):
    """One repair: what is left, and its report if it came to its end."""

    disk: MemoryDisk
    report: Report | None


def repaired(disk: MemoryDisk, run: int, crash_at: int = 0) -> Tried:
    """As the command does it: first whatever was interrupted is taken back."""
    runtime = SimulatedRuntime(SEED + run, QUICK)
    fs = CrashingFileSystem(MemoryFileSystem(runtime, disk_copy(disk)), runtime, random.Random(crash_at), crash_at)

    def main() -> Report:
        for status in fs.list_files(""):
            if status.path.endswith(f"/{UNFINISHED_REPAIR}"):
                take_back(fs, FolderLockStore(fs), status.path.split("/")[0])
        return Repair(runtime, fs, fs, f"repair-backup-{run}").run()

    try:
        return Tried(fs.inner.disk, runtime.run(main))
    except SimulatedCrash:
        assert fs.survivor is not None
        return Tried(fs.survivor.disk, None)


def is_interrupted(disk: MemoryDisk) -> bool:
    return any(path.endswith(f"/{UNFINISHED_REPAIR}") for path in disk.files)


@pytest.fixture(scope="module")
def damaged() -> MemoryDisk:
    """A folder of a killed server, without an SSTable of which nothing brings back what it held."""
    logging.disable(logging.CRITICAL)
    whole = live(SEED, stopped=False).disk
    for path in sorted(whole.files):
        disk = disk_copy(whole)
        del disk.files[path]
        if path.startswith("sstables/") and not path.startswith("sstables/00000000/"):
            report = repaired(disk, 1).report
            if report is not None and report.lost:
                return disk
    raise AssertionError("no file counts")


def test_a_repair_that_is_killed_and_run_again_says_what_is_lost(damaged: MemoryDisk) -> None:
    expected = repaired(damaged, 1).report
    assert expected is not None
    again = 0
    for crash_at in range(1, 1000):
        first = repaired(damaged, 1, crash_at)
        if first.report is not None:
            break
        if not is_interrupted(first.disk):
            continue  # it was killed before it changed anything, or behind its last change
        # Killed again on its way, which is taking back or repairing.
        second = repaired(first.disk, 2, crash_at % 7 + 1)
        if second.report is None and is_interrupted(second.disk):
            last = repaired(second.disk, 3)
            assert last.report is not None
            assert last.report.lost == expected.lost, f"killed at call {crash_at}"
            again += 1
    assert again > 5
