"""A body in very many chunks is read in steps, between which others run."""

import struct
from collections.abc import Callable, Sequence
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

    def pause() -> None:
        nonlocal pauses
        pauses += 1

    stream = stream_of(b"1\r\nx\r\n" * count + b"0\r\n\r\n", pause)
    assert stream.recv(1) == struct.pack(">I", count) + b"x" * count
    assert pauses >= count // 16  # the parser gives an event for each chunk


def test_a_long_body_is_gathered_in_parts() -> None:
    """All in one bytearray, which is copied when it grows, others waited for 43 ms. What joins the parts does so in a
    thread, and the body is counted until whoever reads the message counts it."""
    chunks = [bytes([number]) * (32 << 10) for number in range(200)]
    budget = MemoryBudget(1 << 30, lambda seconds: None, lambda: 0.0)

    def join(parts: Sequence[bytes]) -> bytes:
        assert max(map(len, parts)) <= 256 << 10
        assert budget.used_bytes >= 200 * (32 << 10)
        return b"".join(parts)

    sent = b"".join(b"8000\r\n" + chunk + b"\r\n" for chunk in chunks) + b"0\r\n\r\n"
    stream = stream_of(sent, join=join, budget=budget)
    assert stream.recv(1) == struct.pack(">I", 200 * (32 << 10)) + b"".join(chunks)
    assert budget.used_bytes == 0


def stream_of(
    sent: bytes,
    pause: Callable[[], None] = lambda: None,
    join: Callable[[Sequence[bytes]], bytes] = b"".join,
    budget: MemoryBudget | None = None,
) -> HttpStream:
    context: Any = SimpleNamespace(
        message_bytes=16 << 20,
        clock=lambda: 0.0,
        stall_seconds=60.0,
        pause=pause,
        join=join,
        budget=budget or MemoryBudget(1 << 30, lambda seconds: None, lambda: 0.0),
        security=SimpleNamespace(verifier=None),
    )
    return HttpStream(cast(Stream, Carrier(sent)), HEAD, "client", cast(ConnectionContext, context))
