"""The real gateway, every byte of it but the network, over tables that answer the same whatever is asked.

Nothing is kept between calls, so that memory which grows is the gateway's.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from hbtable.errors import NamespaceNotFound, NoSuchFamily, TableNotFound
from hbtable.hbase.cluster_backend import ClusterBackend, Masters
from hbtable.hbase.options import ThriftGatewayOptions
from hbtable.hbase.port_services import ClusterIdentity
from hbtable.hbase.security import NO_SECURITY, GatewaySecurity
from hbtable.hbase.server import ThriftGateway
from hbtable.metrics.registry import Registry
from hbtable.model import names
from hbtable.model.cell import Cell, Row
from hbtable.model.condition import check_condition
from hbtable.model.mutation import RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanPage, ScanPosition, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord
from hbtable.runtime.interface import Job
from hbtable.thrift.message_input import Stream

T = TypeVar("T")

_CELLS: list[Cell] = [(b"f:a", 7, b"value"), (b"f:b", 2**62, b"x" * 300), (b"f:\xff\x00", 0, b"")]
_SCHEMA = TableSchema(b"t", {b"f": FamilySchema(b"f"), b"g": FamilySchema(b"g")})
_RECORD = TableRecord(16, TableState.ENABLED, _SCHEMA)


class _Lock:
    def __enter__(self) -> object:
        return self

    def __exit__(self, *_: object) -> None: ...


class _Task:
    error = None

    def join(self, timeout_seconds: float | None = None) -> bool:
        return True

    def kill(self) -> None: ...


class _Event:
    """Nobody waits, where there is one task."""

    def set(self) -> None: ...


class CannedRuntime:
    """One task at a time: pausing does nothing, and what is spawned never runs."""

    def __init__(self) -> None:
        self.pauses = 0
        self.clock_seconds = time.monotonic

    def wall_millis(self) -> int:
        return int(time.time() * 1000)

    def sleep(self, seconds: float) -> None:
        self.pauses += 1

    def slice_end(self, seconds: float) -> float:
        return self.clock_seconds() + seconds

    def is_shared(self) -> bool:
        return False

    def pause_when_due(self) -> None:
        self.sleep(0)

    def request_gate(self, client: str, most: int, stream: object = None) -> Callable[[float], float]:
        return lambda now: now

    def read_in_turns(self, client: str, stream: object) -> None:
        pass

    def lock(self) -> _Lock:
        return _Lock()

    def event(self) -> _Event:
        return _Event()

    def spawn(self, function: Callable[..., object], *arguments: object, name: str = "") -> _Task:
        return _Task()

    def offload(self, kind: str, function: Callable[..., T], *arguments: object) -> T:
        return function(*arguments)

    def run_in_process(
        self, kind: str, job: Job, parts: Sequence[bytes], seconds: float, *turn: object, **named: object
    ) -> Sequence[bytes]:
        return job(parts)


class CannedTable:
    """Every row is there, families are f and g."""

    def _check(self, families: object) -> None:
        for family in families or ():  # type: ignore[attr-defined]
            if family not in _SCHEMA.families:
                raise NoSuchFamily(f"Column family {family!r} does not exist in t")

    def mutate(self, mutations: Sequence[RowMutation]) -> None:
        for mutation in mutations:
            self._check(operation[1] for operation in mutation.operations)

    def read_rows(self, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]:
        self._check(spec.columns)
        return [(row, _CELLS) for row in rows]

    def scan_page(self, request: ScanRequest) -> ScanPage:
        self._check(request.spec.columns)
        if request.position is not None:
            return ScanPage([], None)
        return ScanPage([(b"r1", _CELLS)] * min(request.max_rows, 5), ScanPosition(b"r6"))

    def increment(self, row: bytes, family: bytes, qualifier: bytes, amount: int) -> int:
        self._check((family,))
        return amount

    def append(self, row: bytes, values: Sequence[tuple[bytes, bytes, bytes]], ttl_millis: int = 0) -> list[Cell]:
        self._check(family for family, _, _ in values)
        return _CELLS

    def check_and_mutate(
        self, row: bytes, family: bytes, qualifier: bytes, expected: bytes | None, mutation: RowMutation
    ) -> bool:
        self._check((family,))
        return True

    def mutate_if(self, row: bytes, spec: ReadSpec, operator: str, value: bytes | None, mutation: RowMutation) -> bool:
        check_condition(spec, operator, value)
        self._check(spec.columns)
        self.mutate([mutation])
        return True

    def add_to_columns(self, mutation: RowMutation) -> list[Cell]:
        self._check(family for _, family, *_ in mutation.operations)
        return [(family + b":" + qualifier, 7, value) for _, family, qualifier, _, value in mutation.operations]

    def delete_range(self, rows: RowRange, timestamp: int) -> None: ...

    def record(self) -> TableRecord:
        return _RECORD


class CannedCluster:
    """Has table t, and lets every other be made and dropped without remembering it."""

    def open_table(self, name: bytes) -> CannedTable:
        if names.parse(name) != b"t":
            raise TableNotFound(f"{name!r} does not exist")
        return CannedTable()

    def tables(self) -> list[TableRecord]:
        return [self.record(b"t")]

    def record(self, name: bytes) -> TableRecord:
        if name != b"t":
            raise TableNotFound(f"{name!r} does not exist")
        return _RECORD

    def tablets(self, name: bytes) -> list[TabletRecord]:
        self.record(name)
        return [TabletRecord(16, 20, RowRange(b"", b""), 1700000000000, "server-a")]

    def create_table(self, schema: TableSchema, split_rows: Sequence[bytes] = ()) -> None: ...

    def delete_table(self, name: bytes) -> None:
        self.record(name)

    def enable_table(self, name: bytes) -> None:
        self.record(name)

    def disable_table(self, name: bytes) -> None:
        self.record(name)

    def compact_at(self, record: TabletRecord, major: bool) -> None: ...

    def truncate_table(self, name: bytes, keep_splits: bool) -> None:
        self.record(name)

    def alter_table(self, schema: TableSchema) -> None:
        self.record(schema.name)

    def create_namespace(self, name: bytes, properties: Mapping[str, str]) -> None: ...

    def alter_namespace(self, name: bytes, properties: Mapping[str, str]) -> None:
        self.namespace_properties(name)

    def delete_namespace(self, name: bytes) -> None:
        self.namespace_properties(name)

    def namespace_properties(self, name: bytes) -> dict[str, str]:
        if name not in self.namespaces():
            raise NamespaceNotFound(f"namespace {name!r} does not exist")
        return {"k": "v"}

    def namespaces(self) -> list[bytes]:
        return [b"default", b"hbase"]


class _Listener:
    port = 9090
    capacity = 1000

    def stop_accepting(self) -> None: ...


class CannedGateway:
    """serve() is what a listening port would call for each connection."""

    def __init__(
        self,
        options: ThriftGatewayOptions | None = None,
        cluster: Any = None,
        security: GatewaySecurity = NO_SECURITY,
    ) -> None:
        self.runtime = CannedRuntime()
        self.registry = Registry()
        self.serve: Callable[[Stream, tuple[str, int]], None]
        cluster = cluster or CannedCluster()
        identity = ClusterIdentity(lambda: "id", lambda owner: (b"localhost", 9090))
        self.gateway = ThriftGateway(
            self.runtime,  # type: ignore[arg-type]  # the parts of a runtime that a gateway uses
            self._listen,
            cluster.open_table,
            cluster,
            self.registry,
            identity,
            options,
            cluster=ClusterBackend(cluster, list, cluster, lambda: Masters(None, []), cluster),
            security=security,
        )
        self.gateway.start()

    def _listen(self, serve: Callable[[Stream, tuple[str, int]], None]) -> _Listener:
        self.serve = serve
        return _Listener()
