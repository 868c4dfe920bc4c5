"""A gateway without a network and without tablets: fakes that honour the interfaces, and a client on bytes."""

from bisect import insort
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from thriftpy2.protocol.binary import TBinaryProtocol
from thriftpy2.protocol.compact import TCompactProtocol
from thriftpy2.thrift import TApplicationException, TMessageType
from thriftpy2.transport import TMemoryBuffer

from hbtable.client.table_calls import AheadPage
from hbtable.errors import BadFilter, LimitExceeded, NoSuchFamily, TableNotEnabled, TableNotFound
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.calls.handler import bind
from hbtable.hbase.calls.reads import ReadCalls
from hbtable.hbase.calls.scanner_calls import ScannerCalls
from hbtable.hbase.calls.scanner_ids import ScannerIds, unsaved
from hbtable.hbase.calls.scanners import ScannerOptions, Scanners
from hbtable.hbase.calls.tables import TableAdminCalls
from hbtable.hbase.calls.writes import WriteCalls
from hbtable.hbase.codec.answers import BinaryDialect, CompactDialect
from hbtable.hbase.codec.interface import ThriftInterface
from hbtable.hbase.codec.wires import wires
from hbtable.hbase.connection import GatewayConnection
from hbtable.hbase.connection_context import ConnectionContext
from hbtable.hbase.slow import SlowRequests
from hbtable.metrics.registry import Registry
from hbtable.model import names
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanPage, ScanPosition, ScanRequest, bytes_of
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord


class FakeTask:
    error = None

    def join(self, timeout_seconds: float | None = None) -> bool:
        return True

    def kill(self) -> None: ...


class FakeEvent:
    def set(self) -> None: ...

    def wait(self) -> None: ...


class FakeLock:
    def __enter__(self) -> object:
        return self

    def __exit__(self, *_: object) -> None: ...


