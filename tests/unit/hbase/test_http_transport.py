"""Calls over HTTP: bodies that are messages, connections that stay, and what is no call."""

import random
from typing import Any

import h11
import pytest

from hbtable.hbase.transports import http
from hbtable.runtime.memory_budget import MemoryBudget, MemoryReservation


def post(body: bytes, headers: str = "") -> bytes:
    return f"POST /any HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


def chunked(body: bytes, size: int) -> bytes:
    pieces = [body[first : first + size] for first in range(0, len(body), size)]
    lines = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + lines + b"0\r\n\r\n"


def responses(sent: bytes, methods: list[str]) -> list[tuple[int, bytes]]:
    """(status, body) of each, by a parser of the client's side. Fails when there is anything else."""
    http = h11.Connection(h11.CLIENT)
    http.receive_data(sent)
    http.receive_data(b"")
    found = []
    for method in methods:
        http.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
        http.send(h11.EndOfMessage())
        status, body = 0, b""
        while not isinstance(event := http.next_event(), h11.EndOfMessage):
            if isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                body += event.data
        found.append((status, body))
        if http.our_state is h11.DONE:
            http.start_next_cycle()
    assert http.trailing_data[0] == b""
    return found


@pytest.mark.parametrize("protocol", ["binary", "loose", "compact"])
@pytest.mark.parametrize("piece", [1, 5, 100_000])
def test_calls_one_after_the_other(gateway: Any, connect: Any, protocol: str, piece: int) -> None:
    client = connect(gateway, protocol)
    put = [client.thrift.Mutation(column=b"f:a", value=b"1")]
    calls = [
        ("mutateRow", {"tableName": b"t", "row": b"r", "mutations": put}),
        ("getRow", {"tableName": b"t", "row": b"r"}),
    ]
    bodies = []
    for name, arguments in calls:
        bodies.append(client.encode(name, **arguments))
        client.sequence = 0
    said = b"".join(post(body) for body in bodies)
    stream = gateway.talk(*(said[first : first + piece] for first in range(0, len(said), piece)))
    (first, nothing), (second, answer) = responses(stream.sent, ["POST", "POST"])
    assert (first, second) == (200, 200)
    client.sequence = 1
    assert client.decode(nothing, "mutateRow") is None
    (row,) = client.decode(answer, "getRow")
    assert row.columns[b"f:a"].value == b"1"


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_body_in_chunks(gateway: Any, client: Any, size: int) -> None:
    stream = gateway.talk(chunked(client.encode("getTableNames"), size))
    ((status, body),) = responses(stream.sent, ["POST"])
    assert (status, client.decode(body, "getTableNames")) == (200, [b"t"])


def test_a_large_body_in_chunks_is_counted_and_let_go(gateway: Any, client: Any) -> None:
    body = client.encode("getRow", tableName=b"t", row=b"r" * 500_000)
    stream = gateway.talk(*(chunked(body, 100_000)[first : first + 65536] for first in range(0, 600_000, 65536)))
    ((status, _),) = responses(stream.sent, ["POST"])
    assert status == 200
    assert gateway.context.budget.used_bytes == 0


