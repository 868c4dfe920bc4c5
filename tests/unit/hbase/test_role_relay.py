"""A call about another server's row is carried out there as it came: the answer has the bytes of that server's own
gateway, and where something fails the client is told what it was told ever."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from thriftpy2.protocol.binary import TBinaryProtocol
from thriftpy2.thrift import TMessageType
from thriftpy2.transport import TMemoryBuffer

from hbtable.client.client import Client
from hbtable.errors import (
    Corruption,
    CostExceeded,
    HbtableError,
    InvalidRequest,
    LockLost,
    NoSuchFamily,
    OutcomeUnknown,
    StaleLocation,
    TableNotFound,
    Unavailable,
    UnknownCall,
    UnsupportedFormat,
)
from hbtable.fs.memory import MemoryFileSystem
from hbtable.hbase.codec.interface import ThriftInterface
from hbtable.hbase.connection import GatewayConnection
from hbtable.hbase.errors import PutsUnknown
from hbtable.hbase.options import ThriftGatewayOptions
from hbtable.hbase.relays.role_relay import RoleRelay
from hbtable.hbase.security import NO_SECURITY
from hbtable.hbase.server import ThriftGateway
from hbtable.launch.embedded_cluster import EmbeddedCluster
from hbtable.launch.thrift_gateway import make_thrift_gateway
from hbtable.metrics.registry import Registry
from hbtable.model.ranges import RowRange
from hbtable.model.read import EVERYTHING
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.services import RelayService
from hbtable.rpc.thrift_server import RpcServer
from hbtable.rpc.thrift_transport import RpcTransport
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network.sockets import serve
from hbtable.testing.memory_lockservice import MemoryLockService
from tests.harness.waiting import SOON_SECONDS
from tests.unit.hbase.conftest import FakeStream

LONG = RpcOptions(connect_seconds=60, read_seconds=60, write_seconds=60, census_seconds=60)
HBASE: Any = ThriftInterface().thrift


def message(name: str, *arguments: Any) -> bytes:
    """As a client sends it, without a frame."""
    buffer = TMemoryBuffer()
    protocol = TBinaryProtocol(buffer)
    protocol.write_message_begin(name, TMessageType.CALL, 7)
    given = getattr(HBASE.Hbase, f"{name}_args")()
    for field, value in zip(given.thrift_spec.values(), arguments, strict=False):
        setattr(given, field[1], value)
    protocol.write_struct(given)
    protocol.write_message_end()
    return bytes(buffer.getvalue())


def put(column: bytes, value: bytes, **more: Any) -> Any:
    return HBASE.Mutation(column=column, value=value, **more)


class Gateways:
    """A tablet server with its gateway, and a gateway of another process that has no tablets."""

    def __init__(self) -> None:
        self.runtime = runtime = GeventRuntime()
        self.cluster = cluster = EmbeddedCluster(runtime, MemoryFileSystem(runtime), MemoryLockService(runtime))
        cluster.start()
        cluster.client.admin.create_table(
            TableSchema(b"t", {name: FamilySchema(name) for name in (b"f", b"g")}), [b"m"]
        )
        self.incarnation = cluster.server.incarnation
        self.own = self._gateway(cluster.client, cluster.transport, cluster.registry)
        service = cluster.transport.tablet_service(self.incarnation)
        cluster.transport.register_relays(self.incarnation, self.own.relayed_calls(service))
        self.server = RpcServer(runtime, cluster.transport, lambda handle: serve("127.0.0.1", 0, handle))
        address = f"127.0.0.1:{self.server.start()}"
        self.transport = RpcTransport(runtime, lambda name: address, lambda: address, LONG)
        self.client = Client(runtime, cluster.session, self.transport)
        self.registry = Registry()
        self.other = self._gateway(self.client, self.transport, self.registry)
        self.relay = RoleRelay("", self.client.table, self.transport.relays, self.registry)
        self.other.relay_by_roles(self.relay)

    def _gateway(self, client: Client, transport: Any, registry: Registry) -> ThriftGateway:
        return make_thrift_gateway(
            self.runtime,
            client,
            transport,
            self.cluster.session,
            registry,
            "127.0.0.1",
            0,
            ThriftGatewayOptions(answer_bytes=1 << 20),
            "an-id",
            lambda owner: (b"host", 1),
            NO_SECURITY,
        )

    def asked(self, gateway: ThriftGateway, data: bytes) -> bytes:
        stream = FakeStream([data])
        # In a task of its own: it takes part in turns for as long as it lives, and the test's own task lives on.
        task = self.runtime.spawn(GatewayConnection(stream, "client:1", gateway._context).serve, name="client")
        assert task.join(SOON_SECONDS)
        assert task.error is None
        return stream.sent

    def close(self) -> None:
        self.transport.close()
        self.server.close()
        self.cluster.stop()
        self.runtime.close()


@pytest.fixture(scope="module")
def gateways() -> Iterator[Gateways]:
    made = Gateways()
    for row in (b"a", b"z"):
        made.asked(
            made.other,
            message("mutateRowTs", b"t", row, [put(b"f:a", b"1"), put(b"g:\xff", b"2"), put(b"f:", b"x" * 50_000)], 5),
        )
        made.asked(made.other, message("mutateRowTs", b"t", row, [put(b"f:a", b"new")], 9))
    made.asked(made.other, message("mutateRowTs", b"t", b"wide", [put(b"f:%d" % n, b"v") for n in range(2000)], 5))
    yield made
    made.close()


READS = [
    message("get", b"t", b"a", b"f:a", {}),
    message("get", b"t", b"a", b"f:none", {}),
    message("getVer", b"t", b"z", b"f:a", 5, {}),
    message("getVerTs", b"t", b"z", b"f:a", 9, 5, {}),
    message("getRow", b"t", b"a", {}),
    message("getRow", b"t", b"a"),
    message("getRow", b"t", b"a", {b"attribute": b"value"}),
    message("getRow", b"t", b"absent", {}),
    message("getRow", b"default:t", b"z", {}),
    message("getRow", b"t", b"wide", {}),
    message("getRowTs", b"t", b"z", 9, {}),
    message("getRowWithColumns", b"t", b"a", [b"f:a", b"g"], {}),
    message("getRowWithColumns", b"t", b"a", [], {}),
    message("getRowWithColumnsTs", b"t", b"a", [b"f"], 6, {}),
]
WRITES = [
    message("mutateRow", b"t", b"w", [put(b"f:a", b"1")], {}),
    message("mutateRow", b"t", b"w", [put(b"f:a", b"2"), put(b"g:b", b"3")], {}),
    message("mutateRow", b"t", b"w", [HBASE.Mutation(isDelete=True, column=b"g:b")], {}),
    message("mutateRow", b"t", b"w", [put(b"f:a", b"no log", writeToWAL=False)], {}),
    message("mutateRow", b"t", b"w", [], {}),
    message("mutateRow", b"t", b"w", [put(b"f:ttl", b"1")], {b"_ttl": (10**9).to_bytes(8, "big")}),
    message("mutateRowTs", b"t", b"w", [put(b"f:a", b"4")], 77, {}),
    message("mutateRowTs", b"t", b"w", [put(b"f:longer", b"x" * 9_000)], 77, {}),
]
REFUSED = [
    message("get", b"t", b"a", b"none:a", {}),
    message("get", b"t", b"a", None, {}),
    message("getVer", b"t", b"a", b"f:a", 0, {}),
    message("getRow", b"t", b"", {}),
    message("getRow", b"t", b"x" * 40_000, {}),
    message("getRowWithColumns", b"t", b"a", [b"none"], {}),
    message("mutateRow", b"t", b"w", None, {}),
    message("mutateRow", b"t", b"w", [put(b"none:a", b"1")], {}),
    message("mutateRow", b"t", b"w", [put(b"no colon", b"1")], {}),
    message("mutateRow", b"t", b"w", [put(b"f:a", b"1")], {b"_ttl": b"short"}),
    message("getRow", b"absent", b"a", {}),
]


@pytest.mark.parametrize("number", range(len(READS)))
def test_a_read_is_answered_with_the_bytes_of_the_servers_own_gateway(gateways: Gateways, number: int) -> None:
    expected = gateways.asked(gateways.own, READS[number])
    relayed = gateways.relay.count.value
    assert gateways.asked(gateways.other, READS[number]) == expected
    assert gateways.relay.count.value == relayed + 1


@pytest.mark.parametrize("number", range(len(WRITES)))
def test_a_write_does_there_what_it_does_at_the_servers_own_gateway(gateways: Gateways, number: int) -> None:
    gateways.client.table(b"t").read_rows([b"w"], EVERYTHING)
    found = []
    for gateway in (gateways.own, gateways.other):
        gateways.asked(gateway, message("deleteAllRow", b"t", b"w", {}))
        relayed = gateways.relay.count.value
        answer = gateways.asked(gateway, WRITES[number])
        assert gateways.relay.count.value == relayed + (gateway is gateways.other)
        rows = gateways.cluster.client.table(b"t").read_rows([b"w"], EVERYTHING)
        found.append((answer, [(column, value) for _, cells in rows for column, _, value in cells]))
    assert found[0] == found[1]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_refused_is_refused_in_the_same_words(gateways: Gateways, number: int) -> None:
    assert gateways.asked(gateways.other, REFUSED[number]) == gateways.asked(gateways.own, REFUSED[number])


def test_a_row_that_is_too_large_is_refused_in_the_same_words(gateways: Gateways) -> None:
    for part in range(30):
        gateways.asked(gateways.own, message("mutateRow", b"t", b"huge", [put(b"f:%d" % part, b"x" * 50_000)], {}))
    read = message("getRow", b"t", b"huge", {})
    assert b"LimitExceeded" in gateways.asked(gateways.own, read) or b"IOError" in gateways.asked(gateways.own, read)
    assert gateways.asked(gateways.other, read) == gateways.asked(gateways.own, read)


def test_only_calls_on_one_row_of_one_kind_are_carried_out(gateways: Gateways) -> None:
    relays = gateways.transport.relays(gateways.incarnation)
    [tablet, _] = gateways.client.admin.tablets(b"t")
    answer = relays.relay_read(tablet.tablet_id, READS[0])
    assert answer == gateways.asked(gateways.own, READS[0])
    others = [
        message("mutateRow", b"t", b"a", [put(b"f:a", b"1")], {}),
        message("deleteAllRow", b"t", b"a", {}),
        message("getTableNames"),
        message("disableTable", b"t"),
        READS[0][:-9],
        b"\x80\x01\x00\x01\xff\xff\xff\xff",
        b"",
    ]
    for data in others:
        with pytest.raises(InvalidRequest, match="passed on"):
            relays.relay_read(tablet.tablet_id, data)
    for data in (READS[0], *others[1:]):
        with pytest.raises(InvalidRequest, match="passed on"):
            relays.relay_write(tablet.tablet_id, data)
    with pytest.raises(StaleLocation):
        relays.relay_read(4711, READS[0])
    with pytest.raises(HbtableError):
        relays.relay_read(tablet.tablet_id, message("getRow", b"t", b"z", {}))  # which lies in the next one


# ---------------------------------------------------------------- what fails

TABLET = SimpleNamespace(owner="other", tablet_id=3, range=RowRange(b"", b""))
READ = (SimpleNamespace(name="getRow"), [b"t", b"b", {}])
PUT = (SimpleNamespace(name="mutateRow"), [b"t", b"b", [(0, b"f:a", b"v", 1)], {}])
DELETE = (SimpleNamespace(name="mutateRow"), [b"t", b"b", [(1, b"f:a", None, 1)], {}])


class Table:
    """One tablet. It is looked for again as often as a Table would: once here."""

    def __init__(self, tablet: Any = TABLET) -> None:
        self.tablet = tablet

    def cached_tablet(self, row: bytes) -> Any:
        return self.tablet

    def forget_tablet(self, row: bytes) -> None: ...

    def ask_owner(self, row: bytes, found: Any, ask: Callable[[Any], bytes], write: bool) -> bytes:
        return ask(self.tablet)


def relay_of(error: Exception | None, tablet: Any = TABLET, mine: str = "me") -> tuple[RoleRelay, list[Any]]:
    asked: list[Any] = []

    def carry(declared: Any, arguments: tuple[Any, ...]) -> bytes:
        asked.append((declared.name, *arguments))
        if error is not None:
            raise error
        return b"answer"

    relays = RelayService(carry)
    return RoleRelay(mine, lambda name: Table(tablet), lambda owner: relays, Registry()), asked


def ask(relay: RoleRelay, call: Any, whole: bytes | None = b"call") -> bytes | None:
    return relay.ask(call[0], call[1], SimpleNamespace(whole=lambda: whole))


def test_reads_and_writes_go_to_the_tablets_owner_as_they_came() -> None:
    relay, asked = relay_of(None)
    assert ask(relay, READ) == ask(relay, PUT) == b"answer"
    assert asked == [("relay_read", 3, b"call"), ("relay_write", 3, b"call")]
    assert relay.count.value == 2


@pytest.mark.parametrize(
    ("call", "tablet", "mine", "whole"),
    [
        (READ, TABLET, "other", b"call"),
        (READ, None, "me", b"call"),
        (READ, SimpleNamespace(owner="", tablet_id=3), "", b"call"),
        (READ, TABLET, "me", None),
        ((READ[0], [b"t", None, {}]), TABLET, "me", b"call"),
        ((READ[0], [None, b"b", {}]), TABLET, "me", b"call"),
        ((SimpleNamespace(name="getRows"), [b"t", [b"b"], {}]), TABLET, "me", b"call"),
        ((SimpleNamespace(name="deleteAllRow"), [b"t", b"b", {}]), TABLET, "me", b"call"),
        ((SimpleNamespace(name="mutateRows"), [b"t", [(b"b", [])], {}]), TABLET, "me", b"call"),
    ],
)
def test_all_other_calls_are_done_here(call: Any, tablet: Any, mine: str, whole: bytes | None) -> None:
    relay, asked = relay_of(None, tablet, mine)
    assert ask(relay, call, whole) is None
    assert asked == []


def test_what_was_refused_there_is_told_here_and_what_was_tried_in_vain_is_not_tried_again() -> None:
    for call in (READ, PUT, DELETE):
        for mistake in (NoSuchFamily("none"), InvalidRequest("a bad argument"), TableNotFound("t")):
            assert ask(relay_of(mistake)[0], call) is None
        for error in (StaleLocation("moved"), Unavailable("away"), LockLost("this role's session is over")):
            with pytest.raises(type(error)):
                ask(relay_of(error)[0], call)
    with pytest.raises(PutsUnknown, match="may be sent again"):
        ask(relay_of(OutcomeUnknown("perhaps"))[0], PUT)
    with pytest.raises(OutcomeUnknown) as unknown:
        ask(relay_of(OutcomeUnknown("perhaps"))[0], DELETE)
    assert type(unknown.value) is OutcomeUnknown


def test_a_server_of_an_older_release_is_asked_once() -> None:
    relay, asked = relay_of(UnknownCall("it does not know relay_read"))
    assert [ask(relay, call) for call in (READ, PUT, READ)] == [None, None, None]
    assert len(asked) == 1


@pytest.mark.parametrize(
    "error",
    [Corruption("a file", 3, "bad block"), UnsupportedFormat("a file of a newer hbtable"), CostExceeded("too long")],
)
def test_what_would_cost_or_fail_the_same_is_not_done_again(error: HbtableError) -> None:
    """And the server goes on to be asked."""
    relay, asked = relay_of(error)
    for call in (READ, PUT, DELETE):
        with pytest.raises(type(error)):
            ask(relay, call)
    assert len(asked) == 3


def test_a_write_is_not_done_again_after_an_error_that_does_not_say_that_nothing_was_done() -> None:
    """As one of a newer release, of which only the root of all errors is known here."""
    assert ask(relay_of(HbtableError("versions must be positive"))[0], READ) is None
    for call in (PUT, DELETE):
        with pytest.raises(HbtableError, match="of a newer kind"):
            ask(relay_of(HbtableError("of a newer kind"))[0], call)
