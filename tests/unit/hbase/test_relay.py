"""A call goes on to the gateway beside the row's owner as it came; where that fails nothing is done twice."""

import struct
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from hbtable.errors import OutcomeUnknown, Unavailable
from hbtable.hbase.connection import GatewayConnection
from hbtable.hbase.errors import declared
from hbtable.hbase.relays.links import EXCHANGE, GREETING_BYTES, Greeting
from hbtable.hbase.relays.relay import NOT_MINE, RELAYED, Relay
from hbtable.metrics.registry import Registry
from hbtable.model.ranges import RowRange
from hbtable.thrift.gathered import Join

DELETE = [(True, b"f:a", None, True)]
PUT = [(False, b"f:a", b"v", True)]
TABLET = SimpleNamespace(owner="other", range=RowRange(b"a", b"m"))


class Table:
    """Knows one tablet."""

    def __init__(self) -> None:
        self.forgotten: list[bytes] = []

    def cached_tablet(self, row: bytes) -> Any:
        return TABLET if b"a" <= row < b"m" and not self.forgotten else None

    def forget_tablet(self, row: bytes) -> None:
        self.forgotten.append(row)


class Peer:
    """The connection to the other gateway, which answers so, or breaks."""

    def __init__(self, pieces: list[bytes], breaks_at_send: bool = False) -> None:
        self.pieces = pieces
        self.breaks_at_send = breaks_at_send
        self.got = b""
        self.closed = False

    def sendall(self, data: bytes, flags: int = 0) -> None:
        if self.breaks_at_send:
            raise BrokenPipeError
        self.got += data

    def recv(self, size: int, flags: int = 0) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""

    def close(self) -> None:
        self.closed = True


def framed(message: bytes) -> bytes:
    return struct.pack(">I", len(message)) + message


def no_ping(owner: str) -> None:
    pytest.fail("only links that have ended ask for it")


def ask(
    peer: Peer | None,
    name: str,
    row: object,
    mine: str = "me",
    whole: bytes | None = b"call",
    mutations: Any = DELETE,
    pause: Callable[[], None] = lambda: None,
    join: Join = b"".join,
) -> Any:
    """(answer, the table). `row`: or the batches of rows."""
    table = Table()

    def connect(owner: str) -> Any:
        if peer is None:
            raise Unavailable("nobody")
        return peer

    relay = Relay(mine, lambda name: table, connect, no_ping, Registry(), pause, join)
    method: Any = SimpleNamespace(name=name)
    return relay.ask(method, [b"t", row, mutations], SimpleNamespace(whole=lambda: whole)), table


def test_the_call_goes_on_as_it_came_and_so_does_the_answer() -> None:
    peer = Peer([framed(b"the answer")[:3], framed(b"the answer")[3:7], framed(b"the answer")[7:]])
    answer, table = ask(peer, "getRow", b"b")
    greeting = Greeting(EXCHANGE).packed()
    assert (answer, peer.got, table.forgotten) == (b"the answer", greeting + framed(b"call"), [])
    assert not peer.closed


def test_others_run_while_a_large_answer_arrives_and_each_byte_is_copied_a_few_times() -> None:
    """Of 60 MB in pieces of 64 KB all that had come was copied for each: 18 s of the processor in one go."""
    piece = bytes(64 << 10)
    peer = Peer([struct.pack(">I", 320 * len(piece)), *[piece] * 320])
    left: list[int] = [320]
    joined: list[int] = []

    def join(pieces: list[bytes]) -> bytes:
        joined.append(len(pieces))
        return b"".join(pieces)

    answer, _ = ask(peer, "getRow", b"b", pause=lambda: left.append(len(peer.pieces)), join=join)
    assert len(answer) == 320 * len(piece)
    assert max(before - after for before, after in pairwise([*left, 0])) <= 8
    assert joined == [80]


