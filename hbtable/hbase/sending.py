"""Sends large answers: they are counted, and others have their turn meanwhile."""

import struct
from typing import Final

from hbtable.hbase.codec.large_answers import LargeAnswer, parts_of
from hbtable.hbase.connection_context import ConnectionContext
from hbtable.runtime.memory_budget import SMALL_BYTES
from hbtable.runtime.slices import SLICE_SECONDS
from hbtable.switches import switches
from hbtable.thrift.message_input import Stream

_U32: Final = struct.Struct(">I").pack


@switches
def send_large(answer: bytes | LargeAnswer, framed: bool, stream: Stream, context: ConnectionContext) -> None:
    """Counted until the client has taken all of it; so is its request, if that was large. OSError."""
    budget, clock, until = context.budget, context.clock, 0.0
    reservation = budget.begin(stream.close)
    try:
        if len(answer) > SMALL_BYTES:  # what a large request is answered with would cut off others for its request
            budget.send(reservation, len(answer))
        if framed:
            stream.sendall(_U32(len(answer)))
        for piece in parts_of(answer):
            stream.sendall(piece)  # which waits only if the client is slower than we are
            budget.moved(reservation, len(piece))
            now = clock()
            if now >= until:
                if until:
                    budget.pause(reservation, context.pause)
                until = context.slice_end(SLICE_SECONDS)
    finally:
        budget.end(reservation)
