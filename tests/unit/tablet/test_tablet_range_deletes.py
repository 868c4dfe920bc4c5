"""Ranges of a tablet's rows that are deleted with one change of its record."""

from dataclasses import replace
from typing import Any

import pytest

from hbtable.encoding import tablet_record
from hbtable.errors import (
    DataDamaged,
    InvalidRequest,
    LimitExceeded,
    OutcomeUnknown,
    OutOfSpace,
    StaleLocation,
    SwitchedOff,
    Unavailable,
)
from hbtable.model.cell import MAX_TIMESTAMP, SERVER_TIME
from hbtable.model.mutation import MAX_METADATA_CELL_BYTES, MAX_ROW_BYTES
from hbtable.model.range_delete import MAX_RANGE_BYTES, MAX_RANGES, RangeDelete, bytes_of
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanRequest
from hbtable.model.schema import READ_ONLY, FamilySchema, TableSchema
from hbtable.model.tablet import METADATA_TABLE_ID, SSTableRef, TabletRecord
from hbtable.tablet.compactions.writing import CompactionWriter
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.tablet import Tablet
from hbtable.tablet.version import LoadedFile
from hbtable.tabletserver.split import split_records
from hbtable.testing.faulty_fs import FaultPlan, FaultyFileSystem
from tests.harness.tablet_bench import SCHEMA, Bench, OneRecord, delete, everything, put, values

ALL = RowRange()


def filled(bench: Bench, flushed: bool = True) -> Tablet:
    """Rows a to j, in several blocks."""
    bench.schema = TableSchema(b"t", {b"f": FamilySchema(b"f", block_bytes=64), b"g": FamilySchema(b"g")})
    tablet = bench.open()
    tablet.mutate([put(bytes((row,)), column, b"v") for row in b"abcdefghij" for column in (b"f:q", b"g:q")])
    if flushed:
        tablet.flush()
    return tablet


def rows(tablet: Tablet, request: ScanRequest | None = None) -> bytes:
    return b"".join(row for row, _ in everything(tablet, request))


def named(tablet: Tablet) -> list[SSTableRef]:
    return [ref for _, refs in tablet.record.files for ref in refs]


@pytest.mark.parametrize("flushed", [False, True])
@pytest.mark.parametrize(
    "start, stop, left", [(b"c", b"f", b"abfghij"), (b"", b"c", b"cdefghij"), (b"i", b"", b"abcdefgh")]
)
def test_all_that_reads_a_row_misses_those_of_a_range(
    bench: Bench, flushed: bool, start: bytes, stop: bytes, left: bytes
) -> None:
    def main() -> None:
        tablet = filled(bench, flushed)
        tablet.delete_range(RowRange(start, stop), SERVER_TIME)

        def check(tablet: Tablet) -> None:
            assert rows(tablet) == left
            assert rows(tablet, ScanRequest(reversed=True)) == left[::-1]
            assert rows(tablet, ScanRequest(cells_per_row=1, max_rows=2)) == bytes(row for row in left for _ in "fg")
            assert rows(tablet, ScanRequest(spec=ReadSpec(raw=True))) == left
            assert rows(tablet, ScanRequest(RowRange(b"b", b"h"))) == bytes(row for row in left if row in b"bcdefg")
            for row in b"abcdefghij":
                row_left = bytes((row,)) if row in left else b""
                for spec in (ReadSpec(), ReadSpec({b"f": frozenset((b"q",)), b"g": frozenset((b"q",))})):
                    assert b"".join(found for found, _ in tablet.read_rows([bytes((row,))], spec)) == row_left

        check(tablet)
        bench.crash()
        tablet = bench.open()
        check(tablet)
        tablet.compact(True)
        assert not any(ref.deleted for ref in named(tablet))
        check(tablet)

    bench.run(main)


