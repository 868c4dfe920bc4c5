"""Ranges of rows that were deleted stay deleted when METADATA's rows are made anew from the SSTables."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from hbtable.encoding import tablet_record
from hbtable.metadata import layout
from hbtable.model.range_delete import RangeDelete
from hbtable.model.ranges import RowRange
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord
from hbtable.repair.evidence import Evidence, SSTableFound
from hbtable.repair.metadata_reading import MetadataView
from hbtable.repair.numbers import Seen
from hbtable.repair.report import Report
from hbtable.repair.table_rebuild import TableRebuild
from hbtable.sstable.properties import Origin, Properties, SSTableIdentity

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
