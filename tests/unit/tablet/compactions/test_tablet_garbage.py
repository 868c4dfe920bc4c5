"""What is deleted goes, so that what reads look at stays small, however much was deleted before."""

import random

import pytest

from hbtable.errors import Unavailable
from hbtable.model.read import ReadSpec, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.tablet import Tablet
from tests.harness.planted_bugs import is_found
from tests.harness.tablet_bench import Bench, delete, everything, put, values


def maintain(tablet: Tablet) -> int:
    """What a tablet server's maintenance does of its own accord; how much of it."""
    done = 0
    while tablet.needs_flush() or tablet.needs_compaction():
        if tablet.needs_flush():
            tablet.flush()
        else:
            tablet.compact(False)
        done += 1
        assert done < 100, "maintenance does not come to an end"
    return done


@pytest.mark.slow
def test_the_head_of_a_queue_stays_cheap(bench: Bench) -> None:
    """A consumer takes the first item, and deletes it. Without maintenance it looks at twice as many cells as items."""

    def main() -> None:
        tablet = bench.open()
        worst = done = 0
        for number in range(2000):
            tablet.mutate([put(b"%08d" % number, b"f:item", b"")])
            before = tablet.cells_examined
            assert [row for row, _ in tablet.scan(ScanRequest(max_rows=1)).rows] == [b"%08d" % number]
            worst = max(worst, tablet.cells_examined - before)
            tablet.mutate([delete(b"%08d" % number, b"f")])
            done += maintain(tablet)
        assert worst < 2000
        assert done < 40  # files and compactions are not for nothing, either
        assert everything(tablet) == []

    bench.run(main)


def test_a_queue_that_is_seldom_scanned_is_flushed_by_its_markers(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        for number in range(12_000):
            tablet.mutate([put(b"%08d" % number, b"f:item", b"")])
            tablet.mutate([delete(b"%08d" % number, b"f")])
            maintain(tablet)
        before = tablet.cells_examined
        assert everything(tablet) == []
        assert tablet.cells_examined - before <= 10_000
        assert tablet.sstable_bytes() == 0

    bench.run(main)


@pytest.mark.slow
def test_a_lock_at_the_empty_qualifier_stays_cheap(bench: Bench) -> None:
    """Its column markers settle nothing, because family markers may lie among them."""
    spec = ReadSpec(columns={b"f": frozenset((b"",))})

    def main() -> None:
        tablet = bench.open()
        worst = 0
        for _ in range(4000):
            bench.runtime.sleep(0.001)
            tablet.mutate([put(b"r", b"f:", b"held")])
            before = tablet.cells_examined
            assert values(tablet, b"r", spec) == {b"f:": b"held"}
            tablet.mutate([delete(b"r", b"f:")])
            assert values(tablet, b"r", spec) == {}
            worst = max(worst, tablet.cells_examined - before)
            maintain(tablet)
        assert worst < 4000

    bench.run(main)


def test_reads_alone_never_keep_maintenance_busy(bench: Bench) -> None:
    """Whatever was written and deleted: after a while only reading changes nothing any more."""
    chance = random.Random(5)

    def main() -> None:
        tablet = bench.open()
        for _ in range(3000):
            row = b"%03d" % chance.randrange(300)
            tablet.mutate([chance.choice((put(row, b"f:q", b"v"), put(row, b"g:", b""), delete(row, b"f")))])
            if chance.random() < 0.01:
                tablet.flush()
                if tablet.status().sstables > 10:
                    maintain(tablet)
        found = everything(tablet)
        last = 0
        for number in range(400):
            assert everything(tablet) == found
            last = number if maintain(tablet) else last
        assert last < 300

    bench.run(main)


def test_expired_rows_that_reads_step_over_are_flushed_away(bench: Bench) -> None:
    bench.schema = TableSchema(b"t", {b"f": FamilySchema(b"f", ttl_seconds=10)})

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"%08d" % number, b"f:q", b"") for number in range(6000)])
        bench.runtime.sleep(11)
        for _ in range(30):
            assert everything(tablet) == []
            maintain(tablet)
        assert tablet.memtable_bytes == 0
        before = tablet.cells_examined
        assert everything(tablet) == []
        assert tablet.cells_examined == before

    bench.run(main)


def test_a_log_that_was_read_again_counts_its_markers(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"%08d" % number, b"f:q", b"") for number in range(6000)])
        tablet.mutate([delete(b"%08d" % number, b"f") for number in range(6000)])
        assert tablet.needs_flush() == "its memtable holds 6000 delete markers"
        bench.crash()
        assert bench.open().needs_flush() == "its memtable holds 6000 delete markers"

    bench.run(main)


def test_a_flush_that_fails_is_still_due(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([delete(b"%08d" % number, b"f") for number in range(6000)])
        bench.records.errors.append((Unavailable("METADATA is away"), False))
        with pytest.raises(Unavailable):
            tablet.flush()
        assert tablet.needs_flush()
        tablet.flush()
        assert not tablet.needs_flush()

    bench.run(main)


def test_a_delete_outlives_every_compaction_that_does_not_read_what_it_masks() -> None:
    def check() -> None:
        bench = Bench()

        def main() -> None:
            tablet = bench.open()
            for change in (put(b"r", b"f:a", b"1"), delete(b"r", b"f"), put(b"s", b"f:a", b"2")):
                tablet.mutate([change])
                tablet.flush()
                assert tablet.record.files
            assert [row for row, _ in everything(tablet)] == [b"s"]
            tablet.compact(True)
            assert [row for row, _ in everything(tablet)] == [b"s"]

        bench.run(main)

    is_found("undead", check)