@pytest.mark.parametrize(
    ("name", "row", "mine", "whole"),
    [
        ("getRow", b"b", "other", b"call"),
        ("getRow", b"z", "me", b"call"),
        ("getRow", None, "me", b"call"),
        ("getRow", b"b", "me", None),
        ("getTableNames", b"b", "me", b"call"),
        ("scannerOpen", b"b", "me", b"call"),
        ("mutateRows", [], "me", b"call"),
        ("mutateRows", [(b"b", []), (b"z", [])], "me", b"call"),
        ("mutateRows", None, "me", b"call"),
        ("mutateRows", [(None, [])], "me", b"call"),
        ("mutateRows", [(b"b", [])] * 201, "me", b"call"),
    ],
)
def test_what_is_this_servers_or_of_no_single_tablet_is_done_here(
    name: str, row: object, mine: str, whole: bytes | None
) -> None:
    peer = Peer([framed(b"answer")])
    answer, _ = ask(peer, name, row, mine, whole)
    assert answer is None
    assert peer.got == b""


def test_a_batch_within_one_tablet_goes_on() -> None:
    assert ask(Peer([framed(b"done")]), "mutateRows", [(b"b", []), (b"c", [])])[0] == b"done"


@pytest.mark.parametrize("name", ["getRow", "mutateRow"])
@pytest.mark.parametrize("peer", [None, Peer([], breaks_at_send=True), Peer([framed(NOT_MINE)])])
def test_what_was_not_begun_there_is_done_here_and_looked_for_anew(name: str, peer: Peer | None) -> None:
    if peer is not None and not peer.breaks_at_send:
        peer.pieces = [framed(NOT_MINE)]
    answer, table = ask(peer, name, b"b")
    assert answer is None
    assert table.forgotten == [b"b"]


@pytest.mark.parametrize("pieces", [[], [b"\0\0"], [framed(b"half an answer")[:9]]])
def test_without_an_answer_a_read_is_done_again_and_a_write_is_not(pieces: list[bytes]) -> None:
    peer = Peer(list(pieces))
    answer, table = ask(peer, "get", b"b")
    assert answer is None
    assert table.forgotten == [b"b"]
    assert peer.closed
    for name in ("mutateRow", "atomicIncrement", "checkAndPut", "deleteAllRow"):
        with pytest.raises(OutcomeUnknown, match=f"gave no answer to {name}, which may have been done"):
            ask(Peer(list(pieces)), name, b"b")
    with pytest.raises(OutcomeUnknown):
        ask(Peer(list(pieces)), "mutateRows", [(b"b", DELETE)])


@pytest.mark.parametrize(
    ("name", "row", "mutations", "again"),
    [
        ("mutateRow", b"b", PUT, True),
        ("mutateRowTs", b"b", PUT, True),
        ("mutateRow", b"b", PUT + DELETE, False),
        ("mutateRows", [(b"b", PUT), (b"c", b"f:a", b"v")], None, True),
        ("mutateRowsTs", [(b"b", PUT), (b"c", DELETE)], None, False),
        ("deleteAllRow", b"b", None, False),
        ("atomicIncrement", b"b", b"f:a", False),
    ],
)
def test_puts_alone_may_be_sent_again(name: str, row: object, mutations: Any, again: bool) -> None:
    with pytest.raises(OutcomeUnknown) as failed:
        ask(Peer([]), name, row, mutations=mutations)
    assert declared(failed.value, {"io": 1}).can_retry == again


class Owners:
    """Tablet servers that have the tablet one after the other, and a relay that asks them."""

    def __init__(self) -> None:
        self.owner = "first"
        self.made: list[Peer] = []
        self.answers = [framed(b"answer")] * 100
        self.meanwhile: list[Callable[[], object]] = []
        """What other clients ask while a call is under way."""
        self.relay = Relay("me", lambda name: self, self._connect, no_ping, Registry(), lambda: None, b"".join)

    def cached_tablet(self, row: bytes) -> Any:
        return SimpleNamespace(owner=self.owner, range=RowRange(b"", b""))

    def forget_tablet(self, row: bytes) -> None: ...

    def _connect(self, owner: str) -> Any:
        owners = self

        class Link(Peer):
            def recv(self, size: int, flags: int = 0) -> bytes:
                if owners.meanwhile:
                    owners.meanwhile.pop()()
                return super().recv(size, flags)

        self.made.append(Link(self.answers))
        return self.made[-1]

    def ask(self, method: str = "getRow") -> bytes | None:
        named: Any = SimpleNamespace(name=method)
        return self.relay.ask(named, [b"t", b"r", None], SimpleNamespace(whole=lambda: b"call"))


