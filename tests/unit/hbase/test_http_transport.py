"""Calls over HTTP: bodies that are messages, connections that stay, and what is no call."""

import random
from typing import Any

import h11
import pytest

from hbtable.hbase.connection import GatewayConnection
from hbtable.hbase.transports import http, http_heads
from hbtable.runtime.memory_budget import MemoryBudget, MemoryReservation
from tests.unit.hbase.conftest import FakeStream


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


CALL = b"\x80\x01\x00\x01\x00\x00\x00\x0dgetTableNames\x00\x00\x00\x01\x00"
LENGTH = b"Content-Length: %d\r\n" % len(CALL)
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(CALL), CALL)
CODED = b"Transfer-Encoding: chunked\r\n"
LINE = b"POST / HTTP/1.1\r\nHost: x\r\n"
AMBIGUOUS = {
    "both": LINE + LENGTH + CODED + b"\r\n" + CHUNKS,
    "both, the other order": LINE + CODED + LENGTH + b"\r\n" + CHUNKS,
    "both, no length": LINE + b"Content-Length: 0\r\n" + CODED + b"\r\n" + CHUNKS,
    "two lengths": LINE + LENGTH + b"Content-Length: 3\r\n\r\n" + CALL,
    "two lengths in one": LINE + b"Content-Length: %d, 3\r\n\r\n" % len(CALL) + CALL,
    "a length with a sign": LINE + b"Content-Length: +%d\r\n\r\n" % len(CALL) + CALL,
    "a length in hex": LINE + b"Content-Length: 0x%x\r\n\r\n" % len(CALL) + CALL,
    "a negative length": LINE + b"Content-Length: -1\r\n\r\n" + CALL,
    "a blank before the colon": LINE + b"Content-Length : %d\r\n\r\n" % len(CALL) + CALL,
    "a folded line": LINE + LENGTH + b"X: a\r\n b\r\n\r\n" + CALL,
    "a folded line with a tab": LINE + LENGTH + b"X: a\r\n\tb\r\n\r\n" + CALL,
    "a folded line with a length in it": LINE + b"X: a\r\n" + b" " + LENGTH + CODED + b"\r\n" + CHUNKS,
    "a first header that is folded": b"POST / HTTP/1.1\r\n Host: x\r\n" + LENGTH + b"\r\n" + CALL,
    "LF alone": LINE.replace(b"\r\n", b"\n") + LENGTH + b"\r\n" + CALL,
    "LF alone at the end of the head": LINE + LENGTH + b"\n" + CALL,
    "LF alone everywhere": (LINE + LENGTH + b"\r\n").replace(b"\r\n", b"\n") + CALL,
    "LF alone in one header": LINE + b"X: y\n" + LENGTH + b"\r\n" + CALL,
    "CR alone": LINE + b"X: a\rY: b\r\n" + LENGTH + b"\r\n" + CALL,
    "CR alone before LF": LINE + b"X: a\r\r\n" + LENGTH + b"\r\n" + CALL,
    "NUL": LINE + b"X: a\0b\r\n" + LENGTH + b"\r\n" + CALL,
    "chunks in HTTP/1.0": b"POST / HTTP/1.0\r\n" + CODED + b"\r\n" + CHUNKS,
    "another coding": LINE + b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKS,
    "two codings": LINE + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKS,
    "the coding twice": LINE + CODED + CODED + b"\r\n" + CHUNKS,
    "a coding with a tab": LINE + b"Transfer-Encoding: \x0bchunked\r\n\r\n" + CHUNKS,
    "two hosts": LINE + b"Host: y\r\n" + LENGTH + b"\r\n" + CALL,
    "no host": b"POST / HTTP/1.1\r\n" + LENGTH + b"\r\n" + CALL,
    "a chunk of negative length": LINE + CODED + b"\r\n-1\r\n" + CALL,
    "a chunk whose length ends in LF": LINE + CODED + b"\r\n%x\n%s\r\n0\r\n\r\n" % (len(CALL), CALL),
    "a chunk that ends in LF": LINE + CODED + b"\r\n%x\r\n%s\n0\r\n\r\n" % (len(CALL), CALL),
    "a chunk that goes on": LINE + CODED + b"\r\n%x\r\n%sxx0\r\n\r\n" % (len(CALL), CALL),
    "chunks that end in LF": LINE + CODED + b"\r\n%x\r\n%s\r\n0\r\n\n" % (len(CALL), CALL),
    "header fields behind the body": LINE + CODED + b"\r\n" + CHUNKS[:-2] + b"Content-Length: 9\r\n\r\n",
}


