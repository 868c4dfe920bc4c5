"""The calls that tablet servers and masters offer to others, in model terms: each is declared here and nowhere else.

Every call may raise StaleLocation (not served here: ask METADATA again), Unavailable (retry later) and LockLost. What
follows from a declaration: declaration.py. How to add a call: docs/architecture.md.
"""
# mypy: disable-error-code="empty-body"
# A declared call has no body.

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from hbtable.commitlog.recovery.sorted_runs import SortedRun
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import RowMutation
from hbtable.model.read import FamilyTimes, ReadSpec, ScanPage, ScanRequest
from hbtable.model.schema import TableSchema
from hbtable.model.status import EVERY_TABLE, CacheEviction, Collection, ServedChanges, TabletStatus
from hbtable.model.tablet import TabletRecord
from hbtable.rpc.declaration import ADDED, CallTimeout, Service, call

TableName = Annotated[bytes, "a table's name"]
"""A client may give it in any spelling; the master gets the canonical one (model.names.parse)."""
NamespaceName = Annotated[bytes, "a namespace's name"]
ServerName = Annotated[str, "a tablet server's name"]
"""Its incarnation. Operators may name it by host and port as well."""


class TabletsHere(Service):
    """The questions to a tablet server of this process that are no calls to other processes."""

    __slots__ = ()

    def valid_from_now(self, tablet_id: int) -> Callable[[], bool] | None:
        """A function that says whether every scan of the tablet that began since this call would be answered alike now.
        None: that is not known, as of a server in another process. Neither switches."""
        return None


class TabletService(TabletsHere):
    """The data path. `tablet_id` names the tablet that the caller's location cache found for the row."""

    @call(CallTimeout.WRITE)
    def mutate(self, tablet_id: int, mutations: Sequence[RowMutation]) -> None:
        """Row by row in this order, each row all or nothing. Everything is checked before the first is
        applied (InvalidRequest: nothing was). On return all are in the log, durable as configured, and visible."""

    @call(CallTimeout.READ, changes_nothing=True)
    def read_rows(self, tablet_id: int, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]:
        """One entry for each row that has cells, in the order asked; a row asked twice comes twice. LimitExceeded when
        they count more than the spec's max_bytes."""

    @call(CallTimeout.READ, changes_nothing=True)
    def scan(self, tablet_id: int, request: ScanRequest) -> ScanPage:
        """The next page within this tablet's own range. LimitExceeded for a row that must be given whole, or was kept
        by a filter, and counts more than the spec's max_bytes; rows before it come in a page of their own."""

    @call(CallTimeout.READ, changes_nothing=True)
    def scan_with_times(self, tablet_id: int, request: ScanRequest, family_times: FamilyTimes) -> ScanPage:
        """As scan, of a request that has these family_times. A call of its own: older releases would pass over a field
        that they do not know, and show cells that were not asked for."""

    @call(CallTimeout.WRITE)
    def increment(
        self,
        tablet_id: int,
        row: bytes,
        family: bytes,
        qualifier: bytes,
        amount: int,
        checksum: Annotated[int, ADDED] = 0,
    ) -> int:
        """Atomic read-add-write of an 8-byte big-endian counter; the new value, wrapped to i64. NotACounter.
        `checksum`: of the arguments (model.call_checksums); MemoryDamaged when they have another one when the write is
        made of them. 0: nobody took it."""

    @call(CallTimeout.WRITE)
    def append(
        self,
        tablet_id: int,
        row: bytes,
        values: Sequence[tuple[bytes, bytes, bytes]],
        ttl_millis: int = 0,
        checksum: Annotated[int, ADDED] = 0,
    ) -> list[Cell]:
        """Atomically appends each (family, qualifier, suffix); the new cells in the order asked. `checksum` as of
        increment."""

    @call(CallTimeout.WRITE)
    def check_and_mutate(
        self,
        tablet_id: int,
        row: bytes,
        family: bytes,
        qualifier: bytes,
        expected: bytes | None,
        mutation: RowMutation,
        checksum: Annotated[int, ADDED] = 0,
    ) -> bool:
        """Applies `mutation` (of the same row) if the newest value equals `expected`; None or b"" expects a missing
        or empty cell. `checksum` as of increment, without the mutation, which has its own. The mutation may have
        increments and appends (model.additions); older releases refuse these."""

    @call(CallTimeout.WRITE)
    def mutate_if(
        self,
        tablet_id: int,
        row: bytes,
        spec: ReadSpec,
        operator: str,
        value: bytes | None,
        mutation: RowMutation,
        checksum: int = 0,
    ) -> bool:
        """Applies `mutation` (of the same row) if the cells that `spec` chooses in the row meet the condition
        (model.condition): with the operator "" there is one; with "always" there need be none, and `spec` chooses
        none; else the newest of the one column stands so to `value`. `checksum` and increments as of
        check_and_mutate. Older releases do not know the call."""

    @call(CallTimeout.WRITE)
    def add_to_columns(self, tablet_id: int, mutation: RowMutation) -> list[Cell]:
        """Applies a mutation of increments and appends alone (model.additions), all or nothing; the new cells in the
        order of its operations. NotACounter. Older releases do not know the call."""

    @call(CallTimeout.COMPACT)
    def delete_range(self, tablet_id: int, start_row: bytes, stop_row: bytes, timestamp: int) -> None:
        """Every cell and marker of start_row <= row < stop_row (b"": to the end), rows of this tablet alone, that was
        written before and whose time is not later than `timestamp` is gone on return, durably; SERVER_TIME: than any
        time that the tablet assigned. Writes that come after it stay, whatever their times are. Older releases do not
        know the call."""


