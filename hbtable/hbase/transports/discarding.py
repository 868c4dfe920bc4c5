"""The last that is done with a client that was sent away: read what it still sends."""

from typing import Final

from hbtable.hbase.connection_context import ConnectionContext
from hbtable.switches import switches
from hbtable.thrift.message_input import Stream

_SILENT_SECONDS: Final = 2.0
_AT_MOST_SECONDS: Final = 10.0


@switches
def discard(stream: Stream, context: ConnectionContext) -> None:
    """Throws away what a client sends, for a while, until it leaves or is silent. Closing with unread bytes would reset
    the connection, and the client would never see what it was told."""
    clock = context.clock
    until = clock() + _AT_MOST_SECONDS
    try:
        stream.settimeout(_SILENT_SECONDS)
        while clock() < until and stream.recv(65536):
            context.pause()
    except OSError:
        return


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
