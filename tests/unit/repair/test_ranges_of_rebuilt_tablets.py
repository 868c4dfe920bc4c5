"""Ranges of rows that were deleted stay deleted when a repair changes or makes anew what METADATA says of SSTables."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from hbtable.encoding import tablet_record
from hbtable.metadata import layout
from hbtable.model.cell import SERVER_TIME
from hbtable.model.range_delete import RangeDelete
from hbtable.model.ranges import RowRange
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord
from hbtable.repair.evidence import Evidence, SSTableFound, gather
from hbtable.repair.mending import Repair
from hbtable.repair.metadata_reading import MetadataView
from hbtable.repair.numbers import Seen
from hbtable.repair.rebuilding import left_in
from hbtable.repair.report import Report
from hbtable.repair.table_rebuild import TableRebuild
from hbtable.repair.user_files import UserFiles
from hbtable.sstable.properties import Origin, Properties, SSTableIdentity, decode_properties, encode_properties
from tests.harness.tablet_bench import Bench, put

TABLE = TableRecord(16, TableState.ENABLED, TableSchema(b"t", {b"f": FamilySchema(b"f")}))
PATH, SAVED = "sstables/00000010/a.sst", "sstables/00000010/b.sst"
DELETED = (RangeDelete(b"c", b"e", 7), RangeDelete(b"x", b"", 9))


def found(path: str, damage: str = "") -> SSTableFound:
    identity = SSTableIdentity(16, 20, "f", 1, (), 0, Origin(b"", b"", 9, b""))
    return SSTableFound(path, path, 100, 1, Properties(identity, 1, 0, 1, 1, 1, b"a", b"z", 1, 1, 1, 9), damage)


def rebuilt(file: SSTableFound, *records: TabletRecord) -> dict[str, tuple[RangeDelete, ...]]:
    """The ranges of each file, after a repair."""
    view = MetadataView({layout.key_of(record): tablet_record.encode(record) for record in records})
    files: Any = SimpleNamespace(instead_of=lambda path, named: (found(SAVED),))
    reader: Any = SimpleNamespace(gaps={}, log=lambda incarnation: [])
    writer: Any = None
    rebuild = TableRebuild(Evidence(sstables={file.path: file}), view, files, writer, Report(), Seen(), reader)
    rebuild.tables({b"t": TABLE})
    tablets = rebuild.tablets(TABLE, 100)
    return {ref.path: ref.deleted for tablet in tablets for _, refs in tablet.files for ref in refs}


def record(rows: RowRange, tablet_id: int, *deleted: RangeDelete) -> TabletRecord:
    ref = replace(found(PATH).ref(), deleted=deleted)
    return TabletRecord(16, tablet_id, rows, 1, files=(("f", (ref,)),))


def test_they_stay_with_a_sound_file() -> None:
    assert rebuilt(found(PATH), record(RowRange(), 20, *DELETED)) == {PATH: DELETED}


def test_they_stay_with_what_was_saved_of_a_damaged_file() -> None:
    assert rebuilt(found(PATH, "damaged"), record(RowRange(), 20, *DELETED)) == {SAVED: DELETED}


def test_of_a_file_that_a_split_s_children_share_both_sides_count() -> None:
    left, right = record(RowRange(b"", b"m"), 21, DELETED[0]), record(RowRange(b"m", b""), 22, DELETED[1])
    assert rebuilt(found(PATH), left, right) == {PATH: DELETED}


def test_they_stay_with_the_inputs_of_a_compaction_whose_output_is_damaged() -> None:
    bench = Bench()

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(bytes((row,)), b"f:q", b"v") for row in b"abcdef"])
        tablet.flush()
        tablet.delete_range(RowRange(b"b", b"d"), SERVER_TIME)
        ((group, (before,)),) = tablet.record.files
        assert before.deleted
        tablet.mutate([put(b"b", b"f:q", b"later")])
        tablet.flush()
        tablet.compact(True)
        ((_, (ref,)),) = tablet.record.files
        assert not ref.deleted
        evidence = gather(bench.fs, lambda: None, alone=True)
        evidence.sstables[ref.path] = replace(evidence.sstables[ref.path], damage="damaged")
        nothing: Any = SimpleNamespace(remove=lambda path: None)
        files = UserFiles(bench.fs, evidence, nothing, nothing, Report(), {})
        back = {one.path: one.ref() for one in files.instead_of(ref.path, (tablet.record, group, ref))}
        assert len(back) == 2
        assert back.pop(before.path) == before
        assert not any(one.deleted for one in back.values())

    bench.run(main)


def test_a_file_says_which_were_deleted_of_those_that_it_replaced() -> None:
    properties = found(PATH).properties
    assert properties is not None
    assert b"replaced_ranges" not in encode_properties(properties)
    identity = replace(properties.identity, replaced=("a", "b", "c"), replaced_ranges=((), DELETED, ()))
    says = replace(properties, identity=identity)
    assert decode_properties("a file", 0, encode_properties(says)) == says


def test_what_a_compaction_left_behind_lacks_only_what_it_passed_over() -> None:
    properties = found(SAVED).properties
    assert properties is not None

    def left(*passed_over: tuple[RangeDelete, ...]) -> tuple[RangeDelete, ...]:
        identity = replace(properties.identity, replaced=(PATH, "another"), replaced_ranges=passed_over)
        return left_in(replace(found(SAVED), properties=replace(properties, identity=identity)), {PATH: DELETED})

    assert left() == DELETED  # it began before the delete
    assert left((), DELETED) == DELETED
    assert left(DELETED[:1], ()) == DELETED
    assert left(DELETED, ()) == ()  # and cells that were written since stay, whatever their times are


def test_an_output_that_was_never_named_does_not_bring_rows_back() -> None:
    properties = found(SAVED).properties
    assert properties is not None
    output = replace(
        found(SAVED), properties=replace(properties, identity=replace(properties.identity, replaced=(PATH,)))
    )
    assert rebuilt(output, record(RowRange(), 20, *DELETED)) == {SAVED: DELETED}


def test_a_mended_record_has_what_is_left_in_the_file_that_takes_a_lost_one_s_place() -> None:
    properties = found(SAVED).properties
    assert properties is not None

    def mended(*passed_over: tuple[RangeDelete, ...]) -> tuple[RangeDelete, ...]:
        identity = replace(properties.identity, replaced=(PATH,), replaced_ranges=passed_over)
        successor = replace(found(SAVED), properties=replace(properties, identity=identity))
        repair = object.__new__(Repair)
        repair._evidence = Evidence(sstables={SAVED: successor})
        nothing: Any = None
        files = UserFiles(nothing, repair._evidence, nothing, nothing, Report(), {})
        ((_, (ref,)),) = repair._mended(record(RowRange(), 20, *DELETED), files).files
        return ref.deleted

    assert mended() == DELETED
    assert mended(DELETED) == ()
