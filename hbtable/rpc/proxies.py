"""The services of services.py as objects whose calls go to another process (peer.py)."""

from collections.abc import Mapping, Sequence
from typing import cast, final

from hbtable.commitlog.recovery.sorted_runs import SortedRun
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import RowMutation
from hbtable.model.read import ReadSpec, ScanPage, ScanRequest
from hbtable.model.schema import TableSchema
from hbtable.model.status import CacheEviction, Collection, TabletStatus
from hbtable.model.tablet import TabletRecord
from hbtable.rpc.codec import calls
from hbtable.rpc.peer import Peer
from hbtable.switches import switches


@final
class RemoteTabletService:
    """rpc.services.TabletService."""

    __slots__ = ("_call", "_name")

    def __init__(self, peer: Peer) -> None:
        self._call = peer.call
        self._name = peer.name

    @switches
    def mutate(self, tablet_id: int, mutations: Sequence[RowMutation]) -> None:
        self._call(calls.MUTATE, (self._name, tablet_id, mutations))

    @switches
    def read_rows(self, tablet_id: int, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]:
        return cast(list[Row], self._call(calls.READ_ROWS, (self._name, tablet_id, rows, spec)))

    @switches
    def scan(self, tablet_id: int, request: ScanRequest) -> ScanPage:
        return cast(ScanPage, self._call(calls.SCAN, (self._name, tablet_id, request)))

    @switches
    def increment(self, tablet_id: int, row: bytes, family: bytes, qualifier: bytes, amount: int) -> int:
        return cast(int, self._call(calls.INCREMENT, (self._name, tablet_id, row, family, qualifier, amount)))

    @switches
    def append(
        self, tablet_id: int, row: bytes, values: Sequence[tuple[bytes, bytes, bytes]], ttl_millis: int = 0
    ) -> list[Cell]:
        return cast(list[Cell], self._call(calls.APPEND, (self._name, tablet_id, row, values, ttl_millis)))

    @switches
    def check_and_mutate(
        self, tablet_id: int, row: bytes, family: bytes, qualifier: bytes, expected: bytes | None, mutation: RowMutation
    ) -> bool:
        arguments = (self._name, tablet_id, row, family, qualifier, expected, mutation)
        return cast(bool, self._call(calls.CHECK_AND_MUTATE, arguments))


@final
class RemoteTabletAdmin:
    """rpc.services.TabletAdmin."""

    __slots__ = ("_call", "_name")

    def __init__(self, peer: Peer) -> None:
        self._call = peer.call
        self._name = peer.name

    @switches
    def load_tablet(self, epoch: int, record: TabletRecord, schema: TableSchema) -> None:
        self._call(calls.LOAD_TABLET, (self._name, epoch, record, schema))

    @switches
    def unload_tablet(self, epoch: int, tablet_id: int) -> None:
        self._call(calls.UNLOAD_TABLET, (self._name, epoch, tablet_id))

    @switches
    def update_schema(self, epoch: int, table_id: int, schema: TableSchema) -> None:
        self._call(calls.UPDATE_SCHEMA, (self._name, epoch, table_id, schema))

    @switches
    def sort_log_part(self, epoch: int, incarnation: str, part: bytes) -> SortedRun:
        return cast(SortedRun, self._call(calls.SORT_LOG_RANGE, (self._name, epoch, incarnation, part)))

    @switches
    def flush(self, tablet_id: int) -> None:
        self._call(calls.FLUSH, (self._name, tablet_id))

    @switches
    def compact(self, tablet_id: int, major: bool, family: bytes = b"") -> None:
        self._call(calls.COMPACT, (self._name, tablet_id, major, family))

    @switches
    def roll_log(self) -> None:
        self._call(calls.ROLL_LOG, (self._name,))

    @switches
    def switch_compactions(self, on: bool) -> bool:
        return cast(bool, self._call(calls.SWITCH_COMPACTIONS, (self._name, on)))

    @switches
    def split(self, tablet_id: int, split_row: bytes | None) -> bool:
        return cast(bool, self._call(calls.SPLIT, (self._name, tablet_id, split_row)))

    @switches
    def tablets(self) -> list[TabletStatus]:
        return cast(list[TabletStatus], self._call(calls.TABLETS, (self._name,)))

    @switches
    def files_in_flight(self) -> set[str]:
        return cast(set[str], self._call(calls.FILES_IN_FLIGHT, (self._name,)))

    @switches
    def ping(self) -> None:
        self._call(calls.PING, (self._name,))

    @switches
    def clear_block_cache(self, table_id: int) -> CacheEviction:
        return cast(CacheEviction, self._call(calls.CLEAR_BLOCK_CACHE, (self._name, table_id)))


@final
class RemoteMasterService:
    """rpc.services.MasterService."""

    __slots__ = ("_call",)

    def __init__(self, peer: Peer) -> None:
        self._call = peer.call

    @switches
    def create_table(self, schema: TableSchema, split_rows: Sequence[bytes] = ()) -> None:
        self._call(calls.CREATE_TABLE, (schema, split_rows))

    @switches
    def delete_table(self, name: bytes) -> None:
        self._call(calls.DELETE_TABLE, (name,))

    @switches
    def enable_table(self, name: bytes) -> None:
        self._call(calls.ENABLE_TABLE, (name,))

    @switches
    def disable_table(self, name: bytes) -> None:
        self._call(calls.DISABLE_TABLE, (name,))

    @switches
    def alter_table(self, schema: TableSchema) -> None:
        self._call(calls.ALTER_TABLE, (schema,))

    @switches
    def truncate_table(self, name: bytes, keep_splits: bool) -> None:
        self._call(calls.TRUNCATE_TABLE, (name, keep_splits))

    @switches
    def move_tablet(self, name: bytes, tablet_id: int, server: str = "") -> None:
        self._call(calls.MOVE_TABLET, (name, tablet_id, server))

    @switches
    def merge_tablets(self, name: bytes, tablet_ids: Sequence[int]) -> None:
        self._call(calls.MERGE_TABLETS, (name, tablet_ids))

    @switches
    def balance(self) -> bool:
        return cast(bool, self._call(calls.BALANCE, ()))

    @switches
    def balance_switch(self, on: bool) -> bool:
        return cast(bool, self._call(calls.BALANCE_SWITCH, (on,)))

    @switches
    def balancer_enabled(self) -> bool:
        return cast(bool, self._call(calls.BALANCER_ENABLED, ()))

    @switches
    def decommission(self, servers: Sequence[str], offload: bool) -> None:
        self._call(calls.DECOMMISSION, (servers, offload))

    @switches
    def recommission(self, server: str) -> None:
        self._call(calls.RECOMMISSION, (server,))

    @switches
    def collect_garbage(self) -> Collection:
        return cast(Collection, self._call(calls.COLLECT_GARBAGE, ()))

    @switches
    def look_at_everything(self) -> None:
        self._call(calls.LOOK_AT_EVERYTHING, ())

    @switches
    def create_namespace(self, name: bytes, properties: Mapping[str, str]) -> None:
        self._call(calls.CREATE_NAMESPACE, (name, properties))

    @switches
    def alter_namespace(self, name: bytes, properties: Mapping[str, str]) -> None:
        self._call(calls.ALTER_NAMESPACE, (name, properties))

    @switches
    def delete_namespace(self, name: bytes) -> None:
        self._call(calls.DELETE_NAMESPACE, (name,))

    @switches
    def ping_master(self) -> None:
        self._call(calls.PING_MASTER, ())
