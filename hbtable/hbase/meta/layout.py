"""The rows of hbase:meta, as HBase 2 lays them out. Pure.

    t                            table:state            protobuf: 0 enabled, 1 disabled, 2 disabling, 3 enabling
    t,start,millis.digest.       info:regioninfo        "PBUF", then protobuf (see region_info)
                                 info:seqnumDuringOpen  8 bytes, big-endian: our generation, which grows as HBase's does
                                 info:server            host:port of the server that has it
                                 info:serverstartcode   8 bytes, big-endian: when that began, in milliseconds
                                 info:sn                host,port,startcode
                                 info:state             OPEN, CLOSED, OFFLINE, CLOSING, OPENING, ABNORMALLY_CLOSED

Rows are ordered by table, then by start row, then by the rest, as HBase's are; a start row may hold commas, and bytes
below one, so the order of the bytes is another. HBase's own order puts a key with one comma behind all regions of
its table; here it comes before those from its start row on, so that the prefix `t,` means what it says.
"""

import re
from typing import Final, NamedTuple

from hbtable.encoding import varint
from hbtable.model.cell import Cell
from hbtable.model.names import split
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord

META: Final = b"hbase:meta"
META_REGION: Final = b"hbase:meta,,1"
META_REGION_ID: Final = 1

_FAMILIES: Final = {
    name: FamilySchema(name, versions, bloom="ROWCOL", in_memory=True, block_cache=True, block_bytes=8192)
    for name, versions in ((b"info", 3), (b"rep_barrier", 2**31 - 1), (b"table", 3))
}
RECORD: Final = TableRecord(METADATA_TABLE_ID, TableState.ENABLED, TableSchema(META, _FAMILIES))
"""The table as clients see it: HBase's families. Each cell has one version."""

_STATES: Final = {
    TableState.ENABLED: 0,
    TableState.DISABLED: 1,
    TableState.DISABLING: 2,
    TableState.ENABLING: 3,
}
_UNOWNED: Final = {
    TableState.DISABLED: b"CLOSED",
    TableState.DISABLING: b"CLOSED",
    TableState.ENABLING: b"OPENING",
}

_NAME: Final = re.compile(rb"[^\x00-,]*")
"""The characters of a table's name all follow the comma."""

Order = tuple[bytes, ...]


class Server(NamedTuple):
    """A living tablet server."""

    host: bytes
    port: int
    started_millis: int


def order(row: bytes) -> Order:
    """The rows of hbase:meta are in the order of this."""
    table, comma, rest = row.partition(b",")
    if not comma:
        return (row,)
    start, comma, identity = rest.rpartition(b",")
    return (table + b",", start, identity) if comma else (table + b",", rest)


def place(row: bytes) -> tuple[bytes, bytes | None]:
    """(table, start row) at which rows from `row` on begin, or a little before; None: with the table's own row."""
    table, comma, rest = row.partition(b",")
    name = _NAME.match(table)
    if not comma or name is None or name.end() < len(table):
        return name.group() if name else b"", None  # `t\0`, the next row after `t`, lies before the regions of `t`
    start, comma, _ = rest.rpartition(b",")
    return table, start if comma else rest


def table_cells(record: TableRecord, millis: int) -> list[Cell]:
    """The cells of a table's row. Tables that are being made or dropped have none."""
    state = _STATES.get(record.state)
    return [] if state is None else [(b"table:state", millis, bytes((0x08, state)))]


def tablet_cells(table: TableRecord, record: TabletRecord, millis: int, server: Server | None) -> list[Cell]:
    """The cells of a tablet's row. `server`: that of its owner, if it lives."""
    cells = [
        (b"info:regioninfo", millis, region_info(table.schema.name, record)),
        (b"info:seqnumDuringOpen", millis, record.generation.to_bytes(8, "big")),
    ]
    if server is not None:
        host, port, started = server
        cells += [
            (b"info:server", millis, b"%b:%d" % (host, port)),
            (b"info:serverstartcode", millis, started.to_bytes(8, "big")),
            (b"info:sn", millis, b"%b,%d,%d" % (host, port, started)),
        ]
    cells.append((b"info:state", millis, _state(table.state, record.owner, server)))
    return cells


def _state(table: TableState, owner: str, server: Server | None) -> bytes:
    if not owner:
        return _UNOWNED.get(table, b"OFFLINE")
    if server is None:
        return b"ABNORMALLY_CLOSED"
    return b"CLOSING" if table is TableState.DISABLING else b"OPEN"


def region_info(table: bytes, record: TabletRecord) -> bytes:
    """HBase's message RegionInfo: id, table name (namespace, name), start row, end row, offline, split, replica."""
    namespace, name = split(table)
    named = _field(0x0A, namespace) + _field(0x12, name)
    return b"PBUF%b%b%b%b" % (
        b"\x08" + varint.encode(record.created_millis),
        _field(0x12, named),
        _field(0x1A, record.range.start) + _field(0x22, record.range.stop),
        b"\x28\x00\x30\x00\x38\x00",
    )


def _field(tag: int, value: bytes) -> bytes:
    return b"%c%b" % (tag, varint.encode_bytes(value))
