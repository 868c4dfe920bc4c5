"""HBase's Thrift1 as bytes on a socket, in each pair of transport and protocol that clients choose from."""

import os
from typing import Any, Final, NamedTuple, Protocol

from hbtable.hbase.codec.interface_files import load_interface
from hbtable.hbase.codec.sniffing import DetectedProtocol
from hbtable.hbase.codec.sniffing import Protocol as Spoken

_IDL: Final = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "idl", "hbase.thrift")
LARGEST_MESSAGE_BYTES: Final = 256 << 20
"""Of one call or answer: more than any client sends on purpose."""
_OBJECT_BYTES: Final = 300
"""A cell, a row or a mutation takes so many besides its bytes, about."""
UNKNOWN_METHOD: Final = 1
INTERNAL_ERROR: Final = 6


class Pair(NamedTuple):
    """A transport and a protocol. `loose`: the binary one, without versions."""

    framed: bool = False
    compact: bool = False
    loose: bool = False

    def __str__(self) -> str:
        return f"{'framed' if self.framed else 'buffered'}, {'compact' if self.compact else 'binary'}"


def pair_of(spoken: DetectedProtocol) -> Pair | None:
    """None: no pair of Thrift's."""
    if spoken.protocol not in (Spoken.STRICT, Spoken.LOOSE, Spoken.COMPACT):
        return None
    return Pair(spoken.framed, spoken.protocol is Spoken.COMPACT, spoken.protocol is Spoken.LOOSE)


class ByteCarrier(Protocol):
    """A socket, or what stands for one."""

    def recv(self, most: int, /) -> bytes: ...
    def sendall(self, data: bytes, /) -> None: ...


class _Handle:
    """A socket as thriftpy2's transports read it, with a bound on each message."""

    def __init__(self, carrier: ByteCarrier) -> None:
        self._carrier = carrier
        self.write = carrier.sendall
        self.left = LARGEST_MESSAGE_BYTES

    def read(self, size: int) -> bytes:
        piece = self._carrier.recv(size)
        self.left -= len(piece)
        if self.left < 0:
            raise OSError(f"a message is over {LARGEST_MESSAGE_BYTES} bytes")
        return piece

    def flush(self) -> None:
        return


class ReceivedCall(NamedTuple):
    """A call as it came. `arguments` is None where the interface has no such method."""

    name: str
    sequence: int
    arguments: Any


Answer = Any
"""X_result of the interface, or a TApplicationException."""


class ThriftWire:
    """One end of a connection. Everything raises OSError, EOFError, or an error of thriftpy2's."""

    def __init__(self, carrier: ByteCarrier, pair: Pair) -> None:
        from thriftpy2.protocol.compact import TCompactProtocol
        from thriftpy2.protocol.cybin import TCyBinaryProtocol
        from thriftpy2.transport import TCyBufferedTransport, TCyFramedTransport

        self._handle = _Handle(carrier)
        transport = (TCyFramedTransport if pair.framed else TCyBufferedTransport)(self._handle)
        self._transport = transport
        self._protocol: Any
        if pair.compact:
            self._protocol = TCompactProtocol(transport)
        else:
            self._protocol = TCyBinaryProtocol(transport, strict_read=not pair.loose, strict_write=not pair.loose)
        self._service = interface().Hbase

    def read_call(self) -> ReceivedCall:
        """Waits for the next one."""
        name, _, sequence = self._begin()
        if name not in self._service.thrift_services:
            from thriftpy2.thrift import TType

            self._protocol.skip(TType.STRUCT)
            return ReceivedCall(name, sequence, None)
        arguments = getattr(self._service, f"{name}_args")()
        self._protocol.read_struct(arguments)
        return ReceivedCall(name, sequence, arguments)

    def write_call(self, name: str, arguments: Any) -> None:
        from thriftpy2.thrift import TMessageType

        self._write(name, TMessageType.CALL, 0, arguments)

    def read_answer(self, name: str) -> Answer:
        from thriftpy2.thrift import TApplicationException, TMessageType

        _, kind, _ = self._begin()
        is_exception = kind == TMessageType.EXCEPTION
        answer = TApplicationException() if is_exception else getattr(self._service, f"{name}_result")()
        self._protocol.read_struct(answer)
        return answer

    def write_answer(self, name: str, sequence: int, answer: Answer) -> None:
        from thriftpy2.thrift import TApplicationException, TMessageType

        is_exception = isinstance(answer, TApplicationException)
        self._write(name, TMessageType.EXCEPTION if is_exception else TMessageType.REPLY, sequence, answer)

    def message_bytes(self) -> int:
        """About so many were received of the last message."""
        return LARGEST_MESSAGE_BYTES - self._handle.left

    def _begin(self) -> tuple[str, int, int]:
        self._handle.left = LARGEST_MESSAGE_BYTES
        name, kind, sequence = self._protocol.read_message_begin()
        return name, kind, sequence

    def _write(self, name: str, kind: int, sequence: int, struct: Any) -> None:
        self._protocol.write_message_begin(name, kind, sequence)
        struct.write(self._protocol)
        self._transport.flush()


def interface() -> Any:
    """The interface's module: its service and structs."""
    return load_interface(_IDL, "hbtable_shadow_hbase_thrift")


def kept_bytes(message: Any, received: int) -> int:
    """Memory that a call's arguments or an answer take, of which so many bytes were received, about: small cells are
    many times as large in memory."""
    objects = 0
    for value in vars(message).values():
        if isinstance(value, (list, dict)):
            objects += len(value)
            for one in value:
                parts = getattr(one, "__dict__", {}).values()
                objects += sum(len(part) for part in parts if isinstance(part, (list, dict)))
    return received + objects * _OBJECT_BYTES


def refusal(kind: int, message: str) -> Answer:
    """An answer that no method declares."""
    from thriftpy2.thrift import TApplicationException

    return TApplicationException(kind, message)


def failure(answer: Answer) -> Any:
    """The exception in an answer; None: there is none."""
    if isinstance(answer, Exception):
        return answer
    for name, value in answer.__dict__.items():
        if name != "success" and value is not None:
            return value
    return None
