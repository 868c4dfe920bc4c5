"""The refusal of an HTTP request as Thrift's clients can show it: their THttpClient, in Python, looks at no status and
takes whatever body comes for the answer to its call.

So who sends `application/x-thrift` gets the method's declared exception, or a TApplicationException, as the body.
"""

from typing import Final

from hbtable.errors import HbtableError, Unavailable
from hbtable.hbase import errors
from hbtable.hbase.audit import DENIED
from hbtable.hbase.codec.sniffing import sniff_frame
from hbtable.hbase.codec.wires import Wire
from hbtable.hbase.connection_context import ConnectionContext
from hbtable.hbase.transports.http_users import Headers
from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.switches import switches
from hbtable.thrift.message_input import MessageInput
from hbtable.thrift.wire import INTERNAL_ERROR, Call, EndOfStream, Malformed, MessageTooLarge

THRIFT: Final = b"application/x-thrift"
_OF_BROWSERS: Final = (b"origin", b"sec-fetch-site")
START_BYTES: Final = 512
"""Of a body: its message's name and number stand there."""


def is_thrift(headers: Headers) -> bool:
    """Whether the request says that its body is a message of Thrift."""
    said = next((value for name, value in headers if name == b"content-type"), b"")
    return said.partition(b";")[0].strip().lower() == THRIFT


def is_of_browser(headers: Headers) -> bool:
    """Whether a browser sent it. Any page may have that done, also to 127.0.0.1, where nobody is asked who he is; and
    one whose name leads there is no other site to it."""
    return any(name in _OF_BROWSERS for name, _ in headers)


def as_error(status: int, why: str) -> HbtableError:
    """The error that says in Thrift what `status` says in HTTP."""
    if status == 503:
        return Unavailable(why)
    return errors.JavaError(DENIED if status in (401, 403) else errors.DO_NOT_RETRY, why)


@switches
def in_thrift(start: bytes, error: HbtableError, context: ConnectionContext) -> bytes | None:
    """The answer to the message that begins with `start`. None: that is the start of none."""
    framed = len(start).to_bytes(4, "big") + start
    spoken = sniff_frame(framed)
    wire = context.wires.get(spoken.protocol) if spoken is not None else None
    head = _head_of(start, wire, context) if wire is not None else None
    if wire is None or head is None:
        return None
    name, _, sequence = head
    method = context.methods.get(name)
    declared = errors.declared(error, method.declares if method is not None else {})
    if method is not None and declared.field in method.declares:
        return wire.dialect.declared(method, sequence, declared)
    return wire.dialect.refusal(name, sequence, INTERNAL_ERROR, declared.message)


@switches
def _head_of(start: bytes, wire: Wire, context: ConnectionContext) -> Call | None:
    budget = MemoryBudget(len(start) + 1, lambda seconds: None, context.clock)
    source = MessageInput(_Ended(), len(start), 0.0, context.pause, budget, context.clock, False, start)
    try:
        return wire.read_head(source)
    except (Malformed, MessageTooLarge, EndOfStream):
        return None
    finally:
        source.release()


class _Ended:
    """A stream that brings nothing more."""

    def recv(self, most: int, /) -> bytes:
        return b""

    def sendall(self, data: bytes, /) -> None: ...
    def settimeout(self, seconds: float | None, /) -> None: ...
    def close(self) -> None: ...