class FakeRuntime:
    """Time stands still unless told; tasks run at once."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.pauses = 0

    def clock_seconds(self) -> float:
        return self.now

    def wall_millis(self) -> int:
        return int(self.now * 1000)

    def sleep(self, seconds: float) -> None:
        self.pauses += 1

    def slice_end(self, seconds: float) -> float:
        return self.now + seconds

    def is_shared(self) -> bool:
        return False

    def pause_when_due(self) -> None:
        self.sleep(0)

    def request_gate(self, client: str, most: int, stream: object = None) -> Callable[[float], float]:
        return lambda now: now

    def read_in_turns(self, client: str, stream: object) -> None:
        pass

    def event(self) -> FakeEvent:
        return FakeEvent()

    def lock(self) -> FakeLock:
        return FakeLock()

    def offload(self, kind: str, function: Callable[..., Any], *arguments: object) -> Any:
        return function(*arguments)

    def spawn(self, function: Callable[..., object], *arguments: object, name: str = "") -> FakeTask:
        function(*arguments)
        return FakeTask()


class FakeTable:
    """Rows in memory, newest value of a column only; pages of at most `page_rows`. Remembers what it was asked."""

    def __init__(self, families: Sequence[bytes], page_rows: int = 3) -> None:
        self.families = families
        self.rows: list[bytes] = []
        self.cells: dict[bytes, dict[bytes, tuple[int, bytes]]] = {}
        self.page_rows = page_rows
        self.mutations: list[RowMutation] = []
        self.ranges: list[tuple[RowRange, int]] = []
        self.increments: list[int] = []
        self.specs: list[ReadSpec] = []
        self.requests: list[ScanRequest] = []
        self.ahead: list[ScanRequest] = []
        self.enabled = True
        self.fail: Exception | None = None
        self.record: Callable[[], TableRecord]

    def _check(self) -> None:
        if self.fail is not None:
            raise self.fail
        if not self.enabled:
            raise TableNotEnabled("t is disabled.")

    def mutate(self, mutations: Sequence[RowMutation]) -> None:
        self._check()
        for mutation in mutations:
            for kind, family, qualifier, timestamp, value in mutation.operations:
                if family not in self.families:
                    raise NoSuchFamily(f"Column family {family!r} does not exist")
                if kind == PUT:
                    if mutation.row not in self.cells:
                        insort(self.rows, mutation.row)
                    column = family + b":" + qualifier
                    self.cells.setdefault(mutation.row, {})[column] = (max(timestamp, 7), value)
        # Who calls takes the lists apart afterwards.
        self.mutations += [RowMutation(one.row, [*one.operations], one.skip_log, one.ttl_millis) for one in mutations]

    def _row(self, row: bytes) -> list[Cell]:
        return [(column, *cell) for column, cell in sorted(self.cells.get(row, {}).items())]

    def read_rows(self, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]:
        self._check()
        self.specs.append(spec)
        found = [(row, self._row(row)) for row in rows if row in self.cells]
        if sum(bytes_of(*row) for row in found) > spec.max_bytes:
            raise LimitExceeded(f"more than {spec.max_bytes} bytes")
        return found

    def scan_page(self, request: ScanRequest) -> ScanPage:
        self._check()
        self.requests.append(request)
        rows = [row for row in self.rows if request.range.holds(row)]
        if request.reversed:
            rows.reverse()
        if request.position is not None:
            rows = rows[rows.index(request.position.row) :]
        if rows and bytes_of(rows[0], self._row(rows[0])) > request.spec.max_bytes:
            raise LimitExceeded(f"row {rows[0]!r} holds more than {request.spec.max_bytes} bytes")
        count = min(request.max_rows, self.page_rows)
        position = ScanPosition(rows[count]) if len(rows) > count else None
        return ScanPage([(row, self._row(row)) for row in rows[:count]], position)

    def page_ahead(self, request: ScanRequest) -> AheadPage | None:
        self.ahead.append(request)
        changes = len(self.mutations)
        return AheadPage(self.scan_page(request), lambda: len(self.mutations) == changes)

    def increment(self, row: bytes, family: bytes, qualifier: bytes, amount: int) -> int:
        self._check()
        self.increments.append(amount)
        return amount + 1

    def append(self, row: bytes, values: Sequence[tuple[bytes, bytes, bytes]], ttl_millis: int = 0) -> list[Cell]:
        self._check()
        return [(family + b":" + qualifier, 9, suffix) for family, qualifier, suffix in values]

    def check_and_mutate(
        self, row: bytes, family: bytes, qualifier: bytes, expected: bytes | None, mutation: RowMutation
    ) -> bool:
        self._check()
        self.mutations.append(mutation)
        return expected == b"yes"

    def delete_range(self, rows: RowRange, timestamp: int) -> None:
        self._check()
        self.ranges.append((rows, timestamp))


class FakeCluster:
    """Opens and administers FakeTables."""

    def __init__(self) -> None:
        self.made: dict[bytes, FakeTable] = {}
        self.schemas: dict[bytes, TableSchema] = {}
        self.compacted: list[tuple[int, bool]] = []

    def open_table(self, name: bytes) -> FakeTable:
        name = names.parse(name)
        if name in self.made:
            return self.made[name]
        missing = self._named(FakeTable([]), name)
        missing.fail = TableNotFound(name.decode())
        return missing

    def _named(self, table: FakeTable, name: bytes) -> FakeTable:
        table.record = partial(self.record, name)
        return table

    def _existing(self, name: bytes) -> FakeTable:
        if name not in self.made:
            raise TableNotFound(name.decode())
        return self.made[name]

    def tables(self) -> list[TableRecord]:
        return [self.record(name) for name in sorted(self.made)]

    def record(self, name: bytes) -> TableRecord:
        state = TableState.ENABLED if self._existing(name).enabled else TableState.DISABLED
        return TableRecord(16, state, self.schemas[name])

    def tablets(self, name: bytes) -> list[TabletRecord]:
        self._existing(name)
        return [
            TabletRecord(16, 20, RowRange(b"", b"m"), 1700000000000, "server-a"),
            TabletRecord(16, 21, RowRange(b"m", b""), 1700000000000, ""),
        ]

    def create_table(self, schema: TableSchema) -> None:
        self.made[schema.name] = self._named(FakeTable(list(schema.families)), schema.name)
        self.schemas[schema.name] = schema

    def delete_table(self, name: bytes) -> None:
        self._existing(name)
        del self.made[name]

    def enable_table(self, name: bytes) -> None:
        self._existing(name).enabled = True

    def disable_table(self, name: bytes) -> None:
        self._existing(name).enabled = False

    def compact_at(self, record: TabletRecord, major: bool) -> None:
        self.compacted.append((record.tablet_id, major))


class FakeStream:
    """What a client sends, piece by piece, and what it gets. A piece that can be called is done at its turn."""

    def __init__(self, pieces: Sequence[bytes | Callable[[], object]]) -> None:
        self.pieces: list[Any] = list(pieces)
        self.sent = b""
        self.closed = False
        self.recv_error: Exception | None = None

    def recv(self, most: int) -> bytes:
        while self.pieces and callable(self.pieces[0]):
            self.pieces.pop(0)()
        if not self.pieces:
            if self.recv_error is not None:
                raise self.recv_error
            return b""
        piece = self.pieces.pop(0)
        if len(piece) > most:
            self.pieces.insert(0, piece[most:])
        return piece[:most]

    def sendall(self, data: bytes) -> None:
        self.sent += data

    def settimeout(self, seconds: float | None) -> None: ...

    def close(self) -> None:
        self.closed = True


def check_filter(text: bytes) -> None:
    if b"(" not in text:
        raise BadFilter(f"there is no filter in {text!r}", 0)


class GatewayRig:
    """Everything but the port. `talk` hands bytes to a connection and returns what it sent."""

    def __init__(self, message_bytes: int = 1 << 20, answer_bytes: int = 1 << 20) -> None:
        self.runtime: Any = FakeRuntime()
        self.cluster = FakeCluster()
        self.registry = Registry()
        self.interface = ThriftInterface()
        self.scanners = Scanners(self.runtime, ScannerIds(unsaved()), ScannerOptions())
        self.slow = SlowRequests(256, 0.1, self.scanners.table_of)
        strict, loose = BinaryDialect(self.interface, True), BinaryDialect(self.interface, False)
        self.context = ConnectionContext(
            self.runtime,
            self.interface,
            wires(strict, loose, CompactDialect(self.interface)),
            self.registry,
            self.slow,
            message_bytes,
            stall_seconds=5.0,
        )
        tables, pause = TableBackend(self.cluster.open_table), self.context.pause
        cluster = self.cluster
        parts = [
            ReadCalls(tables, answer_bytes, pause),
            WriteCalls(tables, lambda name: list(cluster.record(name).schema.families), 10 << 20, pause),
            ScannerCalls(tables, cluster.record, self.scanners, check_filter, answer_bytes, pause, self.context.budget),
            TableAdminCalls(self.runtime, tables, cluster, lambda: "an-id", lambda owner: (owner or "here", 9090), 1.0),
        ]
        bind(self.interface, parts)
        self.interface.methods[b"scannerGetList"].look_ahead = parts[2].look_ahead  # type: ignore[attr-defined]
        cluster.create_table(TableSchema(b"t", {b"f": FamilySchema(b"f"), b"g": FamilySchema(b"g")}))

    @property
    def table(self) -> FakeTable:
        return self.cluster.made[b"t"]

    def talk(self, *pieces: bytes | Callable[[], object]) -> FakeStream:
        stream = FakeStream(pieces)
        GatewayConnection(stream, "client:1", self.context).serve()
        assert self.context.in_flight == 0
        return stream


class Client:
    """Encodes calls with thriftpy2's pure Python protocols, decodes answers with them."""

    def __init__(
        self, gateway: GatewayRig, protocol: str = "binary", framed: bool = False, piece_bytes: int = 0
    ) -> None:
        self.gateway = gateway
        self.protocol = protocol
        self.framed = framed
        self.piece_bytes = piece_bytes
        self.sequence = 0
        self.thrift: Any = gateway.interface.thrift

    def _codec(self, buffer: Any) -> Any:
        if self.protocol == "compact":
            return TCompactProtocol(buffer, decode_response=False)
        strict = self.protocol == "binary"
        return TBinaryProtocol(buffer, strict_read=strict, strict_write=strict, decode_response=False)

    def encode(self, method: str, **arguments: Any) -> bytes:
        self.sequence += 1
        buffer = TMemoryBuffer()
        codec = self._codec(buffer)
        codec.write_message_begin(method, TMessageType.CALL, self.sequence)
        getattr(self.thrift.Hbase, method + "_args")(**arguments).write(codec)
        codec.write_message_end()
        message: bytes = buffer.getvalue()
        return len(message).to_bytes(4, "big") + message if self.framed else message

    def decode(self, answer: bytes, method: str) -> Any:
        if self.framed:
            assert int.from_bytes(answer[:4], "big") == len(answer) - 4
            answer = answer[4:]
        codec = self._codec(TMemoryBuffer(answer))
        name, kind, sequence = codec.read_message_begin()
        assert (name if isinstance(name, str) else name.decode()) == method
        assert sequence == self.sequence
        if kind == TMessageType.EXCEPTION:
            refused = TApplicationException()
            refused.read(codec)
            refused.message = (refused.message or b"").decode()  # decoded as bytes, and str() of it must be text
            raise refused
        result = getattr(self.thrift.Hbase, method + "_result")()
        result.read(codec)
        for field in ("io", "ia", "exist"):
            error = getattr(result, field, None)
            if error is not None:
                raise error
        return getattr(result, "success", None)

    def call(self, method: str, **arguments: Any) -> Any:
        message = self.encode(method, **arguments)
        size = self.piece_bytes or len(message)
        pieces = [message[first : first + size] for first in range(0, len(message), size)]
        return self.decode(self.gateway.talk(*pieces).sent, method)


@pytest.fixture
def gateway() -> GatewayRig:
    return GatewayRig()


@pytest.fixture
def small_gateway() -> GatewayRig:
    """A message limit of 2,000 bytes and an answer limit of 300."""
    return GatewayRig(message_bytes=2000, answer_bytes=300)


@pytest.fixture
def client(gateway: GatewayRig) -> Client:
    return Client(gateway)


@pytest.fixture
def connect() -> Callable[..., Client]:
    return Client


@pytest.fixture(params=["binary", "loose", "compact"])
def every_client(request: pytest.FixtureRequest, gateway: GatewayRig) -> Client:
    """Each protocol, unframed."""
    return Client(gateway, request.param)


@pytest.fixture
def runtime() -> Any:
    return FakeRuntime()
