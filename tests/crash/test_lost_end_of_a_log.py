"""The last log lost all its groups, and no mark tells of them: METADATA, which comes out older than its files, does."""

import pytest

from hbtable.fs.interface import HDFS, LOCAL
from hbtable.fs.memory_disk import MemoryContent, MemoryDisk
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.campaigns.damage_life import start
from tests.campaigns.damage_store import file_system, repair_store
from tests.harness.disks import disk_copy

pytestmark = pytest.mark.usefixtures("quiet")  # each damage is logged

TABLE = b"t"


def user_files(disk: MemoryDisk) -> set[str]:
    return {path for path in disk.files if path.startswith("sstables/") and "/00000000/" not in path}


def lived(kind: str) -> MemoryDisk:
    """METADATA's SSTables name two files; that they were compacted into a third one, and collected, is in the log, with
    a row of a user."""
    disk = MemoryDisk()
    runtime = SimulatedRuntime(1)

    def first() -> None:
        cluster = start(runtime, file_system(runtime, disk, kind))
        cluster.client.admin.create_table(TableSchema(TABLE, {b"f": FamilySchema(b"f")}))
        for value in (b"1", b"2"):
            cluster.client.rows(TABLE).put(value, {b"f:a": value})
            cluster.client.admin.flush(TABLE)
        cluster.stop()

    runtime.run(first)
    old = user_files(disk)
    runtime = SimulatedRuntime(2)

    def second() -> MemoryDisk:
        cluster = start(runtime, file_system(runtime, disk, kind))
        cluster.client.admin.major_compact(TABLE)
        cluster.client.rows(TABLE).put(b"late", {b"f:a": b"3"})
        return disk_copy(disk)

    killed = runtime.run(second)
    assert user_files(killed) - old
    for path in old & user_files(killed):
        del killed.files[path]
    return killed


@pytest.mark.parametrize("kind", [LOCAL, HDFS])
def test_what_users_wrote_last_is_counted_as_lost(kind: str) -> None:
    disk = lived(kind)
    for path in [path for path in disk.files if path.startswith("logs/")]:
        if path.endswith("/synced"):
            del disk.files[path]
        else:
            disk.files[path] = MemoryContent(b"", 0, 0)
    runtime = SimulatedRuntime(3)
    report = runtime.run(repair_store, runtime, file_system(runtime, disk, kind))
    assert any("takes its place" in message for message in report.done)
    assert any("which went on once" in message for message in report.lost)


@pytest.mark.parametrize("kind", [LOCAL, HDFS])
def test_a_log_that_can_be_read_is_not_counted(kind: str) -> None:
    runtime = SimulatedRuntime(3)
    assert runtime.run(repair_store, runtime, file_system(runtime, lived(kind), kind)).lost == []
