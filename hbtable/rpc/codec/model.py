"""The model's values as the structs of thrift/tabletserver.thrift; tablet and table records as METADATA's bytes."""

from typing import Any, Final

from hbtable.commitlog.recovery.sorted_runs import SortedRun
from hbtable.encoding import table_record, tablet_record
from hbtable.model.aggregation import Aggregate, AggregatedGroup, AggregatedPage, Aggregation
from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.ranges import RowRange
from hbtable.model.read import (
    ANSWER_BYTES,
    EVERYTHING,
    Columns,
    FamilyTimes,
    ReadSpec,
    ScanPage,
    ScanPosition,
    ScanRequest,
)
from hbtable.model.schema import TableSchema
from hbtable.model.status import CacheEviction, Collection, LeftTablet, ServedChanges, ServedTablet, TabletStatus
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord
from hbtable.rpc.codec.cells import ROWS
from hbtable.thrift.shapes import BINARY, BOOLEAN, INTEGER, TEXT, Binary, Field, Sequences, Struct, ValueType
from hbtable.thrift.wire import LIST


def _record(data: bytes) -> TabletRecord:
    return tablet_record.decode(data, "a tablet record in a message")


def _schema(data: bytes) -> TableSchema:
    return table_record.decode(data, "a table record in a message").schema


def _unschema(schema: TableSchema) -> bytes:
    return table_record.encode(TableRecord(0, TableState.ENABLED, schema))


TABLET_RECORD: Final = Binary(_record, tablet_record.encode)
TABLE_SCHEMA: Final = Binary(_schema, _unschema)

ROW_KEYS: Final = Sequences(BINARY)


def _columns(found: list[tuple[bytes, list[bytes] | None]]) -> Columns:
    return {family: None if qualifiers is None else frozenset(qualifiers) for family, qualifiers in found}


def _uncolumns(columns: Columns | None) -> list[tuple[bytes, list[bytes] | None]] | None:
    if columns is None:
        return None
    return [(family, None if wanted is None else sorted(wanted)) for family, wanted in columns.items()]


FAMILY_COLUMNS: Final = Struct([Field(1, "family", BINARY), Field(2, "qualifiers", ROW_KEYS, None)])
READ_SPEC: Final = Struct(
    [
        Field(1, "columns", Sequences(FAMILY_COLUMNS, _columns), None),
        Field(2, "minTimestamp", INTEGER, 0),
        Field(3, "maxTimestamp", INTEGER, MAX_TIMESTAMP),
        Field(4, "maxVersions", INTEGER, 1),
        Field(5, "filter", BINARY, None),
        Field(6, "cacheBlocks", BOOLEAN, True),
        Field(7, "raw", BOOLEAN, False),
        Field(8, "maxBytes", INTEGER, ANSWER_BYTES),
        Field(9, "lifetimes", BOOLEAN, False),
    ],
    ReadSpec,
    lambda it: (
        _uncolumns(it.columns),
        it.min_timestamp,
        it.max_timestamp,
        it.max_versions,
        it.filter,
        it.cache_blocks,
        it.raw,
        it.max_bytes,
        it.lifetimes,
    ),
)


def _times(found: list[tuple[bytes, int, int]]) -> FamilyTimes:
    return {family: (low, high) for family, low, high in found}


def _untimes(times: FamilyTimes) -> list[tuple[bytes, int, int]]:
    return [(family, low, high) for family, (low, high) in times.items()]


FAMILY_TIME_RANGE: Final = Struct(
    [
        Field(1, "family", BINARY),
        Field(2, "minTimestamp", INTEGER, 0),
        Field(3, "maxTimestamp", INTEGER, MAX_TIMESTAMP),
    ]
)
FAMILY_TIMES: Final = ValueType(LIST, element=FAMILY_TIME_RANGE, convert=_times, unconvert=_untimes)
SCAN_POSITION: Final = Struct(
    [
        Field(1, "row", BINARY),
        Field(2, "cellsDone", INTEGER, 0),
        Field(3, "filterState", BINARY, b""),
        Field(4, "column", BINARY, b""),
        Field(5, "timestamp", INTEGER, 0),
        Field(6, "versions", INTEGER, 0),
    ],
    ScanPosition,
)


AGGREGATE: Final = Struct(
    [
        Field(1, "kind", TEXT),
        Field(2, "family", BINARY, b""),
        Field(3, "qualifier", BINARY, None),
        Field(4, "readAs", TEXT),
    ],
    Aggregate,
)


def _aggregation(aggregates: list[Aggregate], *rest: Any) -> Aggregation:
    return Aggregation(tuple(aggregates), *rest)