def test_pages_as_bytes_miss_them_too(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        tablet.delete_range(RowRange(b"c", b"f"), SERVER_TIME)
        request: ScanRequest | None = ScanRequest(plain=True, max_rows=4)
        found = 0
        while request is not None:
            page = tablet.scan(request)
            found += page.plain.rows if page.plain is not None else len(page.rows)
            request = None if page.next is None else replace(request, position=page.next)
        assert found == 7

    bench.run(main)


def test_what_is_written_afterwards_stays_whatever_its_time(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        tablet.mutate([put(b"c", b"f:old", b"v", 5), delete(b"d", b"f:q", MAX_TIMESTAMP - 1)])
        tablet.delete_range(ALL, SERVER_TIME)
        tablet.mutate([put(b"c", b"f:old", b"again", 5), put(b"c", b"f:q", b"again"), put(b"d", b"g:q", b"again", 1)])
        for _ in range(2):
            assert values(tablet, b"c") == {b"f:old": b"again", b"f:q": b"again"}
            assert values(tablet, b"d") == {b"g:q": b"again"}
            assert rows(tablet) == b"cd"
            tablet.compact(True)

    bench.run(main)


def test_cells_and_markers_later_than_the_delete_stay(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:q", b"%d" % time, time) for time in (1, 2, 3, 4)])
        tablet.mutate([delete(b"s", b"f", 3), delete(b"t", b"f", 2)])
        tablet.delete_range(ALL, 2)
        tablet.mutate([put(row, b"f:q", b"1", 1) for row in (b"s", b"t")])
        for _ in range(2):
            found = dict(everything(tablet, ScanRequest(spec=ReadSpec(max_versions=9))))
            assert [time for _, time, _ in found.pop(b"r")] == [4, 3]
            assert found.keys() == {b"t"}, "the marker of s is later than the delete, and masks what is older than it"
            tablet.flush()
            assert len(named(tablet)) > 1
            tablet.compact(False)

    bench.run(main)


@pytest.mark.parametrize("major", [False, True])
def test_a_range_is_deleted_of_what_a_compaction_under_way_writes_too(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, major: bool
) -> None:
    """And no other one: an older range of one input does not hold for what was written after it, with an older time.
    Or who deletes again and again keeps a compaction from its end for ever, and the room of what is gone."""
    write = CompactionWriter.write
    middle: list[RowRange] = []

    def main() -> None:
        bench.options = TabletOptions(merge_files=2)
        tablet = bench.open()

        def overtaken(*arguments: Any) -> LoadedFile | None:
            written = write(*arguments)
            if arguments[1].files and middle:
                tablet.delete_range(middle.pop(), SERVER_TIME)
            return written

        monkeypatch.setattr(CompactionWriter, "write", overtaken)
        tablet.mutate([put(bytes((row,)), b"f:q", b"v", 50) for row in b"abcdefgh"])
        tablet.delete_range(RowRange(b"b", b"d"), 60)
        tablet.mutate([put(b"c", b"f:q", b"again", 40), put(b"h", b"f:q", b"w", 70)])
        tablet.flush()
        middle.append(RowRange(b"e", b"g"))
        tablet.compact(major)
        assert not middle
        ((start, stop, _),) = [one for ref in named(tablet) for one in ref.deleted]
        assert (len(named(tablet)), start, stop) == (1, b"e", b"g")
        for _ in range(2):
            assert rows(tablet) == b"acdgh"
            bench.crash()
            tablet = bench.open()
        tablet.compact(True)
        assert (rows(tablet), [ref.deleted for ref in named(tablet)]) == (b"acdgh", [()])

    bench.run(main)


def test_a_delete_without_a_time_takes_whatever_time_the_server_gave(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        for _ in range(50):  # each takes a millisecond that has not come yet
            tablet.mutate([put(b"r", b"f:q", b"v")])
            tablet.mutate([delete(b"r", b"f:q")])
        tablet.mutate([put(b"r", b"f:q", b"v"), put(b"s", b"f:q", b"to come", MAX_TIMESTAMP - 1)])
        tablet.delete_range(ALL, SERVER_TIME)
        assert rows(tablet) == b"s"

    bench.run(main)


def test_files_inside_of_the_range_go_at_once_and_unread(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        assert len(named(tablet)) == 2
        before = tablet.cells_examined
        tablet.delete_range(RowRange(b"a", b"k"), SERVER_TIME)
        assert named(tablet) == []
        assert tablet.sstable_bytes() == 0
        assert rows(tablet) == b""
        assert tablet.cells_examined == before

    bench.run(main)


def test_a_scan_passes_over_a_deleted_stretch_without_reading_it(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"%05d" % row, b"f:q", b"") for row in range(5000)])
        tablet.delete_range(RowRange(b"00001", b"04999"), SERVER_TIME)
        before = tablet.cells_examined
        assert [row for row, _ in everything(tablet)] == [b"00000", b"04999"]
        assert tablet.cells_examined - before == 2
        assert tablet.dead_cells_met == 0

    bench.run(main)


def test_a_page_that_began_before_the_delete_is_of_before_it(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        found: list[bytes] = []

        def read() -> None:
            found.append(rows(tablet))

        bench.options = replace(bench.options, slice_seconds=0.0)
        reading = bench.runtime.spawn(read)
        bench.runtime.sleep(0)
        tablet.delete_range(ALL, SERVER_TIME)
        reading.join()
        assert found in ([b"abcdefghij"], [b""])

    bench.run(main)


def test_most_of_a_file_deleted_is_a_reason_to_write_it_anew(bench: Bench) -> None:
    bench.schema = TableSchema(b"t", {b"f": FamilySchema(b"f", block_bytes=2000, compression="NONE")})

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(bytes((row,)), b"f:q", b"v" * 2000) for row in b"abcdefghij"])
        tablet.delete_range(RowRange(b"b", b"d"), SERVER_TIME)
        assert not tablet.needs_compaction()
        whole = tablet.record.files[0][1][0].length_bytes
        assert tablet.sstable_bytes() < whole - 3000
        tablet.delete_range(RowRange(b"c", b"j"), SERVER_TIME)
        while why := tablet.needs_compaction():
            assert "belong to this tablet" in why
            tablet.compact(False)
        assert not any(ref.deleted for ref in named(tablet))
        assert rows(tablet) == b"aj"

    bench.run(main)


def test_a_range_of_the_longest_rows_is_deleted_beside_a_short_one(bench: Bench) -> None:
    """It cut the short one in three, had more bytes than may be, and was refused until a compaction, which was not
    due."""

    def main() -> None:
        tablet = bench.open()
        long, behind = b"m" * MAX_ROW_BYTES, b"n" * MAX_ROW_BYTES
        tablet.mutate([put(row, b"f:q", b"v", timestamp=1000) for row in (b"a", b"m", long, b"y")])
        tablet.mutate([put(b"c", b"f:q", b"old", timestamp=1)])
        tablet.delete_range(RowRange(b"b", b"x"), 5)
        tablet.delete_range(RowRange(long, behind), 2000)
        assert [row for row, _ in everything(tablet)] == [b"a", b"m", b"y"]

    bench.run(main)


def test_as_many_ranges_may_not_be_of_ever_longer_rows(bench: Bench) -> None:
    """Each takes the place of a short one: 64 of them had 4 MB in the tablet's record."""

    def main() -> None:
        tablet = bench.open()
        starts = [b"%02d" % number for number in range(20)]
        tablet.mutate([put(start + b"a", b"f:q", b"v") for start in starts])
        for start in starts:
            tablet.delete_range(RowRange(start + b"a", start + b"b"), SERVER_TIME)
        refused = 0
        for start in starts:
            try:
                tablet.delete_range(RowRange(start + b"Z" * 16_000, start + b"z" * 16_000), SERVER_TIME)
            except Unavailable:
                refused += 1
        assert 0 < refused < len(starts)
        assert all(bytes_of(ref.deleted) <= MAX_RANGE_BYTES for ref in named(tablet))

    bench.run(main)


def of_many_groups(bench: Bench, groups: int) -> Tablet:
    """Rows a and z, in an SSTable of each locality group."""
    families = [b"f%03d" % number for number in range(groups)]
    bench.schema = TableSchema(b"t", {family: FamilySchema(family) for family in families})
    tablet = bench.open()
    tablet.mutate([put(row, family + b":q", b"v") for row in (b"a", b"z") for family in families])
    tablet.flush()
    return tablet


def bytes_of_a_split(tablet: Tablet) -> int:
    """Of METADATA's row while the tablet splits, which is the longest that it ever has."""
    return len(tablet_record.encode(split_records(tablet.record, b"g", 98, 99, 1)[1]))


def test_ranges_of_long_rows_leave_room_in_the_record_for_a_split(bench: Bench) -> None:
    """METADATA refused the fourth range, and from the second on every split."""

    def main() -> None:
        tablet = of_many_groups(bench, 45)
        one, other = (RowRange(row + b"s" * 30_000, row + b"t" * 30_000) for row in (b"m", b"n"))
        tablet.delete_range(one, SERVER_TIME)
        assert bytes_of_a_split(tablet) < MAX_METADATA_CELL_BYTES
        with pytest.raises(Unavailable, match=r"ranges of 45 SSTables of tablet 20 of table t take .* try again"):
            tablet.delete_range(other, SERVER_TIME)
        while "many ranges" in tablet.needs_compaction():
            tablet.compact(False)
        tablet.delete_range(other, SERVER_TIME)
        assert bytes_of_a_split(tablet) < MAX_METADATA_CELL_BYTES
        assert rows(tablet) == b"az"

    bench.run(main)


def test_a_range_that_no_compaction_makes_room_for_is_refused_for_good(bench: Bench) -> None:
    def main() -> None:
        tablet = of_many_groups(bench, 300)
        before = tablet.record
        asked = RowRange(b"m" * MAX_ROW_BYTES, b"n" * MAX_ROW_BYTES)
        with pytest.raises(LimitExceeded, match=r"nothing was deleted: the record of tablet 20 .* of its 300 SSTables"):
            tablet.delete_range(asked, SERVER_TIME)
        assert tablet.record == before
        assert not tablet.needs_compaction()
        tablet.delete_range(RowRange(b"m" * 5000, b"n" * 5000), SERVER_TIME)
        assert bytes_of_a_split(tablet) < MAX_METADATA_CELL_BYTES

    bench.run(main)


def test_many_ranges_are_a_reason_and_too_many_are_refused(bench: Bench) -> None:
    def main() -> None:
        bench.schema = TableSchema(b"t", {b"f": FamilySchema(b"f", block_bytes=64)})
        tablet = bench.open()
        every = [b"%04d" % row for row in range(1000)]
        tablet.mutate([put(row, b"f:q", b"v") for row in every])
        gone = every[1 : 2 * MAX_RANGES : 2]
        for number, row in enumerate(gone, 1):
            tablet.delete_range(RowRange(row, row + b"\x00"), SERVER_TIME)
            assert ("many ranges" in tablet.needs_compaction()) == (number >= MAX_RANGES // 4)
        refused = RowRange(b"0900", b"0901")
        with pytest.raises(Unavailable, match=r"nothing was deleted: 64 ranges of rows .* try again"):
            tablet.delete_range(refused, SERVER_TIME)
        assert [row for row, _ in everything(tablet)] == [row for row in every if row not in gone]
        tablet.delete_range(RowRange(b"0000", b"0500"), SERVER_TIME)  # takes the place of most of them
        tablet.delete_range(refused, SERVER_TIME)
        assert [row for row, _ in everything(tablet)] == [row for row in every[500:] if row != b"0900"]

    bench.run(main)


def with_as_many_as_may_be(bench: Bench) -> Tablet:
    """Rows 0000 to 0999, of which so many ranges were deleted that one more waits for a compaction."""
    bench.schema = TableSchema(b"t", {b"f": FamilySchema(b"f", block_bytes=64)})
    tablet = bench.open()
    tablet.mutate([put(b"%04d" % row, b"f:q", b"v") for row in range(1000)])
    for row in range(MAX_RANGES):
        tablet.delete_range(RowRange(b"%04d" % (2 * row), b"%04d" % (2 * row + 1)), SERVER_TIME)
    return tablet


ONE_MORE = RowRange(b"0900", b"0901")


def test_one_more_of_a_file_that_no_compaction_can_read_is_refused_for_its_damage(bench: Bench) -> None:
    """It said for ever to try again."""

    def main() -> None:
        tablet = with_as_many_as_may_be(bench)
        (ref,) = named(tablet)
        bench.memory.disk.files[ref.path].content[30] ^= 0x10  # of a block of deleted rows: reads do not meet it
        with pytest.raises(Unavailable, match="try again"):
            tablet.delete_range(ONE_MORE, SERVER_TIME)
        with pytest.raises(DataDamaged):
            tablet.compact(False)
        for _ in range(2):
            with pytest.raises(DataDamaged, match=f"{ref.path} is damaged .* nothing was deleted") as caught:
                tablet.delete_range(ONE_MORE, SERVER_TIME)
            assert caught.value.path == ref.path
        assert len(everything(tablet, ScanRequest(RowRange(b"0900", b"0901")))) == 1
        tablet.mutate([delete(b"0900", b"f:q")])
        assert not everything(tablet, ScanRequest(RowRange(b"0900", b"0901")))

    bench.run(main)


def test_one_more_without_compactions_is_refused_with_what_keeps_them_away(bench: Bench) -> None:
    plan = FaultPlan()
    bench.fs = FaultyFileSystem(bench.memory, plan, bench.runtime)

    def main() -> None:
        tablet = with_as_many_as_may_be(bench)
        bench.shared.compactions_on = False
        with pytest.raises(SwitchedOff, match=r"nothing was deleted.*compaction_switch true"):
            tablet.delete_range(ONE_MORE, SERVER_TIME)
        bench.shared.compactions_on = True
        bench.shared.set_out_of_space("the disk is full; make room")
        bench.shared.room_bytes = lambda: 0
        with pytest.raises(OutOfSpace, match=r"nothing was deleted.*the disk is full; make room"):
            tablet.delete_range(ONE_MORE, SERVER_TIME)
        bench.shared.set_out_of_space("")
        plan.fail("create", Unavailable("no DataNode"))
        with pytest.raises(Unavailable, match="no DataNode"):
            tablet.compact(False)
        with pytest.raises(Unavailable, match=r"nothing was deleted.*the last one failed: no DataNode.*try again"):
            tablet.delete_range(ONE_MORE, SERVER_TIME)
        plan.clear()
        tablet.compact(False)
        tablet.delete_range(ONE_MORE, SERVER_TIME)

    bench.run(main)


@pytest.mark.parametrize("refused", [1, 2])
def test_a_deletion_for_which_metadata_has_no_room_is_told_apart_from_one_that_may_come_back(
    bench: Bench, refused: int
) -> None:
    """It comes back if METADATA's server dies before its log writes on; one write more, and it does not."""

    def main() -> None:
        tablet = filled(bench)
        tablet.flush()
        before, changes = bench.records.record, bench.records.changes
        bench.records.errors += [(OutOfSpace("METADATA's log has no room"), False)] * refused
        with pytest.raises(OutOfSpace if refused == 1 else OutcomeUnknown, match="no room"):
            tablet.delete_range(RowRange(b"c", b"h"), SERVER_TIME)
        assert bench.records.record == before
        assert bench.records.changes == changes + (refused == 1)
        tablet.delete_range(RowRange(b"c", b"h"), SERVER_TIME)

    bench.run(main)


def test_after_a_split_each_child_has_its_own(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        tablet.delete_range(RowRange(b"c", b"h"), SERVER_TIME)
        tablet.freeze_for_unload()
        left, right = bench.split(tablet, b"e")
        tablet.close()
        assert (rows(left), rows(right)) == (b"ab", b"hij")
        left.delete_range(RowRange(b"", b"e"), SERVER_TIME)
        assert (rows(left), named(left)) == (b"", [])
        assert rows(right) == b"hij"
        with pytest.raises(StaleLocation, match="do not all lie inside tablet"):
            right.delete_range(RowRange(b"a", b"z"), SERVER_TIME)
        right.compact(True)
        assert rows(right) == b"hij"

    bench.run(main)


def test_the_record_says_so_only_while_it_has_to(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)

        def version() -> int:
            data = tablet_record.encode(tablet.record)
            assert tablet_record.decode(data) == tablet.record
            return data[1]

        assert version() == 1
        tablet.delete_range(RowRange(b"c", b"d"), 5)
        assert version() == 1, "everything is later than the delete"
        tablet.delete_range(RowRange(b"c", b"d"), SERVER_TIME)
        assert version() == tablet_record.RANGES_VERSION
        tablet.compact(True)
        assert version() == 1

    bench.run(main)


def test_what_cannot_be_deleted_is_refused(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        wrong: list[tuple[tuple[object, object], object, type[Exception], str]] = [
            ((b"b", b"a"), SERVER_TIME, InvalidRequest, "no row lies between"),
            ((b"b", b"b"), SERVER_TIME, InvalidRequest, "no row lies between"),
            ((b"b", b"c" * 40_000), SERVER_TIME, LimitExceeded, "Row length 40000"),
            (("b", b"c"), SERVER_TIME, InvalidRequest, "the row"),
            ((b"b", None), SERVER_TIME, InvalidRequest, "the row"),
            ((b"b", b"c"), -2, InvalidRequest, "negative"),
            ((b"b", b"c"), MAX_TIMESTAMP + 1, InvalidRequest, "no whole number"),
            ((b"b", b"c"), 1.0, InvalidRequest, "no whole number"),
            ((b"b", b"c"), True, InvalidRequest, "no whole number"),
        ]
        for bounds, time, error, message in wrong:
            with pytest.raises(error, match=message):
                tablet.delete_range(RowRange(*bounds), time)  # type: ignore[arg-type]
        tablet.schema = replace(tablet.schema, attributes=(READ_ONLY,), version=2)
        with pytest.raises(InvalidRequest, match="read only"):
            tablet.delete_range(ALL, SERVER_TIME)
        assert rows(tablet) == b"abcdefghij"
        tablet.close()
        with pytest.raises(StaleLocation):
            tablet.delete_range(ALL, SERVER_TIME)

    bench.run(main)


def test_metadata_is_left_alone(bench: Bench) -> None:
    bench.records = OneRecord(TabletRecord(METADATA_TABLE_ID, 2, RowRange(), 1))

    def main() -> None:
        with pytest.raises(InvalidRequest, match="METADATA"):
            bench.open().delete_range(ALL, SERVER_TIME)

    bench.run(main)


def test_a_change_that_fails_deletes_nothing(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        bench.records.errors = [(Unavailable("METADATA is being moved"), False)]
        with pytest.raises(Unavailable, match="METADATA is being moved"):
            tablet.delete_range(RowRange(b"b", b"j"), SERVER_TIME)
        assert rows(tablet) == b"abcdefghij"
        tablet.mutate([put(b"k", b"f:q", b"v")])  # nobody holds the gate any more
        tablet.delete_range(RowRange(b"b", b"j"), SERVER_TIME)
        assert rows(tablet) == b"ajk"

    bench.run(main)


def test_damage_inside_of_the_range_is_met_no_more(bench: Bench) -> None:
    def main() -> None:
        tablet = filled(bench)
        path = next(ref.path for ref in named(tablet))
        data = bytearray(bench.memory.read_file(path))
        place = data.index(b"e\x00\x01")
        data[place] ^= 1
        bench.memory.write_file(path, bytes(data))
        bench.cache.drop_file(path)
        tablet = bench.open()
        tablet.delete_range(RowRange(b"b", b"i"), SERVER_TIME)
        assert rows(tablet) == b"aij"

    bench.run(main)


def test_families_of_one_locality_group_and_of_none_go_alike(bench: Bench) -> None:
    bench.schema = replace(
        SCHEMA, families={n: FamilySchema(n, locality_group=g) for n, g in ((b"f", "x"), (b"g", "x"))}
    )

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(row, column, b"v") for row in (b"a", b"b") for column in (b"f:q", b"g:q")])
        tablet.delete_range(RowRange(b"b"), SERVER_TIME)
        assert [ref.deleted for ref in named(tablet)] == [
            (RangeDelete(b"b", b"", named(tablet)[0].deleted[0].timestamp),)
        ]
        assert rows(tablet) == b"a"

    bench.run(main)
