"""Row keys of METADATA (paper, section 5.1: "a row key that is an encoding of the tablet's table identifier and its
end row"). Pure; knows keys and METADATA's own shape, nothing else.

    8 hex digits of table id, ";", end row      a tablet, under its exclusive end row
    8 hex digits of table id, "<"               the last tablet of the table, which has no end row
    "history/", 8 hex digits of table id, "/", 16 of tablet id    events of that tablet (tablet_history.py)
    "namespace/", name                          a namespace
    "table/", canonical table name              the table's record

The record is the cell m:record. "<" follows ";" and "=" follows "<", so that all tablets of a table lie in
[id;, id=), in the order of their rows, with the last tablet last: the tablet of a row is the first key after it.
METADATA is table 0: rows of its own tablets sort before all others and fill the root tablet, which never splits.
"""

from typing import Final

from hbtable.errors import InvalidRequest, TableNotFound
from hbtable.model.names import shown
from hbtable.model.ranges import RowRange, prefix_stop
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.tablet import FIRST_METADATA_TABLET_ID, METADATA_TABLE_ID, ROOT_TABLET_ID, TabletRecord

FAMILY: Final = b"m"
QUALIFIER: Final = b"record"
COLUMN: Final = b"m:record"

ROOT_PATH: Final = "/root-tablet"
"""Lock service file that holds the root tablet's record."""

ROOT_STOP: Final = b"00000000="
ROOT_RANGE: Final = RowRange(b"", ROOT_STOP)
"""The rows of METADATA's own tablets."""

TABLE_PREFIX: Final = b"table/"
NAMESPACE_PREFIX: Final = b"namespace/"
HISTORY_PREFIX: Final = b"history/"
"""Versions without it never read these rows: they read those of tablets, namespaces and tables by their ranges."""
TABLE_ROWS: Final = RowRange(TABLE_PREFIX, prefix_stop(TABLE_PREFIX))
NAMESPACE_ROWS: Final = RowRange(NAMESPACE_PREFIX, prefix_stop(NAMESPACE_PREFIX))

SCHEMA: Final = TableSchema(
    b"hbase:meta", {FAMILY: FamilySchema(FAMILY, max_versions=1, in_memory=True, block_bytes=4096)}
)
"""METADATA's own schema: one version of each record, its blocks first in the cache (paper, section 6). Small blocks: a
damaged one hides some fifty tablets, where one of 64 KB would hide a small cluster."""


_NO_TABLE_OF_ITS_OWN: Final = (
    "hbase:meta is a view of METADATA, and is only read: tables are changed by create, alter, enable, disable and "
    "drop, their tablets by move, split and merge_region, and why 'hbase:meta', ROW says where METADATA's own tablets "
    "are"
)


def no_table(name: bytes) -> InvalidRequest | TableNotFound:
    """The refusal to a call on a table that METADATA has no row of. It has none of itself, and yet is there."""
    return InvalidRequest(_NO_TABLE_OF_ITS_OWN) if name == SCHEMA.name else TableNotFound(shown(name))


def tablet_key(table_id: int, end_row: bytes) -> bytes:
    """The METADATA row of the tablet that ends before `end_row`; b"" is the last tablet."""
    return b"%08x;%b" % (table_id, end_row) if end_row else b"%08x<" % table_id


def key_of(record: TabletRecord) -> bytes:
    return tablet_key(record.table_id, record.range.stop)


def first_key_for(table_id: int, row: bytes) -> bytes:
    """The tablet of `row` has the first key that is >= this one: the smallest end row greater than `row`."""
    return b"%08x;%b\x00" % (table_id, row)


def first_key_before(table_id: int, stop: bytes) -> bytes:
    """The tablet of the rows right before `stop` (b"": the table's last) has the first key that is >= this one."""
    return tablet_key(table_id, stop)


def tablet_rows(table_id: int) -> RowRange:
    """The METADATA rows of all tablets of a table."""
    return RowRange(b"%08x;" % table_id, b"%08x=" % table_id)


EVERY_USER_TABLET: Final = RowRange(ROOT_STOP, b"g")
"""All tablet rows but METADATA's own: they begin with a hexadecimal digit, the other rows with a later letter."""


def table_key(name: bytes) -> bytes:
    """`name` is canonical (model.names)."""
    return TABLE_PREFIX + name


def namespace_key(name: bytes) -> bytes:
    return NAMESPACE_PREFIX + name


def history_key(table_id: int, tablet_id: int) -> bytes:
    return b"%b%08x/%016x" % (HISTORY_PREFIX, table_id, tablet_id)


def first_root_record(created_millis: int) -> TabletRecord:
    """The root tablet of a new cluster, unassigned."""
    return TabletRecord(METADATA_TABLE_ID, ROOT_TABLET_ID, ROOT_RANGE, created_millis)


def first_metadata_record(created_millis: int) -> TabletRecord:
    """The one other METADATA tablet of a new cluster, unassigned. Its row lies in the root tablet."""
    return TabletRecord(METADATA_TABLE_ID, FIRST_METADATA_TABLET_ID, RowRange(ROOT_STOP, b""), created_millis)
