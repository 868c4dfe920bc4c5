"""The record of its table that each SSTable keeps."""

from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.tablet import METADATA_TABLE_ID
from hbtable.tablet.layout import LocalityGroupLayout


def test_the_record_of_a_table_is_made_once_for_all_its_files() -> None:
    layout = LocalityGroupLayout(TableSchema(b"t", {b"f": FamilySchema(b"f")}))
    assert layout.table_record(16) is layout.table_record(16)
    assert layout.table_record(17) != layout.table_record(16)
    assert layout.table_record(METADATA_TABLE_ID) == b""
