"""A log damaged from within what its mark covers to its end, or cut off there: nobody can say whose writes stood behind
the mark."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from hbtable.commitlog.segments.high_water import decode_high_water
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryDisk
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.repair.checking import Check
from hbtable.repair.mending import Repair
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.crash.test_damaged_stores import ROWS, TABLES, killed_after, refusal, start, the_log
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


def spoilt_to_its_end(disk: MemoryDisk, filled: Filled, less: int = 0) -> None:
    """From within what the mark covers on; a tenth of that, or `less` bytes."""
    (path,) = [path for path in disk.files if path.startswith("logs/") and path.endswith("/synced")]
    mark = decode_high_water(bytes(disk.files[path].content), path)
    content = the_log(disk)
    assert less or mark.length_bytes * 3 // 2 < len(content)
    start_at = mark.length_bytes - (less or mark.length_bytes // 10)
    content[start_at:] = filled(len(content) - start_at)


@pytest.mark.parametrize("filled", [zeros, noise, nothing])
def test_damage_from_before_the_mark_to_the_end_of_the_log_serves_nothing_without_its_writes(
    killed_beyond_its_mark: MemoryDisk, filled: Filled
) -> None:
    disk = disk_copy(killed_beyond_its_mark)
    spoilt_to_its_end(disk, filled)
    message = refusal(disk)
    assert "METADATA is not served" in message
    assert "may have lost writes that were acknowledged" in message


def test_a_change_of_a_schema_behind_the_mark_is_not_missed_without_a_word() -> None:
    """The table is disabled: its tablets need no log. By its old row it has the family that was dropped, and cells."""
    runtime = SimulatedRuntime(1)
    disk = MemoryDisk()
    families = {name: FamilySchema(name) for name in (b"f", b"g")}
    row = {b"f:a": b"1", b"g:a": b"2"}

    def main() -> None:
        cluster = start(runtime, disk)
        admin = cluster.client.admin
        admin.create_table(TableSchema(b"one", families))
        cluster.client.rows(b"one").put(b"r", row)
        admin.flush(b"one")
        admin.disable_table(b"one")
        admin.create_table(TableSchema(b"two", {b"f": families[b"f"]}))
        cluster.client.rows(b"two").put(
            b"r", {b"f:a": b"1"}
        )  # the last group that the mark covers is none of METADATA's
        runtime.sleep(5)  # until there is a mark
        schema = admin.schema(b"one")
        admin.alter_table(replace(schema, families={b"f": families[b"f"]}, version=schema.version + 1))
        assert set(admin.schema(b"one").families) == {b"f"}

    runtime.run(main)
    spoilt_to_its_end(disk, nothing, less=1)
    message = refusal(disk)
    assert "METADATA is not served" in message
    assert "run `hbtable repair`" in message


def test_what_is_refused_for_it_is_served_after_a_repair(killed_beyond_its_mark: MemoryDisk) -> None:
    disk = disk_copy(killed_beyond_its_mark)
    spoilt_to_its_end(disk, nothing)
    runtime = SimulatedRuntime(3)
    fs = MemoryFileSystem(runtime, disk)
    report = runtime.run(Repair(runtime, fs, fs, "repair-backup-1").run)
    assert report.lost

    def found() -> list[int]:
        client = start(runtime, disk).client
        return [sum(bool(client.rows(name).row(row)) for row in ROWS) for name in TABLES]

    one, *others = runtime.run(found)
    assert 0 < one < len(ROWS)
    assert others == [0, 0], "written behind the mark"


@pytest.mark.parametrize("started_before", [False, True])
@pytest.mark.parametrize("filled", [noise, nothing])
def test_check_and_repair_say_that_what_came_after_the_mark_may_be_of_any_table(
    killed_beyond_its_mark: MemoryDisk, filled: Filled, started_before: bool
) -> None:
    disk = disk_copy(killed_beyond_its_mark)
    spoilt_to_its_end(disk, filled)
    if started_before:
        refusal(disk)
    runtime = SimulatedRuntime(3)
    fs = MemoryFileSystem(runtime, disk)
    check = Check(runtime, fs)
    runtime.run(check.run)
    (said,) = [finding.consequence for finding in check.findings if "recent writes" in finding.consequence]
    assert all(f"table {name.decode()}, tablet" in said for name in TABLES[:1])
    assert "METADATA" in said
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