AGGREGATION: Final = Struct(
    [
        Field(1, "aggregates", Sequences(AGGREGATE)),
        Field(2, "rowBytes", INTEGER, 0),
        Field(3, "rowDelimiter", BINARY, b""),
        Field(4, "byColumn", BOOLEAN, False),
    ],
    _aggregation,
    lambda it: (it.aggregates, it.row_bytes, it.row_delimiter, it.by_column),
)
AGGREGATED_GROUP: Final = Struct([Field(1, "key", BINARY), Field(2, "states", BINARY)], AggregatedGroup)


def _request(start: bytes, stop: bytes, *rest: Any) -> ScanRequest:
    spec, is_reversed, cells, most_rows, most_bytes, position, asked = rest
    rows = RowRange(start, stop)
    return ScanRequest(rows, spec, is_reversed, cells, most_rows, most_bytes, position, aggregation=asked)


SCAN_REQUEST: Final = Struct(
    [
        Field(1, "start", BINARY, b""),
        Field(2, "stop", BINARY, b""),
        Field(3, "spec", READ_SPEC, EVERYTHING),
        Field(4, "isReversed", BOOLEAN, False),
        Field(5, "cellsPerRow", INTEGER, 0),
        Field(6, "maxRows", INTEGER, 1000),
        Field(7, "maxBytes", INTEGER, 4 << 20),
        Field(8, "position", SCAN_POSITION, None),
        Field(9, "aggregation", AGGREGATION, None),
    ],
    _request,
    lambda it: (
        it.range.start,
        it.range.stop,
        it.spec,
        it.reversed,
        it.cells_per_row,
        it.max_rows,
        it.max_bytes,
        it.position,
        it.aggregation,
    ),
)


def _page(*told: Any) -> ScanPage:
    rows, position, finished, state, scanned, tablets, groups = told
    aggregated = None if groups is None else AggregatedPage(groups)
    return ScanPage(rows, position, finished, state, scanned, tablets, aggregated=aggregated)


def _unpage(page: ScanPage) -> tuple[Any, ...]:
    """`plain` and `columns` stay in the process: nobody in another one asks for them."""
    return (*page[:6], None if page.aggregated is None else page.aggregated.groups)


SCAN_PAGE: Final = Struct(
    [
        Field(1, "rows", ROWS),
        Field(2, "following", SCAN_POSITION, None),
        Field(3, "filterFinished", BOOLEAN, False),
        Field(4, "filterState", BINARY, b""),
        Field(5, "rowsScanned", INTEGER, 0),
        Field(6, "tablets", INTEGER, 0),
        Field(7, "groups", Sequences(AGGREGATED_GROUP), None),
    ],
    _page,
    _unpage,
)
APPEND_VALUE: Final = Struct([Field(1, "family", BINARY), Field(2, "qualifier", BINARY), Field(3, "suffix", BINARY)])
TABLET_STATUS: Final = Struct(
    [
        Field(1, "record", TABLET_RECORD),
        Field(2, "schemaVersion", INTEGER),
        Field(3, "memtableBytes", INTEGER),
        Field(4, "sstableBytes", INTEGER),
        Field(5, "sstables", INTEGER),
        Field(6, "reads", INTEGER),
        Field(7, "writes", INTEGER),
        Field(8, "merging", BOOLEAN, False),
        Field(9, "major", BOOLEAN, False),
        Field(10, "damaged", INTEGER, 0),
    ],
    TabletStatus,
)
SERVED_TABLET: Final = Struct(
    [
        Field(1, "tableId", INTEGER),
        Field(2, "tabletId", INTEGER),
        Field(3, "schemaVersion", INTEGER),
        Field(4, "sstableBytes", INTEGER),
        Field(5, "reads", INTEGER, -1),
        Field(6, "writes", INTEGER, -1),
    ],
    ServedTablet,
)
LEFT_TABLET: Final = Struct(
    [
        Field(1, "tableId", INTEGER),
        Field(2, "tabletId", INTEGER),
        Field(3, "stopRow", BINARY),
        Field(4, "table", BINARY),
    ],
    LeftTablet,
)
SERVED_CHANGES: Final = Struct(
    [
        Field(1, "number", INTEGER),
        Field(2, "whole", BOOLEAN),
        Field(3, "served", Sequences(SERVED_TABLET)),
        Field(4, "gone", Sequences(INTEGER)),
        Field(5, "left", Sequences(LEFT_TABLET), ()),
    ],
    ServedChanges,
)
CACHE_EVICTION: Final = Struct([Field(1, "blocks", INTEGER), Field(2, "capacityBytes", INTEGER)], CacheEviction)
COLLECTION: Final = Struct([Field(1, "rows", INTEGER), Field(2, "waiting", INTEGER)], Collection)
RUN: Final = Struct(
    [
        Field(1, "first", INTEGER),
        Field(2, "last", INTEGER),
        Field(3, "footerChecksum", INTEGER),
        Field(4, "lengthBytes", INTEGER),
    ],
    SortedRun,
)
