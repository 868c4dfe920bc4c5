"""METADATA made anew from SSTables alone: what cannot be known is said, and the exit code counts it."""

import pytest

from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryDisk
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.repair.mending import Repair
from hbtable.repair.report import Report
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.crash.test_damaged_stores import start
from tests.harness.disks import disk_copy

pytestmark = pytest.mark.usefixtures("quiet")  # each damage is logged

NAMES = (b"full", b"empty", b"dropped", b"late")


def lived() -> tuple[MemoryDisk, dict[bytes, int]]:
    """A table with rows in SSTables, empty ones, and one that was dropped, after an orderly stop. With their ids."""
    runtime = SimulatedRuntime(1)
    disk = MemoryDisk()

    def main() -> dict[bytes, int]:
        cluster = start(runtime, disk)
        for name in NAMES:
            cluster.client.admin.create_table(TableSchema(name, {b"f": FamilySchema(b"f")}))
        ids = {record.schema.name: record.table_id for record in cluster.client.catalog.tables()}
        cluster.client.rows(b"full").put(b"r", {b"f:a": b"1"})
        cluster.client.admin.disable_table(b"dropped")
        cluster.client.admin.delete_table(b"dropped")
        cluster.stop()
        return ids

    return disk, runtime.run(main)


def write_late(disk: MemoryDisk) -> None:
    """A second life, which is killed: its row is in the log alone."""
    runtime = SimulatedRuntime(2)
    runtime.run(lambda: start(runtime, disk).client.rows(b"late").put(b"r", {b"f:a": b"1"}))


def repaired(disk: MemoryDisk, *lost: str) -> Report:
    copy = disk_copy(disk)
    for path in list(copy.files):
        if path.startswith(lost):
            del copy.files[path]
    runtime = SimulatedRuntime(2)
    fs = MemoryFileSystem(runtime, copy)
    return runtime.run(Repair(runtime, fs, fs, "repair-backup-1").run)


METADATA = ("metadata/", "sstables/00000000/", "lockservice/files/root-tablet")


def test_tables_of_which_nothing_is_left_are_counted_as_lost() -> None:
    disk, ids = lived()
    report = repaired(disk, *METADATA, "logs/")
    missing = sorted(ids.values())
    missing.remove(ids[b"full"])
    (message,) = report.lost
    assert "unless they were dropped" in message
    assert message.endswith(f"their ids are {missing[0]} to {missing[-1]}")
    assert any("cells that were deleted and tables that were dropped" in message for message in report.done)


def test_rows_of_a_table_that_only_a_log_tells_of_are_counted_as_lost() -> None:
    disk, _ = lived()
    write_late(disk)
    report = repaired(disk, *METADATA)
    assert any("1 log records of tablet" in message and "of an unknown table" in message for message in report.lost)
    assert any("unless they were dropped" in message for message in report.lost)


def test_where_only_the_root_record_was_lost_nothing_is_unknown() -> None:
    disk, _ = lived()
    report = repaired(disk, "lockservice/files/root-tablet")
    assert report.lost == []
    assert not any("may be back" in message for message in report.done)
