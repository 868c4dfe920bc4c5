"""What was written while the clock was ahead, in an SSTable that is damaged: what is written later is newer, beside the
damaged file and after a repair."""

import pytest

from hbtable.errors import DataDamaged
from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryContent, MemoryDisk
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.lockservice.local import LocalLockService
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import ReadSpec
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.repair.mending import Repair
from hbtable.testing.simulated.runtime import SimulatedRuntime

TABLE = b"t"
DAY_MILLIS = 86_400_000


def start(runtime: SimulatedRuntime, disk: MemoryDisk) -> EmbeddedCluster:
    fs = MemoryFileSystem(runtime, disk)
    cluster = EmbeddedCluster(runtime, fs, LocalLockService(fs, runtime))
    cluster.start()
    return cluster


def put(cluster: EmbeddedCluster, row: bytes, value: bytes, millis: int = SERVER_TIME) -> None:
    cluster.client.table(TABLE).mutate([RowMutation(row, [(PUT, b"f", b"q", millis, value)])])


def only_cell(cluster: EmbeddedCluster, row: bytes) -> tuple[int, bytes]:
    """(time, value)"""
    ((_, ((_, millis, value),)),) = cluster.client.table(TABLE).read_rows([row], ReadSpec())
    return millis, value


def written_with_the_clock_ahead(millis: int, chosen_millis: int) -> MemoryDisk:
    """A folder whose only user SSTable has lost its footer, and with it the properties. One of its cells has a time
    that a client chose."""
    runtime, disk = SimulatedRuntime(1), MemoryDisk()
    runtime.wall_offset_millis = millis

    def main() -> None:
        cluster = start(runtime, disk)
        cluster.client.admin.create_table(TableSchema(TABLE, {b"f": FamilySchema(b"f")}))
        put(cluster, b"r", b"old")
        put(cluster, b"chosen", b"value", chosen_millis)
        cluster.stop()

    runtime.run(main)
    (path,) = (path for path in disk.files if path.startswith("sstables/0000001"))
    disk.files[path].content[-3] ^= 1
    return disk


def test_a_put_is_not_hidden_below_what_was_saved() -> None:
    disk = written_with_the_clock_ahead(400 * DAY_MILLIS, chosen_millis=1)
    runtime = SimulatedRuntime(2)

    def main() -> None:
        fs = MemoryFileSystem(runtime, disk)
        report = Repair(runtime, fs, fs, "repair-backup-1").run()
        assert any("2 cells of table t were saved" in line for line in report.done), report.done
        cluster = start(runtime, disk)
        assert only_cell(cluster, b"r")[1] == b"old"
        put(cluster, b"r", b"new")
        assert only_cell(cluster, b"r")[1] == b"new"
        cluster.stop()

    runtime.run(main)


def test_a_time_that_a_client_chose_moves_no_clock() -> None:
    disk = written_with_the_clock_ahead(0, chosen_millis=10**15)
    runtime = SimulatedRuntime(2)

    def main() -> None:
        fs = MemoryFileSystem(runtime, disk)
        Repair(runtime, fs, fs, "repair-backup-1").run()
        cluster = start(runtime, disk)
        assert only_cell(cluster, b"chosen") == (10**15, b"value")
        put(cluster, b"r", b"new")
        millis, value = only_cell(cluster, b"r")
        assert value == b"new"
        assert millis < runtime.wall_millis() + DAY_MILLIS
        cluster.stop()

    runtime.run(main)


@pytest.mark.parametrize("is_lost", [True, False], ids=["lost", "cut"])
def test_a_put_is_not_hidden_by_a_file_that_comes_back(is_lost: bool) -> None:
    disk = MemoryDisk()
    runtime = SimulatedRuntime(1)
    runtime.wall_offset_millis = 400 * DAY_MILLIS

    def fill() -> None:
        cluster = start(runtime, disk)
        cluster.client.admin.create_table(TableSchema(TABLE, {b"f": FamilySchema(b"f")}))
        put(cluster, b"r", b"old")
        cluster.stop()

    runtime.run(fill)
    (path,) = (path for path in disk.files if path.startswith("sstables/0000001"))
    right = disk.files.pop(path)
    if not is_lost:
        half = bytes(right.content[: len(right.content) // 2])
        disk.files[path] = MemoryContent(half, len(half), right.modified_millis)
    second = SimulatedRuntime(2)

    def write() -> None:
        cluster = start(second, disk)
        with pytest.raises(DataDamaged, match=path):
            only_cell(cluster, b"r")
        put(cluster, b"r", b"new")
        cluster.stop()

    second.run(write)
    disk.files[path] = right
    third = SimulatedRuntime(3)

    def read() -> None:
        cluster = start(third, disk)
        assert only_cell(cluster, b"r")[1] == b"new"
        cluster.stop()

    third.run(read)
