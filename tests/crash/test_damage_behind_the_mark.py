"""A log damaged from within what its mark covers to its end, or cut off there: nobody can say whose writes stood behind
the mark."""

import random
from collections.abc import Callable

import pytest

from hbtable.commitlog.segments.high_water import decode_high_water
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryDisk
from hbtable.repair.checking import Check
from hbtable.repair.mending import Repair
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.crash.test_damaged_stores import TABLES, killed_after, served, the_log
from tests.harness.disks import disk_copy


@pytest.fixture(scope="module")
def killed_beyond_its_mark() -> MemoryDisk:
    """Table one was written some seconds before the end; tables two and three only after the log's last mark."""
    return killed_after([b"one"], [b"two", b"three"])


def zeros(size: int) -> bytes:
    return bytes(size)


def noise(size: int) -> bytes:
    return random.Random(7).randbytes(size)


def nothing(size: int) -> bytes:
    return b""


Filled = Callable[[int], bytes]


def spoilt_to_its_end(disk: MemoryDisk, filled: Filled) -> None:
    """From within what the mark covers on."""
    (path,) = [path for path in disk.files if path.startswith("logs/") and path.endswith("/synced")]
    mark = decode_high_water(bytes(disk.files[path].content), path)
    content = the_log(disk)
    assert mark.length_bytes * 3 // 2 < len(content)
    start_at = mark.length_bytes * 9 // 10
    content[start_at:] = filled(len(content) - start_at)


@pytest.mark.parametrize("filled", [zeros, noise, nothing])
def test_damage_from_before_the_mark_to_the_end_of_the_log_serves_no_tablet_without_its_writes(
    killed_beyond_its_mark: MemoryDisk, filled: Filled
) -> None:
    disk = disk_copy(killed_beyond_its_mark)
    spoilt_to_its_end(disk, filled)
    rows, messages = served(disk)
    assert rows == 0
    assert len(messages) == 6
    assert all("may have lost writes that were acknowledged" in message for message in messages)


@pytest.mark.parametrize("started_before", [False, True])
@pytest.mark.parametrize("filled", [noise, nothing])
def test_check_and_repair_say_that_what_came_after_the_mark_may_be_of_any_table(
    killed_beyond_its_mark: MemoryDisk, filled: Filled, started_before: bool
) -> None:
    disk = disk_copy(killed_beyond_its_mark)
    spoilt_to_its_end(disk, filled)
    if started_before:
        served(disk)
    runtime = SimulatedRuntime(3)
    fs = MemoryFileSystem(runtime, disk)
    check = Check(runtime, fs)
    runtime.run(check.run)
    (said,) = [finding.consequence for finding in check.findings if "recent writes" in finding.consequence]
    assert all(f"table {name.decode()}, tablet" in said for name in TABLES[:1])
    assert "METADATA," not in said
    assert "after the mark: any table of this server may have lost its last writes" in said
    report = runtime.run(Repair(runtime, fs, fs, "repair-backup-1").run)
    unattributed = [line for line in report.lost if "after the mark: any table of this server may have lost" in line]
    assert len(unattributed) == 1
    assert any("table one" in line for line in report.lost)
    again = Check(runtime, fs)
    runtime.run(again.run)
    assert not again.findings


@pytest.mark.parametrize("filled", [zeros, noise])
def test_what_is_dropped_behind_the_mark_is_noted_by_the_check(
    killed_beyond_its_mark: MemoryDisk, filled: Filled
) -> None:
    """It looks as a crash in the middle of a write does: nothing is damaged by all that can be known."""
    disk = disk_copy(killed_beyond_its_mark)
    (path,) = [path for path in disk.files if path.startswith("logs/") and path.endswith("/synced")]
    mark = decode_high_water(bytes(disk.files[path].content), path)
    content = the_log(disk)
    content[mark.length_bytes :] = filled(len(content) - mark.length_bytes)
    runtime = SimulatedRuntime(3)
    check = Check(runtime, MemoryFileSystem(runtime, disk))
    runtime.run(check.run)
    assert not check.findings
    (note,) = check.notes()
    assert f"{len(content) - mark.length_bytes} bytes" in note
    assert f"byte {mark.length_bytes} of segment 1, as was noted last at 2023-11-14 22:13:2" in note


def test_a_sound_log_is_noted_with_nothing(killed_beyond_its_mark: MemoryDisk) -> None:
    runtime = SimulatedRuntime(3)
    check = Check(runtime, MemoryFileSystem(runtime, disk_copy(killed_beyond_its_mark)))
    runtime.run(check.run)
    assert (check.findings, check.notes()) == ([], [])
