"""A tablet as the admin service tells it."""

from unittest.mock import create_autospec

from hbtable.hbase.admin.tablets import admin_tablet
from hbtable.hbase.server_names import ServerNames
from hbtable.model.ranges import RowRange
from hbtable.model.status import TabletStatus
from hbtable.model.tablet import SSTableRef, TabletRecord

RECORD = TabletRecord(
    16,
    20,
    RowRange(),
    0,
    files=(
        ("f", (SSTableRef("f/1", 1000, 0, 1, 2, 1), SSTableRef("f/2", 300, 0, 3, 4, 1))),
        ("g", (SSTableRef("g/1", 7, 0, 1, 2, 1),)),
    ),
)


def sizes(status: TabletStatus | None) -> tuple[int, int, int]:
    found = admin_tablet(create_autospec(ServerNames, instance=True), b"t", RECORD, status, 0)
    return found.memtable_bytes, found.sstable_bytes, found.sstables


def test_of_a_tablet_that_nobody_serves_the_files_count_that_metadata_names() -> None:
    """Zero would say that it is empty: sample_row_keys() over a port did."""
    assert sizes(None) == (0, 1307, 3)
    assert sizes(TabletStatus(RECORD, 1, 5, 1400, 4, 0, 0)) == (5, 1400, 4)
