"""The wall clock of a store: the master's garbage does not grow old by a jump, and a start says what looks wrong."""

import logging
from dataclasses import replace

import pytest

from hbtable.fs.memory import MemoryFileSystem
from hbtable.fs.memory_disk import MemoryDisk
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.lockservice.local import LocalLockService
from hbtable.master.files.collector import CollectorOptions
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.campaigns.simulation import small_options

DAY_MILLIS = 86_400_000


def start(runtime: SimulatedRuntime, disk: MemoryDisk) -> EmbeddedCluster:
    fs = MemoryFileSystem(runtime, disk)
    options = replace(small_options(), collector=CollectorOptions(period_seconds=1.0, trash_seconds=60.0))
    cluster = EmbeddedCluster(runtime, fs, LocalLockService(fs, runtime), options)
    cluster.start()
    return cluster


@pytest.mark.parametrize("jump_millis", [400 * DAY_MILLIS, -400 * DAY_MILLIS])
def test_a_jump_of_the_clock_empties_no_trash_and_keeps_none(jump_millis: int) -> None:
    runtime, disk = SimulatedRuntime(1), MemoryDisk()

    def trash() -> int:
        return sum(path.startswith("trash/") for path in disk.files)

    def main() -> None:
        cluster = start(runtime, disk)
        cluster.client.admin.create_table(TableSchema(b"t", {b"f": FamilySchema(b"f")}))
        for number in range(5):
            cluster.client.rows(b"t").put(b"r", {b"f:a": b"%d" % number})
            cluster.client.admin.flush(b"t")
        cluster.client.admin.major_compact(b"t")
        runtime.sleep(5.0)
        held = trash()
        assert held > 0
        runtime.wall_offset_millis = jump_millis
        runtime.sleep(10.0)
        assert trash() >= held
        runtime.sleep(120.0)
        assert trash() == 0
        runtime.wall_offset_millis = 0
        cluster.stop()

    runtime.run(main)


@pytest.mark.parametrize(("days", "said"), [(0, False), (10, False), (400, True)])
def test_a_start_says_if_the_clock_is_far_ahead_of_all_that_was_written(
    days: int, said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    disk = MemoryDisk()
    for life, offset in enumerate((0, days * DAY_MILLIS)):
        runtime = SimulatedRuntime(life)
        runtime.wall_offset_millis = offset + life * 60_000
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            runtime.run(lambda runtime=runtime: start(runtime, disk).stop())
    assert ("set the clock right, before compactions drop" in caplog.text) == said