class RelayService(Service):
    """Calls of HBase's clients that the server of their row carries out for the one that they came to. A `message` is a
    call of Thrift1 about one row as it came, in the strict binary protocol without a frame; what is returned is its
    answer as it goes out, never an error of the call's own: errors are raised, as by TabletService. `tablet_id` as
    there. Older releases do not know these calls."""

    @call(CallTimeout.READ, changes_nothing=True)
    def relay_read(self, tablet_id: int, message: bytes) -> bytes:
        """One of the methods get*, getRow*."""

    @call(CallTimeout.WRITE)
    def relay_write(self, tablet_id: int, message: bytes) -> bytes:
        """One of the methods mutateRow, mutateRowTs. On return it is in the log, durable as configured, and visible."""


class TabletAdmin(Service):
    """The calls of a master to a tablet server. Each call carries the master's epoch; a smaller one than the highest
    seen is refused with LockLost."""

    @call(CallTimeout.LOAD)
    def load_tablet(self, epoch: int, record: TabletRecord, schema: TableSchema) -> None:
        """Recovers the tablet from its files and logs and serves it. Idempotent for the same generation."""

    @call(CallTimeout.ORDER)
    def unload_tablet(self, epoch: int, tablet_id: int) -> None:
        """Minor compaction, then stops serving. Fine when it is not served."""

    @call(CallTimeout.WRITE)
    def update_schema(self, epoch: int, table_id: int, schema: TableSchema) -> None:
        """All loaded tablets of the table use the new schema for reads and writes from now on."""

    @call(CallTimeout.COMPACT, repeatable=True)
    def flush(self, tablet_id: int) -> None:
        """A minor compaction of everything in the memtable at the call; durable on return."""

    @call(CallTimeout.COMPACT, repeatable=True)
    def compact(self, tablet_id: int, major: bool, family: Annotated[bytes, ADDED] = b"") -> None:
        """Returns when done. `family`: only the files of its locality group; none when there is no such family."""

    @call(CallTimeout.WRITE, repeatable=True, admin="adminRollLog")
    def roll_log(self) -> None:
        """Begins a new file of the log. The one before it is deleted as soon as no tablet needs it."""

    @call(CallTimeout.READ, admin="adminCompactionSwitch")
    def switch_compactions(self, on: bool) -> bool:
        """Whether this server does merging and major compactions from now on, until it ends: off, those under way are
        given up, and what is asked for is SwitchedOff. Whether it did before."""

    @call(CallTimeout.COMPACT)
    def split(self, tablet_id: int, split_row: bytes | None) -> bool:
        """Splits at the row (None: at the middle by size). False when there is nothing to split."""

    @call(CallTimeout.ORDER, repeatable=True)
    def sort_log_part(self, epoch: int, dead_incarnation: str, part: bytes) -> SortedRun:
        """Sorts a part (commitlog.log_ranges) of a dead server's fenced log; the run is durable on return. Any number
        of servers may sort the same part: the outcome is the same. Corruption; anything else: ask another server."""

    @call(CallTimeout.REPORTS, changes_nothing=True)
    def tablets(self, table_id: Annotated[int, ADDED] = EVERY_TABLE) -> list[TabletStatus]:
        """The tablets that it serves. `table_id`: of this table only; older releases answer with the tablets of every
        table."""

    @call(CallTimeout.REPORTS, changes_nothing=True)
    def served_changes(self, since: int) -> ServedChanges:
        """The tablets that came, went or changed their schema after the change of this number; 0: all that it serves.
        Older releases do not know the call: ask for tablets()."""

    @call(CallTimeout.REPORTS, changes_nothing=True)
    def served_record(self, tablet_id: int) -> TabletRecord:
        """The record of a tablet that the server serves. StaleLocation when it does not serve it. Older releases do not
        know the call."""

    @call(CallTimeout.REPORTS, changes_nothing=True, admin="adminFamilyUsage")
    def family_usage(self, table: TableName = b"") -> list[Mapping[str, str]]:
        """Disk, memory and requests of the column families of its tablets, of this table or of all, as
        model.usage.FamilyUsage has them: `table`, `families` (those of a locality group, with "/" between) and each
        number in decimal. Older releases do not know the call."""

    @call(CallTimeout.REPORTS, changes_nothing=True)
    def files_in_flight(self) -> set[str]:
        """Paths of SSTables written or being written that METADATA may not name yet."""

    @call(CallTimeout.READ, repeatable=True)
    def clear_block_cache(self, table_id: int) -> CacheEviction:
        """No block of the SSTables of its tablets of this table is in the cache on return."""

    @call(CallTimeout.REPORTS, changes_nothing=True)
    def task_deaths(self) -> list[str]:
        """A message for each background task of its process that ever died of a bug, and for a commit log that broke,
        for people."""

    @call(CallTimeout.REPORTS, changes_nothing=True)
    def ping(self) -> None:
        """Nothing: that it is answered says that this server can be reached."""