def test_a_body_that_is_refused_is_let_go_before_its_rest_is_thrown_away(
    gateway: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    held: list[int] = []
    arrive = MemoryBudget.arrive

    def arrive_and_look(budget: MemoryBudget, reservation: MemoryReservation, count: int) -> None:
        arrive(budget, reservation, count)
        counted.append(budget.used_bytes)

    monkeypatch.setattr(MemoryBudget, "arrive", arrive_and_look)
    monkeypatch.setattr(http, "discard", lambda stream, context: held.append(context.budget.used_bytes))
    monkeypatch.setattr(gateway.context, "message_bytes", 100_000)
    body = chunked(b"x" * 200_000, 10_000)
    gateway.talk(*(body[first : first + 10_000] for first in range(0, len(body), 10_000)))
    assert max(counted) > 50_000
    assert held == [0]


def test_chunks_have_the_limit_of_messages(small_gateway: Any) -> None:
    stream = small_gateway.talk(chunked(b"\x80\x01\x00\x01" + bytes(3000), 500))
    ((status, said),) = responses(stream.sent, ["POST"])
    assert status == 413
    assert b"thrift.message_bytes" in said
    assert stream.pieces == []


def test_who_waits_before_it_sends_its_body_is_told_to_go_on(gateway: Any, client: Any) -> None:
    body = client.encode("getTableNames")
    head = post(body, "Expect: 100-continue\r\n")[: -len(body)]
    stream = gateway.talk(head, body)
    assert stream.sent.startswith(b"HTTP/1.1 100 ")
    assert responses(stream.sent, ["POST"])[0][0] == 200


@pytest.mark.parametrize("ending", ["Connection: close\r\n", ""])
def test_a_client_that_asks_for_one_answer_gets_the_end_as_well(gateway: Any, client: Any, ending: str) -> None:
    said = post(client.encode("getTableNames"), ending)
    if not ending:
        said = said.replace(b"HTTP/1.1", b"HTTP/1.0")
    stream = gateway.talk(said, said)
    assert len(responses(stream.sent, ["POST"])) == 1
    assert stream.closed


def test_an_error_of_the_call_is_a_200_and_the_connection_stays(gateway: Any, client: Any) -> None:
    said = post(client.encode("getRow", tableName=b"none", row=b"r"))
    stream = gateway.talk(said + said)
    assert [status for status, _ in responses(stream.sent, ["POST", "POST"])] == [200, 200]


@pytest.mark.parametrize(
    ("body", "why"),
    [(b"hello", b"Thrift"), (b"\xff\xff\xff", b"Thrift"), (b"\x80\x01", b"a message goes on behind the end")],
)
def test_a_body_that_is_no_call_gets_an_answer(gateway: Any, body: bytes, why: bytes) -> None:
    stream = gateway.talk(post(body))
    ((status, said),) = responses(stream.sent, ["POST"])
    assert status == 200
    assert why in said


def test_json_over_http(gateway: Any) -> None:
    ((status, said),) = responses(gateway.talk(post(b'[1,"getTableNames",1,5,{}]')).sent, ["POST"])
    assert status == 200
    assert said.startswith(b'[1,"getTableNames",3,5,')


def test_an_idle_client_that_is_turned_out_reads_nothing_it_did_not_ask_for(gateway: Any, client: Any) -> None:
    from hbtable.hbase.connection import GatewayConnection

    stream = gateway.talk()
    stream.pieces = [post(client.encode("getTableNames"))]
    connection = GatewayConnection(stream, "client:1", gateway.context)
    receive = stream.recv

    def turned_out_when_idle(most: int) -> bytes:
        if not stream.pieces and not stream.closed:
            connection.turn_out(1)
        piece: bytes = receive(most)
        return piece

    stream.recv = turned_out_when_idle
    connection.serve()
    assert len(responses(stream.sent, ["POST"])) == 1


def test_a_head_that_never_ends_is_cut_off_in_time(gateway: Any) -> None:
    now = [0.0]
    gateway.context.clock = lambda: now[0]

    def slow() -> Any:
        yield b"POST / HTTP/1.1\r\n"
        for number in range(1000):
            now[0] += 1.0
            yield b"X-%d: y\r\n" % number

    pieces = slow()
    stream = gateway.talk()
    stream.recv = lambda most: next(pieces)
    from hbtable.hbase.connection import GatewayConnection

    GatewayConnection(stream, "client:1", gateway.context).serve()
    assert now[0] < 10


def damaged(chance: random.Random, said: bytes) -> bytes:
    data = bytearray(said)
    for _ in range(chance.randrange(4)):
        place = chance.randrange(len(data) + 1)
        kind = chance.randrange(4)
        if kind == 0:
            data[place : place + 1] = chance.randbytes(1)
        elif kind == 1:
            del data[place : place + chance.randrange(40)]
        elif kind == 2:
            data[place:place] = chance.choice((b"\r\n", b"\r\n\r\n", b"Content-Length: 5\r\n", b"0\r\n\r\n", b"\xff"))
        else:
            other = chance.randrange(len(data) + 1)
            data[place:place] = data[other : other + chance.randrange(100)]
    return bytes(data) or b"P"


def test_damaged_requests_break_nothing(gateway: Any, client: Any) -> None:
    calls = [
        client.encode("getTableNames"),
        client.encode("getRow", tableName=b"t", row=b"r"),
        client.encode("getRow", tableName=b"none", row=b"r"),
    ]
    chance = random.Random(20061106)
    for _ in range(600):
        whole = (
            post(chance.choice(calls)),
            chunked(chance.choice(calls), chance.randrange(1, 30)),
            post(chance.choice(calls), "Expect: 100-continue\r\n"),
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        )
        said = b"".join(damaged(chance, chance.choice(whole)) for _ in range(chance.randrange(1, 4)))
        size = chance.randrange(1, 200)
        stream = gateway.talk(*(said[first : first + size] for first in range(0, len(said), size)))
        assert stream.closed
        assert gateway.context.budget.used_bytes == 0
