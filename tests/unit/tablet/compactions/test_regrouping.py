"""Families that are to be grouped anew: all SSTables are read, and one is written for each group."""

from dataclasses import replace

import pytest

from hbtable.errors import OutOfSpace
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.compactions.deleted_meanwhile import CompactionCancelled
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench, everything, put


def families(group: str) -> dict[bytes, FamilySchema]:
    return {name: FamilySchema(name, locality_group=group) for name in (b"f", b"g")}


def sstables(bench: Bench) -> set[str]:
    return {status.path for status in bench.fs.list_files("sstables")}


def without_room(bench: Bench, tablet: Tablet) -> None:
    disk = bench.memory.disk
    disk.capacity_bytes = disk.used_bytes + 150_000  # one of two files fits
    with pytest.raises(OutOfSpace):
        tablet.compact(True)
    disk.capacity_bytes = None


def cancelled(bench: Bench, tablet: Tablet) -> None:
    def compact() -> None:
        with pytest.raises(CompactionCancelled):
            tablet.compact(True)

    task = bench.runtime.spawn(compact)
    while len(sstables(bench)) < 3:  # the old one, a whole one and the one that was begun
        bench.runtime.sleep(0.0001)
    tablet.freeze_for_unload()
    tablet.thaw()
    task.join()
    assert task.error is None


@pytest.mark.parametrize("end_early", [without_room, cancelled])
def test_one_that_ends_after_its_first_file_leaves_nothing_behind(end_early) -> None:
    bench = Bench(schema=TableSchema(b"t", families("both")))
    bench.options = replace(bench.options, output_bytes=1000)

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"%d" % row, family + b":q", b"v" * 5000) for row in range(20) for family in (b"f", b"g")])
        tablet.flush()
        tablet.schema = replace(bench.schema, version=2, families=families(""))
        before, rows = sstables(bench), everything(tablet)
        end_early(bench, tablet)
        assert sstables(bench) == before
        assert not bench.shared.files_in_flight
        tablet.compact(True)
        assert len(sstables(bench) - before) == 2
        assert everything(tablet) == rows

    bench.run(main)
