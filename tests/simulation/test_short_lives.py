"""Garbage is bounded by bytes and goes at every start and stop, so that a process which never lives as long as a period
of collections leaves no more than one that does."""

from dataclasses import replace

import pytest

from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.master.files.collector import CollectorOptions
from tests.harness.tiers import quick_first
from tests.simulation.conftest import SMALL, Machine

TRASH_BYTES = 100_000
OPTIONS = replace(SMALL, collector=CollectorOptions(period_seconds=1e6, period_bytes=100_000, trash_bytes=TRASH_BYTES))
"""The period alone would never collect anything."""
LIVE_ROWS = 200  # of 100 bytes: about 30 KB in an SSTable


def folder_bytes(machine: Machine, folder: str) -> int:
    return sum(status.length_bytes for status in machine.fs.list_files(folder))


@pytest.mark.parametrize("clean", quick_first([True, False], 1))
def test_forty_short_lives_leave_no_more_than_the_bounds(clean: bool) -> None:
    machine = Machine(4, OPTIONS)

    def life(cluster: EmbeddedCluster) -> None:
        admin = cluster.client.admin
        if b"t" not in admin.table_names():
            admin.create_table(machine.schema())
        machine.write(cluster, range(LIVE_ROWS))
        machine.runtime.sleep(2.0)  # cycles of the master; recovery from the last log ends with a flush

    for number in range(40):
        machine.life(life, clean)
        logs = {status.path.split("/")[1] for status in machine.fs.list_files("logs")}
        assert len(logs) <= 2, f"life {number}: {logs}"
        assert folder_bytes(machine, "trash") <= TRASH_BYTES
    # What merges have not come to yet is no garbage: some files of 30 KB, not forty.
    assert folder_bytes(machine, "sstables") < 500_000
    assert machine.life(machine.contents) == machine.expected(range(LIVE_ROWS))


def test_one_long_life_collects_by_bytes() -> None:
    machine = Machine(5, OPTIONS)

    def life(cluster: EmbeddedCluster) -> None:
        cluster.client.admin.create_table(machine.schema())
        highest = 0
        for _ in range(60):
            machine.write(cluster, range(LIVE_ROWS))
            cluster.client.admin.flush(b"t")
            machine.runtime.sleep(2.0)
            highest = max(highest, folder_bytes(machine, "sstables") + folder_bytes(machine, "trash"))
        # Not collected it would be 60 flushes of 30 KB and what merges wrote: above 4 MB.
        assert highest < 1_000_000, highest

    machine.life(life)
