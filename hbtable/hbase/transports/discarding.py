"""The last that is done with a client that was sent away: read what it still sends."""

from typing import Final

from hbtable.hbase.connection_context import ConnectionContext
from hbtable.switches import switches
from hbtable.thrift.message_input import Stream

_SILENT_SECONDS: Final = 2.0
_AT_MOST_SECONDS: Final = 10.0


@switches
def discard(stream: Stream, context: ConnectionContext) -> None:
    """Until it leaves or is silent, for a while. Closing with unread bytes would reset the connection, and it would
    never see what it was told."""
    clock = context.clock
    until = clock() + _AT_MOST_SECONDS
    try:
        stream.settimeout(_SILENT_SECONDS)
        while clock() < until and stream.recv(65536):
            context.pause()
    except OSError:
        return
