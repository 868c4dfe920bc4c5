"""Better than HBase: a put right after deleteAllRow, after an increment, or in the millisecond of a delete is never
hidden. Over Thrift, each in its own order of calls; the calls are sent ahead, so that they meet in one millisecond.

HBTABLE_MASKED_PUTS=10000 makes it the whole of what was promised.
"""

import os
import socket
from collections.abc import Callable, Iterator

import pytest

from tests.harness.warm_server import WarmServer
from tests.harness.wire_answers import EXCEPTION, answer
from tests.harness.wire_mutations import FORMS, encode
from tests.harness.wire_trees import BOOL, I64, LIST, STRING, STRUCT, Node

PUTS = int(os.environ.get("HBTABLE_MASKED_PUTS", "1000"))
_AHEAD = 50
"""Values have eight bytes, so that they can be incremented."""
_TABLE, _COLUMN = Node(STRING, b"t"), Node(STRING, b"f:a")


def _call(name: bytes, *fields: Node) -> bytes:
    return encode(FORMS[0], name, Node(STRUCT, list(enumerate(fields, 1))))


def _mutation(value: bytes | None) -> Node:
    fields = [(1, Node(BOOL, value is None)), (2, _COLUMN)]
    return Node(STRUCT, [*fields, (3, Node(STRING, value))] if value is not None else fields)


def _mutate(row: bytes, *values: bytes | None) -> bytes:
    """One mutateRow: a delete for None, else a put."""
    mutations = Node(LIST, [_mutation(value) for value in values], (STRUCT, 0))
    return _call(b"mutateRow", _TABLE, Node(STRING, row), mutations)


def _get(row: bytes) -> bytes:
    return _call(b"get", _TABLE, Node(STRING, row), _COLUMN)


def _delete_row(row: bytes) -> bytes:
    return _call(b"deleteAllRow", _TABLE, Node(STRING, row))


def _increment(row: bytes) -> bytes:
    return _call(b"atomicIncrement", _TABLE, Node(STRING, row), _COLUMN, Node(I64, 5))


CASES: dict[str, Callable[[bytes, bytes], bytes]] = {
    "after deleteAllRow": lambda row, value: _delete_row(row) + _mutate(row, value),
    "after deleteAllRow of a full row": lambda row, value: (
        _mutate(row, b"old") + _delete_row(row) + _mutate(row, value)
    ),
    "after an increment": lambda row, value: _increment(row) + _mutate(row, value),
    "after an increment and a delete": lambda row, value: _increment(row) + _delete_row(row) + _mutate(row, value),
    "after a delete": lambda row, value: _mutate(row, b"old") + _mutate(row, None) + _mutate(row, value),
    "beside a delete in one call": lambda row, value: _mutate(row, b"old") + _mutate(row, None, value),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    folder = tmp_path_factory.mktemp("masked")
    with WarmServer(folder / "data", ["log.durability=os", "tablet.memtable_bytes=256 KiB"]) as running:
        running.connect().create_table("t", {"f": {"max_versions": 1}})
        yield running


@pytest.mark.integration
@pytest.mark.parametrize("case", CASES)
def test_a_later_put_is_never_hidden(server: WarmServer, case: str) -> None:
    hidden = []
    with socket.create_connection(("127.0.0.1", server.port), 60) as client:
        received = b""
        for first in range(0, PUTS, _AHEAD):
            calls = b""
            for number in range(first, first + _AHEAD):
                row, value = b"%s-%02d" % (case.encode(), number % 20), b"%08d" % number
                calls += CASES[case](row, value) + _get(row)
            client.sendall(calls)
            for number in range(first, first + _AHEAD):
                while True:
                    one, received = _next(client, received)
                    if one.startswith(b"\x80\x01\x00\x02\x00\x00\x00\x03get"):
                        break
                if b"%08d" % number not in one:
                    hidden.append((number, one))
    assert not hidden, f"{len(hidden)} of {PUTS} puts {case} were hidden: {hidden[:3]}"


def _next(client: socket.socket, received: bytes) -> tuple[bytes, bytes]:
    """(one answer, what came after it)"""
    while True:
        try:
            head = answer(received, compact=False)
        except AssertionError:
            chunk = client.recv(65536)
            assert chunk, "the server closed the connection"
            received += chunk
            continue
        assert head.message_type != EXCEPTION, received[:200]
        assert b"Exception" not in received[: head.end], received[:200]
        return received[: head.end], received[head.end :]
