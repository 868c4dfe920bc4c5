"""The rows of hbase:meta, beside those that a real HBase 2.6.1 gave happybase."""

import random
from itertools import pairwise

import pytest

from hbtable.hbase.meta.layout import Server, order, place, table_cells, tablet_cells
from hbtable.hbase.meta.meta_table import MetaTable
from hbtable.hbase.regions import region_name
from hbtable.model.ranges import RowRange, prefix_stop, successor
from hbtable.model.schema import TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord

OPEN = TableRecord(16, TableState.ENABLED, TableSchema(b"door_t"))
STARTS = [b"", b"\x10", b"+", b",", b",,", b"-", b"m,1", b"\xff"]
"""In the order in which HBase gave the regions of a table with these split rows."""


def test_a_region_s_cells_are_those_of_hbase() -> None:
    record = TabletRecord(16, 20, RowRange(), 1795468766395, owner="o", generation=2)
    server = Server(b"localhost", 29593, 1795468725088)
    assert region_name(b"door_t", b"", 1795468766395) == (b"door_t,,1795468766395.936dc7ea0e224ecc93e319d075ff960d.")
    assert {column: value for column, _, value in tablet_cells(OPEN, record, 7, server)} == {
        b"info:regioninfo": (
            b'PBUF\x08\xbb\xd9\x9c\xd2\xa04\x12\x11\n\x07default\x12\x06door_t\x1a\x00"\x00(\x000\x008\x00'
        ),
        b"info:seqnumDuringOpen": b"\x00\x00\x00\x00\x00\x00\x00\x02",
        b"info:server": b"localhost:29593",
        b"info:serverstartcode": b"\x00\x00\x01\xa2\nF\x8b`",
        b"info:sn": b"localhost,29593,1795468725088",
        b"info:state": b"OPEN",
    }
    assert [cell[0] for cell in tablet_cells(OPEN, record, 7, server)] == sorted(
        cell[0] for cell in tablet_cells(OPEN, record, 7, server)
    )


def test_a_table_of_another_namespace() -> None:
    table = TableRecord(16, TableState.ENABLED, TableSchema(b"hbase:namespace"))
    info = tablet_cells(table, TabletRecord(16, 20, RowRange(), 1795468735023), 7, None)[0][2]
    assert info == b'PBUF\x08\xaf\xe4\x9a\xd2\xa04\x12\x12\n\x05hbase\x12\tnamespace\x1a\x00"\x00(\x000\x008\x00'


@pytest.mark.parametrize(("state", "value"), [(TableState.ENABLED, b"\x08\x00"), (TableState.DISABLED, b"\x08\x01")])
def test_a_table_s_state_is_that_of_hbase(state: TableState, value: bytes) -> None:
    assert table_cells(TableRecord(16, state, OPEN.schema), 7) == [(b"table:state", 7, value)]


@pytest.mark.parametrize(
    ("table", "owner", "lives", "shown"),
    [
        (TableState.ENABLED, "o", True, b"OPEN"),
        (TableState.ENABLED, "o", False, b"ABNORMALLY_CLOSED"),
        (TableState.ENABLED, "", False, b"OFFLINE"),
        (TableState.ENABLING, "", False, b"OPENING"),
        (TableState.DISABLING, "o", True, b"CLOSING"),
        (TableState.DISABLED, "", False, b"CLOSED"),
    ],
)
def test_the_state_of_a_region(table: TableState, owner: str, lives: bool, shown: bytes) -> None:
    record = TabletRecord(16, 20, RowRange(), 5, owner=owner)
    server = Server(b"h", 1, 2) if lives else None
    cells = tablet_cells(TableRecord(16, table, OPEN.schema), record, 7, server)
    assert cells[-1] == (b"info:state", 7, shown)
    assert any(cell[0] == b"info:server" for cell in cells) == lives


def test_rows_are_in_the_order_of_hbase() -> None:
    rows = [
        b"a",
        b"a,,5.x.",
        b"door_s",
        *(b"door_s,%b,7.x." % start for start in STARTS),
        b"door_s-",
        b"door_t",
        b"n:t",
    ]
    mixed = rows[:]
    random.Random(1).shuffle(mixed)
    assert sorted(mixed, key=order) == rows
    for row, later in pairwise(rows):
        assert order(row) < order(successor(row)) < order(later)


def test_a_prefix_with_one_comma_has_the_table_s_regions() -> None:
    """HBase's own order has none there."""
    regions = [b"door_s,%b,7.x." % start for start in STARTS]
    for region in regions:
        assert order(b"door_s,") < order(region) < order(prefix_stop(b"door_s,"))
    assert order(b"door_s") < order(b"door_s,")


def test_where_rows_begin() -> None:
    assert place(b"t") == (b"t", None)
    assert place(b"t\0") == place(b"t\0,m") == (b"t", None)
    assert place(b"t,") == (b"t", b"")
    assert place(b"t,m,1,77.x.") == (b"t", b"m,1")


def test_the_table_has_a_name() -> None:
    assert MetaTable.name == b"hbase:meta"
