"""A body in very many chunks is read in steps, between which others run."""

import struct
from types import SimpleNamespace
from typing import Any, cast

from hbtable.hbase.connection_context import ConnectionContext
from hbtable.hbase.transports.http import HttpStream
from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.thrift.message_input import Stream

HEAD = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-thrift\r\nTransfer-Encoding: chunked\r\n\r\n"


class Carrier:
    """A socket whose client is always faster: nobody waits at it."""

    def __init__(self, sent: bytes) -> None:
        self._sent = sent

    def recv(self, size: int) -> bytes:
        piece, self._sent = self._sent[:size], self._sent[size:]
        return piece

    def settimeout(self, seconds: float | None) -> None: ...
    def close(self) -> None: ...


def test_chunks_of_a_byte() -> None:
    count, pauses = 50_000, 0
    carrier = Carrier(b"1\r\nx\r\n" * count + b"0\r\n\r\n")

    def pause() -> None:
        nonlocal pauses
        pauses += 1

    context: Any = SimpleNamespace(
        message_bytes=1 << 20,
        clock=lambda: 0.0,
        stall_seconds=60.0,
        pause=pause,
        budget=MemoryBudget(1 << 30, lambda seconds: None, lambda: 0.0),
        security=SimpleNamespace(verifier=None),
    )
    stream = HttpStream(cast(Stream, carrier), HEAD, "client", cast(ConnectionContext, context))
    assert stream.recv(1) == struct.pack(">I", count) + b"x" * count
    assert pauses >= count // 16  # the parser gives an event for each chunk