def test_links_to_a_process_that_nobody_asks_any_more_are_closed() -> None:
    """Each process that died kept its links here, up to 64, until none were left for clients and files."""
    owners = Owners()
    for number in range(20):
        owners.owner = f"server {number}"
        assert owners.ask() == b"answer"
    owners.relay.drop_unused()  # all were asked since the last time
    assert owners.ask() == b"answer"
    owners.relay.drop_unused()
    assert [one.closed for one in owners.made] == [True] * 19 + [False]
    assert owners.ask() == b"answer"
    assert len(owners.made) == 20


def test_where_a_link_ends_the_others_to_the_same_process_are_closed() -> None:
    owners = Owners()
    owners.meanwhile.append(owners.ask)
    assert owners.ask() == b"answer"
    assert [one.closed for one in owners.made] == [False, False]
    owners.answers.clear()
    assert owners.ask() is None
    assert [one.closed for one in owners.made] == [True, True]


@pytest.mark.parametrize("leave", [lambda one: one.turn_out(1), lambda one: one.close()], ids=["turned out", "drained"])
def test_a_connection_that_is_closed_between_the_call_and_its_answer_has_begun_nothing(
    gateway: Any, client: Any, leave: Callable[[GatewayConnection], None]
) -> None:
    """The owner's gateway makes room, or stops, while the call of another gateway is on its way."""
    call = client.encode("atomicIncrement", tableName=b"t", row=b"b", column=b"f:n", value=1)

    class Owner(Peer):
        def __init__(self) -> None:
            super().__init__([])
            self.stream = gateway.talk()

        def sendall(self, data: bytes, flags: int = 0) -> None:
            self.got += data
            data = data[GREETING_BYTES:]  # read before the connection is the gateway's
            first, rest = data[:5], data[5:]
            connection = GatewayConnection(self.stream, f"{RELAYED}:1", gateway.context)
            self.stream.pieces = [first, lambda: leave(connection), rest]
            connection.serve()
            self.pieces = [self.stream.sent] if self.stream.sent else []

    owner = Owner()
    answer, table = ask(owner, "atomicIncrement", b"b", whole=call)
    assert answer is None, "it is done here"
    assert table.forgotten == [b"b"]
    assert owner.closed, "nothing more is sent to it"
    assert owner.stream.sent == framed(NOT_MINE)
    assert not gateway.table.increments


def test_a_call_that_waits_for_its_turn_when_its_connection_is_closed_is_not_begun(gateway: Any, client: Any) -> None:
    message = client.encode("atomicIncrement", tableName=b"t", row=b"b", column=b"f:n", value=1)
    stream = gateway.talk()
    stream.pieces = [framed(message)]
    connection: GatewayConnection

    def turned_out(host: str, stream: object) -> Callable[[float], float]:
        def turn_out(now: float) -> float:
            connection.turn_out(1)
            return now

        return turn_out

    gateway.context.request_gate = turned_out
    connection = GatewayConnection(stream, f"{RELAYED}:1", gateway.context)
    connection.serve()
    assert stream.sent == framed(NOT_MINE)
    assert not gateway.table.increments


def test_a_call_that_was_passed_on_goes_no_further() -> None:
    table = Table()
    method: Any = SimpleNamespace(name="getRow")
    source = SimpleNamespace(whole=lambda: b"call")
    relay = Relay(
        "me", lambda name: table, lambda owner: pytest.fail("it went on"), no_ping, Registry(), lambda: None, b"".join
    )
    assert relay.refuse(method, [b"t", b"b"], source) == NOT_MINE
    assert relay.refuse(method, [b"t", b"z"], source) is None  # not known: looked for, and done
    owner = Relay(
        "other",
        lambda name: table,
        lambda owner: pytest.fail("it went on"),
        no_ping,
        Registry(),
        lambda: None,
        b"".join,
    )
    assert owner.refuse(method, [b"t", b"b"], source) is None
