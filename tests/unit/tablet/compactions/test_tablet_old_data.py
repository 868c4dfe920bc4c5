"""Expired, overwritten and deleted cells leave the SSTables in time, without anybody's asking."""

from dataclasses import replace

import pytest

from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.read import ReadSpec, ScanRequest
from hbtable.model.schema import MAJOR_COMPACTION, FamilySchema, TableSchema
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench, VanishingFileSystem, delete, everything, put

PERIOD = 60.0
"""Between major compactions: a week would be longer than a simulation may take."""


@pytest.fixture(autouse=True)
def often(bench: Bench) -> None:
    bench.options = TabletOptions(major_compaction_seconds=PERIOD)


def settle(tablet: Tablet) -> int:
    """How many compactions were due."""
    for done in range(20):
        if not tablet.needs_compaction() and not tablet.needs_major():
            return done
        tablet.compact(False)
    raise AssertionError("compactions do not come to an end")


def stored(bench: Bench, tablet: Tablet, value: bytes) -> bool:
    """Whether an SSTable that the record names holds the bytes."""
    return any(value in bench.fs.read_file(ref.path) for _, refs in tablet.record.files for ref in refs)


def test_wide_rows_that_were_deleted_go_at_once(bench: Bench) -> None:
    """A tenth of the cells are markers, and mask all others."""
    bench.schema = TableSchema(b"t", {b"f": FamilySchema(b"f")})

    def main() -> None:
        tablet = bench.open()
        for row in range(2000):
            tablet.mutate([put(b"%05d" % row, b"f:%d" % column, b"value") for column in range(10)])
        tablet.flush()
        tablet.mutate([delete(b"%05d" % row, b"f") for row in range(2000)])
        tablet.flush()
        assert "2000 of 22000 cells are delete markers, which mask about" in tablet.needs_compaction()
        settle(tablet)
        assert tablet.sstable_bytes() == 0

    bench.run(main)


def test_markers_that_have_done_their_work_rewrite_nothing(bench: Bench) -> None:
    """Of rows that were put and deleted within one memtable."""

    def main() -> None:
        tablet = bench.open()
        for row in range(2000):
            tablet.mutate([put(b"live%05d" % row, b"f:%d" % column, b"value") for column in range(10)])
        tablet.flush()
        for row in range(1500):
            tablet.mutate([put(b"dead%05d" % row, b"f:%d" % column, b"value") for column in range(10)])
        tablet.mutate([delete(b"dead%05d" % row, b"f") for row in range(1500)])
        tablet.flush()
        assert tablet.needs_compaction() == ""

    bench.run(main)


def test_a_file_in_which_everything_has_expired_goes_unread(bench: Bench) -> None:
    bench.schema = TableSchema(b"t", {b"f": FamilySchema(b"f", ttl_seconds=10)})
    reads = []
    bench.fs = VanishingFileSystem(bench.memory, lambda: reads.append(1))

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"%05d" % row, b"f:q", b"value") for row in range(100)])
        tablet.flush()
        bench.runtime.sleep(5)
        tablet.mutate([put(b"later", b"f:q", b"value")])
        tablet.flush()
        assert tablet.needs_compaction() == ""
        bench.runtime.sleep(6)
        seen = len(reads)
        assert "expired" in tablet.needs_compaction()
        assert settle(tablet) == 1
        assert len(reads) == seen
        assert tablet.status().sstables == 1
        assert [row for row, _ in everything(tablet)] == [b"later"]
        bench.runtime.sleep(6)
        assert settle(tablet) == 1
        assert tablet.status().sstables == 0

    bench.run(main)


@pytest.mark.parametrize("kept", [FamilySchema(b"f"), FamilySchema(b"f", ttl_seconds=10, min_versions=1)])
def test_a_family_that_keeps_something_keeps_its_file(bench: Bench, kept: FamilySchema) -> None:
    bench.schema = TableSchema(
        b"t", {b"f": replace(kept, locality_group="g"), b"g": FamilySchema(b"g", ttl_seconds=10, locality_group="g")}
    )

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:q", b"value"), put(b"r", b"g:q", b"value")])
        tablet.flush()
        bench.runtime.sleep(25)
        assert settle(tablet) == 0
        assert len(everything(tablet)) == 1

    bench.run(main)


