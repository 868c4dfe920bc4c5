"""The arguments of a call that is refused are passed over in one go where they are usual, and carefully where not: to
the same place."""

import struct
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import pytest
from thriftpy2.protocol.cybin import TCyBinaryProtocol
from thriftpy2.transport.memory import TCyMemoryBuffer

from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.thrift.binary_reader import skip_arguments
from hbtable.thrift.message_input import MessageInput
from hbtable.thrift.wire import EndOfStream
from tests.harness.interfaces import interface

IDL: Final = interface("hbase")
PUT: Final = IDL.Mutation(column=b"f:q", value=b"v" * 1000)
DELETE: Final = IDL.Mutation(isDelete=True, column=b"f:q")
USUAL: Final = {
    "getRow": {"tableName": b"t", "row": b"r" * 300, "attributes": {}},
    "get": {"tableName": b"t", "row": b"r", "column": b"f:q", "attributes": {}},
    "getRowTs": {"tableName": b"t", "row": b"r", "timestamp": 5, "attributes": {}},
    "mutateRow": {"tableName": b"t", "row": b"r", "mutations": [PUT, DELETE, PUT], "attributes": {}},
    "atomicIncrement": {"tableName": b"t", "row": b"r", "column": b"f:q", "value": 1 << 40},
    "scannerGetList": {"id": 7, "nbRows": 1000},
    "getTableNames": {},
}
OTHERS: Final = {
    "mutateRows": {"tableName": b"t", "rowBatches": [IDL.BatchMutation(b"r", [PUT] * 3)] * 40, "attributes": {}},
    "mutateRow": {"tableName": b"t", "row": b"r", "mutations": [DELETE] * 33, "attributes": {b"_ttl": b"5"}},
    "getRowWithColumns": {"tableName": b"t", "row": b"r", "columns": [b"a", b"b"], "attributes": {b"k": b"v"}},
    "scannerOpenWithScan": {"tableName": b"t", "scan": IDL.TScan(startRow=b"a", caching=5), "attributes": {}},
}


class Pieces:
    """A stream that gives so many bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        self.data, self.size = data, size

    def recv(self, most: int) -> bytes:
        size = min(most, self.size)
        piece, self.data = self.data[:size], self.data[size:]
        return piece

    def sendall(self, data: bytes) -> None: ...
    def settimeout(self, seconds: float | None) -> None: ...
    def close(self) -> None: ...


def arguments(method: str, values: dict[str, Any]) -> bytes:
    buffer = TCyMemoryBuffer()
    getattr(IDL.Hbase, method + "_args")(**values).write(TCyBinaryProtocol(buffer))
    return bytes(buffer.getvalue())


def begun(data: bytes, size: int, framed: bool = False, pause: Callable[[], None] = lambda: None) -> MessageInput:
    budget = MemoryBudget(1 << 30, lambda seconds: None, lambda: 0.0)
    source = MessageInput(Pieces(data, size), 1 << 20, 1.0, pause, budget, lambda: 0.0, framed)
    source.begin()
    return source


@pytest.mark.parametrize("calls", [USUAL, OTHERS], ids=["usual", "others"])
@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_what_follows_the_arguments_is_next(calls: dict[str, dict[str, Any]], size: int) -> None:
    for method, values in calls.items():
        source = begun(arguments(method, values) + b"next", size)
        skip_arguments(source)
        assert source.take(4) == b"next", method


@pytest.mark.parametrize("method", USUAL)
def test_a_usual_call_is_passed_over_in_one_go(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that has to refuse two of three calls answered a sixth fewer."""
    data = arguments(method, USUAL[method])
    source = begun(data + b"next", 1 << 16)
    taken: list[int] = []
    monkeypatch.setattr(MessageInput, "take", lambda source, count: taken.append(count))
    skip_arguments(source)
    assert (source.position, taken) == (len(data), [])


@pytest.mark.parametrize("calls", [USUAL, OTHERS], ids=["usual", "others"])
def test_arguments_that_end_early_are_waited_for(calls: dict[str, dict[str, Any]]) -> None:
    for method, values in calls.items():
        data = arguments(method, values)
        for end in {1, len(data) // 3, len(data) - 1} - {0, len(data)}:
            with pytest.raises(EndOfStream):
                skip_arguments(begun(data[:end], 1 << 16))


def test_a_length_beyond_everything_is_waited_for_and_not_followed() -> None:
    data = struct.pack(">BHI", 11, 1, 500_000) + b"few"
    with pytest.raises(EndOfStream):
        skip_arguments(begun(data, 1 << 16))


def test_others_have_their_turn_in_the_middle_of_very_many_fields() -> None:
    """A frame of 64 MiB of them held everybody up for three seconds, and needed no right."""
    fields = b"\x03\x00\x01\x00" * 200_000 + b"\x00"
    pauses: list[int] = []
    source: Any = None
    frame = struct.pack(">I", len(fields)) + fields
    source = begun(frame, 1 << 16, True, lambda: source and pauses.append(source.position))
    skip_arguments(source)
    assert source.position == len(fields)
    assert max(after - before for before, after in pairwise([0, *pauses, len(fields)])) <= 64 << 10