class MasterService(Service):
    """Table administration (paper, section 4: the master handles schema changes). All calls are synchronous:
    on return the change is durable and in effect on every server."""

    @call(CallTimeout.ORDER)
    def create_table(
        self, schema: TableSchema, split_rows: Sequence[bytes] = (), creator: Annotated[str, ADDED] = ""
    ) -> None:
        """The user `creator` gets every right to it; older releases give him none. TableExists, NamespaceNotFound,
        InvalidRequest."""

    @call(CallTimeout.ORDER)
    def delete_table(self, name: TableName) -> None:
        """TableNotFound, TableNotDisabled."""

    @call(CallTimeout.ORDER)
    def enable_table(self, name: TableName) -> None:
        """TableNotFound, TableNotDisabled when it is enabled."""

    @call(CallTimeout.ORDER)
    def disable_table(self, name: TableName) -> None:
        """TableNotFound, TableNotEnabled when it is disabled."""

    @call(CallTimeout.ORDER)
    def alter_table(self, schema: TableSchema) -> None:
        """Replaces the schema whose version is one less. Conflict when another change came first."""

    @call(CallTimeout.ORDER, admin="adminTruncateTable")
    def truncate_table(self, name: TableName, keep_splits: bool) -> None:
        """All cells are gone and the table is enabled on return; one tablet, or those it had. TableNotFound,
        TableNotDisabled."""

    @call(CallTimeout.ORDER, admin="adminMove")
    def move_tablet(self, name: TableName, tablet_id: int, server: ServerName = "") -> None:
        """Served by that server on return, loaded anew if it had it; "": by the least loaded other one, if there is
        one. TableNotFound, TableNotEnabled, InvalidRequest for an unknown tablet or server. MoveFailed: it was taken
        from its server, and that one could not load it."""

    @call(CallTimeout.COMPACT, admin="adminMerge")
    def merge_tablets(self, name: TableName, tablet_ids: Sequence[int]) -> None:
        """They are one tablet, served, on return. TableNotFound, TableNotEnabled, InvalidRequest unless they are two or
        more neighbours of this table; Unavailable when nothing was merged; OutcomeUnknown: perhaps some."""

    @call(CallTimeout.COMPACT, repeatable=True, admin="adminBalance")
    def balance(self) -> bool:
        """Moves tablets until all servers serve about as many. False: it is switched off, or the cluster is not calm
        enough: a tablet has no server, or a server is stopping or silent; or other operations go on with what could
        move."""

    @call(CallTimeout.ORDER, admin="adminBalanceSwitch")
    def balance_switch(self, on: bool) -> bool:
        """Whether the master balances by itself from now on; whether it did before."""

    @call(CallTimeout.READ, changes_nothing=True, admin="adminBalancerEnabled")
    def balancer_enabled(self) -> bool:
        """Whether it does now."""

    @call(CallTimeout.ORDER, repeatable=True, admin="adminNormalize")
    def normalize(self, tables: Sequence[TableName]) -> bool:
        """Small and emptied neighbours in these tables, in all without any, are merged from now on, in the background.
        False: it is switched off. Older releases do not know the call."""

    @call(CallTimeout.ORDER, admin="adminNormalizerSwitch")
    def normalizer_switch(self, on: bool) -> bool:
        """Whether the master merges them, by itself or when it is asked, from now on; whether it did before. Older
        releases do not know the call."""

    @call(CallTimeout.READ, changes_nothing=True, admin="adminNormalizerEnabled")
    def normalizer_enabled(self) -> bool:
        """Whether it does now. Older releases do not know the call."""

    @call(CallTimeout.ORDER, repeatable=True, admin="adminDecommission")
    def decommission(self, servers: Sequence[ServerName], offload: bool) -> None:
        """No tablet is placed on these tablet servers from now on, for as long as they live; with `offload` those that
        they serve are moved away in the background. InvalidRequest: one of them is not there, or no other one would be
        left to take tablets; none was marked."""

    @call(CallTimeout.ORDER, repeatable=True, admin="adminRecommission")
    def recommission(self, server: ServerName) -> None:
        """The server takes tablets again. InvalidRequest when it is not there."""

    @call(CallTimeout.COMPACT, repeatable=True)
    def collect_garbage(self) -> Collection:
        """One collection, over on return. Unavailable while METADATA or the file system is: nothing was removed."""

    @call(CallTimeout.ORDER, repeatable=True, admin="adminRunRepair")
    def look_at_everything(self) -> None:
        """The master looks at every tablet at once, and repairs what it finds, whether or not servers came or went."""

    @call(CallTimeout.ORDER, admin="adminCreateNamespace")
    def create_namespace(self, name: NamespaceName, properties: Mapping[str, str]) -> None:
        """AlreadyExists, InvalidRequest."""

    @call(CallTimeout.ORDER, admin="adminAlterNamespace")
    def alter_namespace(self, name: NamespaceName, properties: Mapping[str, str]) -> None:
        """All its properties from now on. NamespaceNotFound, InvalidRequest for one that cannot be changed."""

    @call(CallTimeout.ORDER, admin="adminDeleteNamespace")
    def delete_namespace(self, name: NamespaceName) -> None:
        """NamespaceNotFound; InvalidRequest while it holds tables, and for those that always exist."""

    @call(CallTimeout.REPORTS, changes_nothing=True)
    def master_task_deaths(self) -> list[str]:
        """As TabletAdmin.task_deaths, of the master's process."""

    @call(CallTimeout.REPORTS, changes_nothing=True)
    def balancer_rests(self) -> str:
        """The reason why tablets stay although servers have more of them than others, for people; "": they move, or
        are spread evenly. Older releases do not know the call."""

    @call(CallTimeout.REPORTS, changes_nothing=True)
    def ping_master(self) -> None:
        """Nothing: that it is answered says that the master can be reached."""

    @call(CallTimeout.ORDER, repeatable=True, admin="adminSetThrottle")
    def set_throttle(
        self,
        user: str = "",
        namespace_name: NamespaceName = b"",
        table: TableName = b"",
        every_server: bool = False,
        throttle_type: str = "",
        limit: int = 0,
        seconds: int = 1,
        cluster: bool = False,
    ) -> None:
        """At most `limit` of what HBase's `throttle_type` counts (REQUEST_NUMBER, WRITE_SIZE...) in so many `seconds`.
        It holds for each tablet server, or with `cluster` for all together. It counts calls of this user, calls for
        this namespace or table, or with `every_server` all calls. 0: no limit; if no type is given, none of any type.
        InvalidRequest, LimitExceeded. Older releases do not know the call."""

    @call(CallTimeout.ORDER, repeatable=True, admin="adminSetSpaceLimit")
    def set_space_limit(
        self, namespace_name: NamespaceName = b"", table: TableName = b"", limit: int = 0, policy: str = ""
    ) -> None:
        """The files of this table, or of this namespace's tables together, have at most `limit` bytes. When they have
        more, HBase's `policy` (NO_INSERTS, NO_WRITES, NO_WRITES_COMPACTIONS, DISABLE) is in force within some seconds,
        until they have less. 0: no limit. InvalidRequest, LimitExceeded. Older releases do not know the call."""

    @call(CallTimeout.REPORTS, changes_nothing=True, admin="adminSpaceUsage")
    def space_usage(self) -> list[Mapping[str, str]]:
        """Each table that users made: `table`, `bytes` of its files, and `limit`, `policy` and `violated` if it has a
        limit of space, or its namespace. Unavailable while a tablet server does not answer. Older releases do not know
        the call."""

    @call(CallTimeout.ORDER, repeatable=True, admin="adminSetQuotaExemption")
    def set_quota_exemption(self, user: str, exempt: bool) -> None:
        """Whether this user's calls count for no throttle but his own. InvalidRequest, LimitExceeded. Older releases do
        not know the call."""

    @call(CallTimeout.ORDER, admin="adminSetThrottling")
    def set_throttling(self, on: bool) -> bool:
        """Whether throttles are in force from now on; whether they were before. Older releases do not know the call."""

    @call(CallTimeout.READ, changes_nothing=True, admin="adminThrottlingEnabled")
    def throttling_enabled(self) -> bool:
        """Whether they are now. Older releases do not know the call."""

    @call(CallTimeout.READ, changes_nothing=True, admin="adminQuotas")
    def quotas(self) -> list[Mapping[str, str]]:
        """Everything that is set: of each `user`, `namespace` and `table` as they are named, then `type`, `limit`,
        `seconds` and `scope`, or `space`, `policy` and `violated`, or `exempt`. Older releases do not know the call."""