def test_what_is_gone_for_the_reader_is_gone_from_the_files_in_time(bench: Bench) -> None:
    bench.schema = TableSchema(b"t", {b"f": FamilySchema(b"f", max_versions=1)})

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"%05d" % row, b"f:q", b"lasting") for row in range(5000)])
        tablet.mutate([put(b"deleted", b"f:q", b"SECRET1"), put(b"written", b"f:q", b"SECRET2")])
        tablet.flush()
        assert settle(tablet) == 0
        bench.runtime.sleep(5 * PERIOD)
        assert settle(tablet) == 0  # nothing in it can go: it is not rewritten every week
        tablet.mutate([delete(b"deleted", b"f"), put(b"written", b"f:q", b"anew")])
        tablet.flush()
        before = everything(tablet)
        assert settle(tablet) == 0
        assert stored(bench, tablet, b"SECRET1")
        bench.runtime.sleep(1.5 * PERIOD + 1)
        assert tablet.needs_compaction() == ""
        assert "its oldest change waits since" in tablet.needs_major()
        assert settle(tablet) == 1
        assert not stored(bench, tablet, b"SECRET1")
        assert not stored(bench, tablet, b"SECRET2")
        assert everything(tablet) == before
        bench.runtime.sleep(5 * PERIOD)
        assert settle(tablet) == 0

    bench.run(main)


def test_cells_with_a_time_to_live_of_their_own_go_in_time(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        mortal = put(b"r", b"f:q", b"SECRET")
        mortal.ttl_millis = 1000
        tablet.mutate([mortal])
        tablet.flush()
        bench.runtime.sleep(1.5 * PERIOD + 1)
        settle(tablet)
        assert not stored(bench, tablet, b"SECRET")

    bench.run(main)


@pytest.mark.parametrize(
    ("given", "options", "due"), [("60000", 0.0, True), ("0", 1.0, False), ("?", 1.0, True), ("9" * 5000, 1.0, True)]
)
def test_a_tables_own_period_counts_first(bench: Bench, given: str, options: float, due: bool) -> None:
    bench.options = TabletOptions(major_compaction_seconds=options)
    bench.schema = TableSchema(b"t", {b"f": FamilySchema(b"f")}, attributes=((MAJOR_COMPACTION, given),))

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([delete(b"r", b"f")])
        tablet.flush()
        bench.runtime.sleep(91)
        assert bool(tablet.needs_major()) == due

    bench.run(main)


def test_a_schema_that_keeps_less_is_obeyed_in_time(bench: Bench) -> None:
    bench.schema = TableSchema(b"t", {b"f": FamilySchema(b"f", max_versions=3)})

    def main() -> None:
        tablet = bench.open()
        for number in range(3):
            bench.runtime.sleep(1)
            tablet.mutate([put(b"r", b"f:q", b"SECRET%d" % number)])
        tablet.flush()
        tablet.schema = TableSchema(b"t", {b"f": FamilySchema(b"f", max_versions=1)}, version=2)
        bench.runtime.sleep(1.5 * PERIOD + 1)
        assert settle(tablet) == 1
        assert not stored(bench, tablet, b"SECRET1")
        assert stored(bench, tablet, b"SECRET2")
        assert settle(tablet) == 0

    bench.run(main)


def test_raised_times_to_live_bring_nothing_deleted_back(bench: Bench) -> None:
    """An expired marker stays while an older file does, because somebody may raise the time to live."""
    bench.schema = TableSchema(b"t", {b"f": FamilySchema(b"f", ttl_seconds=10)})
    asked = ScanRequest(spec=ReadSpec(max_timestamp=MAX_TIMESTAMP))

    def main() -> None:
        tablet = bench.open()
        now = bench.shared.wall.millis()
        tablet.mutate([put(b"r", b"f:deleted", b"old", now), put(b"r", b"f:q", b"of the future", now + 60_000)])
        tablet.flush()
        tablet.mutate([delete(b"r", b"f:deleted", now)])
        tablet.flush()
        bench.runtime.sleep(20)
        settle(tablet)
        tablet.schema = TableSchema(b"t", {b"f": FamilySchema(b"f")}, version=2)
        assert [[cell[0] for cell in cells] for _, cells in everything(tablet, asked)] == [[b"f:q"]]

    bench.run(main)
