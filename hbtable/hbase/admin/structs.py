"""The structs of thrift/admin.thrift as tuples, in the order of their fields: arguments and answers alike.

Names and order are the interface file's: interface.py decodes by place, answers.py encodes by name and place.
"""

from typing import NamedTuple

from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.mutation import PUT
from hbtable.model.schema import FOREVER_SECONDS


class AdminFamily(NamedTuple):
    """A column family."""

    name: bytes = b""
    max_versions: int = 1
    min_versions: int = 0
    ttl_seconds: int = FOREVER_SECONDS
    compression: str = "NONE"
    bloom: str = "ROW"
    in_memory: bool = False
    block_cache: bool = True
    block_bytes: int = 65536
    locality_group: str = ""
    new_version_behavior: bool = False
    attributes: dict[str, str] | None = None


class AdminTable(NamedTuple):
    """A table's schema and state."""

    name: bytes = b""
    version: int = 1
    state: str = ""
    split_bytes: int = 0
    families: list[AdminFamily] | None = None
    attributes: dict[str, str] | None = None
    table_id: int = 0


class AdminTablet(NamedTuple):
    """A tablet as HBase shows it, with its load."""

    tablet_id: int = 0
    start_row: bytes = b""
    stop_row: bytes = b""
    created_millis: int = 0
    name: bytes = b""
    server: str = ""
    memtable_bytes: int = 0
    sstable_bytes: int = 0
    sstables: int = 0
    reads: int = 0
    writes: int = 0
    damaged: int = 0


class AdminServer(NamedTuple):
    """A tablet server."""

    name: str = ""
    host: str = ""
    port: int = 0
    started_millis: int = 0
    tablets: list[AdminTablet] | None = None
    families: int = 0
    silent: bool = False


class AdminMaster(NamedTuple):
    """A master process."""

    host: str = ""
    port: int = 0
    started_millis: int = 0


class AdminCacheEviction(NamedTuple):
    """The blocks of a table that left the caches."""

    blocks: int = 0
    capacity_bytes: int = 0
    failed: list[bytes] | None = None


class AdminTransition(NamedTuple):
    """A tablet on the way between servers."""

    name: bytes = b""
    state: str = ""
    server: str = ""


class AdminTabletEvent(NamedTuple):
    """An event of a tablet."""

    millis: int = 0
    what: str = ""
    server: str = ""
    by: str = ""
    why: str = ""
    generation: int = 0


class AdminTabletHistory(NamedTuple):
    """A tablet, whether it is served, and its events."""

    tablet: AdminTablet = AdminTablet()
    state: str = ""
    events: list[AdminTabletEvent] | None = None


class AdminUnreachable(NamedTuple):
    """A tablet server that others cannot reach."""

    server: str = ""
    who: str = ""


class AdminTaskDeath(NamedTuple):
    """A background task that died of a bug."""

    process: str = ""
    what: str = ""


class AdminStatus(NamedTuple):
    """The cluster at a moment."""

    active: list[AdminMaster] | None = None
    standbys: list[AdminMaster] | None = None
    servers: list[AdminServer] | None = None
    dead: list[str] | None = None
    transitions: list[AdminTransition] | None = None
    unreachable: list[AdminUnreachable] | None = None
    task_deaths: list[AdminTaskDeath] | None = None
    balancer_rests: str = ""


class AdminSlowRequest(NamedTuple):
    """A request that took long (hbase.slow.SlowRequest)."""

    ended_millis: int = 0
    method: str = ""
    table: str = ""
    row: str = ""
    outcome: str = ""
    seconds: float = 0.0
    decoding_seconds: float = 0.0
    handling_seconds: float = 0.0
    answering_seconds: float = 0.0
    request_bytes: int = 0
    answer_bytes: int = 0
    client: str = ""


class AdminCell(NamedTuple):
    """A cell, or in raw scans a marker."""

    column: bytes = b""
    timestamp: int = 0
    value: bytes = b""
    kind: int = PUT
    ttl_millis: int | None = None
    """Its own, where AdminRead.lifetimes was asked for. None: it has none."""


class AdminRow(NamedTuple):
    """A row, or a piece of one."""

    row: bytes = b""
    cells: list[AdminCell] | None = None


class AdminColumn(NamedTuple):
    """A family, or one column of it."""

    family: bytes = b""
    qualifier: bytes | None = None


class AdminRead(NamedTuple):
    """The cells to read."""

    columns: list[AdminColumn] | None = None
    min_timestamp: int = 0
    max_timestamp: int = MAX_TIMESTAMP
    max_versions: int = 1
    filter: bytes | None = None
    cache_blocks: bool = True
    raw: bool = False
    lifetimes: bool = False
    """Scans only: AdminCell.ttl_millis as well."""


class AdminPosition(NamedTuple):
    """The position at which a scan goes on (model.read.ScanPosition)."""

    row: bytes = b""
    cells_done: int = 0
    filter_state: bytes = b""
    column: bytes = b""
    timestamp: int = 0
    versions: int = 0


class AdminScan(NamedTuple):
    """One page of a scan."""

    read: AdminRead | None = None
    start_row: bytes = b""
    stop_row: bytes = b""
    reversed: bool = False
    cells_per_row: int = 0
    max_rows: int = 1000
    position: AdminPosition | None = None


class AdminPage(NamedTuple):
    """Rows, where to go on, and what it cost."""

    rows: list[AdminRow]
    position: AdminPosition | None = None
    rows_scanned: int = 0
    tablets: int = 0
    lifetimes: bool = False
    """The cells have theirs. False of an older release, which does not know the question."""


class AdminArrowColumn(NamedTuple):
    """A column, and what its values are read as (arrow.wire)."""

    family: bytes = b""
    qualifier: bytes = b""
    read_as: str = "binary"


class AdminArrowPage(NamedTuple):
    """Record batches as bytes, where to go on, and what it cost."""

    batches: bytes
    position: AdminPosition | None = None
    rows_scanned: int = 0
    tablets: int = 0


class AdminAggregate(NamedTuple):
    """A number to compute (model.aggregation.Aggregate)."""

    kind: str = ""
    family: bytes = b""
    qualifier: bytes | None = None
    read_as: str = ""


class AdminAggregation(NamedTuple):
    """Aggregates, and what is a group."""

    aggregates: list[AdminAggregate] | None = None
    row_bytes: int = 0
    row_delimiter: bytes = b""
    by_column: bool = False
    max_rows: int = 0


class AdminGroup(NamedTuple):
    """A group, and the state of each aggregate."""

    key: bytes = b""
    states: bytes = b""


class AdminAggregatedPage(NamedTuple):
    """Groups, where to go on, and what it cost."""

    groups: list[AdminGroup]
    position: AdminPosition | None = None
    rows_scanned: int = 0
    tablets: int = 0


class AdminMutation(NamedTuple):
    """Operations on one row among others."""

    row: bytes = b""
    operations: "list[AdminOperation] | None" = None
    ttl_millis: int | None = None
    """Puts expire so long after their time; None or 0: never. Older releases pass over it."""


class AdminOperation(NamedTuple):
    """A put or a marker (model.mutation)."""

    kind: int = PUT
    family: bytes = b""
    qualifier: bytes = b""
    timestamp: int = -1
    value: bytes = b""


class AdminGrant(NamedTuple):
    """Rights of a user or @group at a scope; empty names are none."""

    holder: str = ""
    actions: str = ""
    namespace: bytes = b""
    table: bytes = b""
    family: bytes = b""
    qualifier: bytes | None = None


class AdminUser(NamedTuple):
    """The user of a connection."""

    name: str = ""
    groups: list[str] | None = None
