"""The gateway with a real port: many clients, draining."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from gevent.socket import create_connection

from hbtable.errors import Overloaded
from hbtable.hbase.options import ThriftGatewayOptions
from hbtable.hbase.port_services import ClusterIdentity
from hbtable.hbase.server import ThriftGateway
from hbtable.metrics.registry import Registry
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network import sockets
from tests.harness.tiers import quick_first


class Port:
    def __init__(self, cluster: Any, options: ThriftGatewayOptions | None = None) -> None:
        self.runtime = GeventRuntime()
        self.registry = Registry()
        self.gateway = ThriftGateway(
            self.runtime,
            lambda handle: sockets.serve("127.0.0.1", 0, handle),
            cluster.open_table,
            cluster,
            self.registry,
            ClusterIdentity(lambda: "an-id", lambda owner: (b"host", 1)),
            options or ThriftGatewayOptions(drain_seconds=60.0),
        )
        self.gateway.start()

    def connect(self, source: str = "127.0.0.1") -> Any:
        return create_connection(("127.0.0.1", self.gateway.port), source_address=(source, 0))

    def gauge(self, name: str) -> float:
        return next(value for gauge, _, value in self.registry.gauges() if gauge == name)

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """A minute at most: a machine may stand still for a while."""
        for _ in range(12_000):
            if holds():
                return
            self.runtime.sleep(0.005)
        raise AssertionError("not within a minute")


@pytest.fixture
def port(gateway: Any) -> Iterator[Port]:
    made = Port(gateway.cluster)
    yield made
    made.gateway.drain()
    made.gateway.close()


def answered(socket: Any, client: Any, method: str, **arguments: Any) -> Any:
    socket.sendall(client.encode(method, **arguments))
    return client.decode(socket.recv(65536), method)


@pytest.mark.parametrize("protocol", ["binary", "loose", "compact"])
@pytest.mark.parametrize("framed", [False, True])
def test_one_port_speaks_all_of_it(
    port: Port, gateway: Any, connect: Callable[..., Any], protocol: str, framed: bool
) -> None:
    client = connect(gateway, protocol, framed)
    socket = port.connect()
    assert answered(socket, client, "getThriftServerType") == 1
    assert answered(socket, client, "getTableNames") == [b"t"]
    assert answered(socket, client, "getClusterId") in ("an-id", b"an-id")
    scan = client.thrift.TScan(filterString=b"PageFilter(2)")
    assert answered(socket, client, "scannerOpenWithScan", tableName=b"t", scan=scan) == 0
    socket.close()


@pytest.mark.parametrize("protocol", ["binary", "compact"])
@pytest.mark.parametrize("framed", [False, True])
def test_a_request_whose_rest_comes_later_waits_for_a_turn_when_it_is_there(
    port: Port, gateway: Any, connect: Callable[..., Any], protocol: str, framed: bool
) -> None:
    """Not framed, it had its turn at its first byte alone, and was worked on past all others and past the bound."""
    gate_of, turns, refuses = port.runtime.request_gate, [0], [False]

    def request_gate(client: str, most: int, stream: object = None) -> Callable[[float], float]:
        gate = gate_of(client, most, stream)

        def turn(now: float) -> float:
            turns[0] += 1
            if refuses[0] and turns[0] == 2:
                raise Overloaded("too many wait")
            return gate(now)

        return turn

    port.runtime.request_gate = request_gate  # type: ignore[method-assign]
    client = connect(gateway, protocol, framed)
    socket = port.connect()
    assert answered(socket, client, "getTableNames") == [b"t"]
    assert turns == [1]
    for refuses[0] in (False, True):
        turns[0] = 0
        whole = client.encode("getRow", tableName=b"t", row=b"r" * 50)
        for piece in (whole[:-9], whole[-9:-4], whole[-4:]):
            socket.sendall(piece)
            port.runtime.sleep(0.05)  # the gateway has read it: were it slower, there would be nothing to see
        if refuses[0] and not framed:
            with pytest.raises(client.thrift.IOError, match="CallQueueTooBig"):
                client.decode(socket.recv(65536), "getRow")
        else:
            assert client.decode(socket.recv(65536), "getRow") == []
        assert turns == [1 if framed else 2]
    socket.close()


def test_a_large_message_in_both_directions(port: Port, gateway: Any, client: Any) -> None:
    socket = port.connect()
    put = [client.thrift.Mutation(column=b"f:a", value=b"v" * 9_000_000)]
    assert answered(socket, client, "mutateRow", tableName=b"t", row=b"r", mutations=put) is None
    socket.sendall(client.encode("getRow", tableName=b"t", row=b"r"))
    answer = b""
    while len(answer) < 9_000_000:
        answer += socket.recv(1 << 20)
    (row,) = client.decode(answer, "getRow")
    assert len(row.columns[b"f:a"].value) == 9_000_000
    socket.close()


def test_draining_closes_the_idle_and_answers_the_busy(port: Port, gateway: Any, client: Any) -> None:
    idle, busy = port.connect(), port.connect()
    assert answered(idle, client, "getThriftServerType") == 1
    begun, release = port.runtime.event(), port.runtime.event()
    real = gateway.table.read_rows
    gateway.table.read_rows = lambda rows, spec: begun.set() or (release.wait(60) and real(rows, spec))
    busy.sendall(client.encode("getRow", tableName=b"t", row=b"r"))
    assert begun.wait(60)
    drained = port.runtime.spawn(port.gateway.drain)
    assert idle.recv(100) == b""
    assert not drained.join(0.02)
    with pytest.raises(ConnectionRefusedError):
        port.connect()
    release.set()
    assert client.decode(busy.recv(65536), "getRow") == []
    assert busy.recv(100) == b""
    assert drained.join(60.0)
    idle.close()
    busy.close()


@pytest.mark.parametrize("megabytes", quick_first([70, 210], 1))
@pytest.mark.parametrize("framed", [False, True])
def test_a_refused_sender_gets_the_reason_before_the_end(port: Port, client: Any, framed: bool, megabytes: int) -> None:
    """It is still sending when the refusal comes: without reading on, the reset would eat the answer."""
    socket = port.connect()
    message = client.encode("getRow", tableName=b"t", row=b"x" * (megabytes << 20))
    head = len(message).to_bytes(4, "big") if framed else b""
    sender = port.runtime.spawn(socket.sendall, head + message)
    assert sender.join(60.0)
    assert sender.error is None
    answer = b""
    while piece := socket.recv(65536):
        answer += piece
    assert b"over this server's limit of 67108864 bytes (thrift.message_bytes): send smaller batches" in answer
    socket.close()


def test_connections_are_counted(port: Port, client: Any) -> None:
    socket = port.connect()
    assert answered(socket, client, "getThriftServerType") == 1
    assert port.gauge("hbtable_rpc_connections") == 1.0
    assert port.gauge("hbtable_rpc_in_flight") == 0.0
    socket.close()


def test_when_full_who_never_asked_goes_first_and_then_who_was_idle_for_longest(gateway: Any, client: Any) -> None:
    port = Port(gateway.cluster, ThriftGatewayOptions(connections=3))
    asked, silent, late = port.connect(), port.connect(), port.connect()
    port.wait_until(lambda: port.gauge("hbtable_rpc_connections") == 3.0)
    assert answered(asked, client, "getThriftServerType") == 1
    newest = port.connect()
    assert answered(newest, client, "getThriftServerType") == 1
    assert silent.recv(100) == b""
    assert answered(late, client, "getThriftServerType") == 1
    assert answered(newest, client, "getThriftServerType") == 1
    another = port.connect()  # everybody has asked: who asked longest ago goes
    assert answered(another, client, "getThriftServerType") == 1
    assert answered(newest, client, "getThriftServerType") == 1
    assert answered(late, client, "getThriftServerType") == 1
    for socket in (asked, silent, late, newest, another):
        socket.close()
    port.gateway.close()


@pytest.mark.parametrize("protocol", ["binary", "compact"])
@pytest.mark.parametrize("framed", [False, True])
def test_who_is_cut_for_room_reads_why_as_its_next_answer(
    gateway: Any, connect: Callable[..., Any], protocol: str, framed: bool
) -> None:
    port = Port(gateway.cluster, ThriftGatewayOptions(connections=1))
    client = connect(gateway, protocol, framed)
    first = port.connect()
    assert answered(first, client, "getThriftServerType") == 1
    second = port.connect()
    assert answered(second, client, "getThriftServerType") == 1
    said = first.recv(65536)
    assert b"this idle connection was closed to make room for another client" in said
    assert b"the server takes 1 connections at a time (thrift.connections)" in said
    assert first.recv(100) == b""
    first.close()
    second.close()
    port.gateway.close()


def test_a_flood_of_one_address_locks_out_nobody_else(gateway: Any, client: Any) -> None:
    port = Port(gateway.cluster, ThriftGatewayOptions(connections=4))
    neighbour = port.connect(source="127.0.0.3")
    assert answered(neighbour, client, "getThriftServerType") == 1
    flood = [port.connect(source="127.0.0.2") for _ in range(3)]
    for one in flood:
        assert answered(one, client, "getThriftServerType") == 1
    for _ in range(10):  # more of them, and each newer than the neighbour's last call
        flood.append(port.connect(source="127.0.0.2"))
        assert answered(flood[-1], client, "getThriftServerType") == 1
    late = port.connect(source="127.0.0.4")
    assert answered(late, client, "getThriftServerType") == 1
    assert answered(neighbour, client, "getThriftServerType") == 1
    for socket in (neighbour, late, *flood):
        socket.close()
    port.gateway.close()


def test_whoever_comes_when_all_have_requests_under_way_is_turned_away(gateway: Any, client: Any) -> None:
    port = Port(gateway.cluster, ThriftGatewayOptions(connections=1))
    begun, release = port.runtime.event(), port.runtime.event()
    real = gateway.table.read_rows
    gateway.table.read_rows = lambda rows, spec: begun.set() or (release.wait(60) and real(rows, spec))
    busy = port.connect()
    busy.sendall(client.encode("getRow", tableName=b"t", row=b"r"))
    assert begun.wait(60)
    refused = port.connect()
    assert refused.recv(100) == b""
    release.set()
    assert client.decode(busy.recv(65536), "getRow") == []
    busy.close()
    refused.close()
    port.gateway.close()


def test_who_does_not_take_an_answer_makes_room_like_an_idle_one(gateway: Any, client: Any) -> None:
    port = Port(gateway.cluster, ThriftGatewayOptions(connections=1))
    put = [client.thrift.Mutation(column=b"f:a", value=b"v" * 15_000)]
    writer = port.connect()
    assert answered(writer, client, "mutateRow", tableName=b"t", row=b"r", mutations=put) is None
    writer.close()
    lazy = port.connect()
    call = client.encode("getRow", tableName=b"t", row=b"r")
    asked = port.runtime.spawn(lazy.sendall, call * 4000)  # 60 MB of answers: more than any socket takes
    port.wait_until(lambda: any(one.sending for one in port.gateway._connections))
    late = port.connect()
    assert answered(late, client, "getThriftServerType") == 1
    asked.kill()
    lazy.close()
    late.close()
    port.gateway.close()