@pytest.mark.parametrize("piece", [1, 13, 100_000])
@pytest.mark.parametrize("said", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_a_request_that_a_proxy_may_read_in_another_way_is_refused_and_nothing_behind_it_is_carried_out(
    gateway: Any, said: bytes, piece: int
) -> None:
    said += LINE + LENGTH + b"\r\n" + CALL
    stream = gateway.talk(*(said[first : first + piece] for first in range(0, len(said), piece)))
    ((status, why),) = responses(stream.sent, ["POST"])
    assert status in (400, 501)
    assert b"This port speaks HBase's Thrift interfaces" in why


@pytest.mark.parametrize("piece", [1, 13, 100_000])
def test_requests_that_can_be_read_in_one_way_only_are_carried_out_one_after_the_other(
    gateway: Any, client: Any, piece: int
) -> None:
    lengths = LINE + LENGTH + LENGTH + b"X:  a b\t\r\n\r\n" + CALL  # the same twice is one
    chunks = LINE + CODED.replace(b"chunked", b"Chunked") + b"\r\n" + CHUNKS.replace(b"\r\n", b";a=b\r\n", 1)
    said = lengths + chunks + lengths + chunks
    stream = gateway.talk(*(said[first : first + piece] for first in range(0, len(said), piece)))
    assert [status for status, _ in responses(stream.sent, ["POST"] * 4)] == [200] * 4


@pytest.mark.parametrize("said", [b"GET foo\r\n", b"GET /\r\n", b"CONNECT {}\r\n", b"PUT 0 0 5\r\n", b"CONNECT\nx:y\n"])
def test_a_first_line_that_is_none_of_http_is_answered_before_more_comes(gateway: Any, said: bytes) -> None:
    sent: list[bytes] = []
    stream = FakeStream((said, lambda: sent.append(stream.sent)))
    GatewayConnection(stream, "client:1", gateway.context).serve()
    assert sent[0].startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "header",
    [
        "Origin: https://evil.example",
        "origin: null",
        "Origin: http://localhost:9090",
        "Origin:",
        "sec-fetch-site: same-site",
    ],
)
@pytest.mark.parametrize("kind", ["", "Content-Type: text/plain\r\n", "Content-Type: application/x-thrift\r\n"])
def test_a_page_that_somebody_looks_at_in_a_browser_calls_nothing(gateway: Any, header: str, kind: str) -> None:
    """Any page may have a browser of this machine POST to 127.0.0.1, and by a name of its own for that it is no other
    site's request. The browser says so in each."""
    stream = gateway.talk(LINE + f"{header}\r\n{kind}".encode() + LENGTH + b"\r\n" + CALL)
    ((status, why),) = responses(stream.sent, ["POST"])
    assert status == 403
    assert b"of a browser" in why
    assert stream.closed


def test_clients_that_are_no_browsers_may_say_how_they_fetch(gateway: Any, client: Any) -> None:
    """As fetch() of Node does."""
    stream = gateway.talk(LINE + b"Sec-Fetch-Mode: cors\r\nAccept: */*\r\n" + LENGTH + b"\r\n" + CALL)
    assert [status for status, _ in responses(stream.sent, ["POST"])] == [200]


def test_a_message_that_is_refused_as_http_has_one_answer_and_the_connection_is_closed(gateway: Any) -> None:
    """HTTP/1.0 has nothing behind a body, which is looked at when the first message, none of Thrift, was answered."""
    other, old = post(b"POST / HTTP/1.1\r\n\r\n" + b"x" * 177), post(CALL + b"x" * 150).replace(b"/1.1", b"/1.0", 1)
    stream = gateway.talk(other + old + b"POST")
    assert [status for status, _ in responses(stream.sent, ["POST"] * 2)] == [200, 400]
    assert stream.closed


def test_a_long_first_line_that_comes_byte_by_byte_is_looked_at_once(
    gateway: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte cost 130 us at the end of 64,000, and every byte before it was read again."""

    class Counting:
        bytes_read = 0

        def match(self, data: bytearray) -> None:
            self.bytes_read += len(data)

    counting = Counting()
    monkeypatch.setattr(http_heads, "_NO_REQUEST_LINE", counting)
    stream = gateway.talk(*(bytes((byte,)) for byte in b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"))
    assert [status for status, _ in responses(stream.sent, ["GET"])] == [400]
    assert counting.bytes_read < 20 * 5000
