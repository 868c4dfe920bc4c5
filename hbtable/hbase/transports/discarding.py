"""The last that is done with a client that was sent away: read what it still sends."""

from math import inf
from typing import Final

from hbtable.hbase.connection_context import ConnectionContext
from hbtable.switches import switches
from hbtable.thrift.message_input import SILENT_SECONDS, Stream, read_and_forget

_AT_MOST_SECONDS: Final = 10.0


@switches
def discard(stream: Stream, context: ConnectionContext) -> None:
    """As read_and_forget(), for a while."""
    clock = context.clock
    until = clock() + _AT_MOST_SECONDS
    read_and_forget(stream, inf, SILENT_SECONDS, lambda: clock() < until, context.pause)


@switches
def answer_apart(stream: Stream, first: bytes, answer: bytes, context: ConnectionContext) -> None:
    """Sends the answer; where it begins with `first`, the rest once the client has said more: libpq looks for it in
    what comes after that."""
    stream.settimeout(context.stall_seconds)
    if first and answer.startswith(first):
        stream.sendall(first)
        stream.recv(65536)
        answer = answer[len(first) :]
    stream.sendall(answer)
