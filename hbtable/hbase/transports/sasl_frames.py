"""The inside of SASL's frames after the negotiation, where nothing protects them: a stream of bytes."""

import struct
from collections.abc import Callable
from typing import Final, final

from hbtable.switches import switches
from hbtable.thrift.message_input import Stream

_LENGTH: Final = struct.Struct(">I")
_READ_BYTES: Final = 64 << 10
_HEADS_AT_ONCE: Final = 1024
"""A read brings 16,384 of empty frames; and the next read may find as many, and so on for ever."""
_READS_AT_ONCE: Final = 64
"""Each may bring fewer, or a byte of one."""


@final
class SaslStream:
    """The inside of the frames. One task at a time reads or writes."""

    def __init__(self, carrier: Stream, first: bytes, pause: Callable[[], None]) -> None:
        """`first`: what was read of `carrier` already. `pause` lets other tasks run."""
        self._carrier = carrier
        self._pause = pause
        self._read = first
        self._left = 0
        """Bytes of the frame that are still to come."""
        self.settimeout = carrier.settimeout
        self.close = carrier.close

    @switches
    def recv(self, most: int, /) -> bytes:
        """`most` is not looked at: what a read of the carrier has brought is handed on as a whole."""
        reads = 0
        while True:
            inside = self._without_heads()
            if inside:
                return inside
            piece = self._carrier.recv(_READ_BYTES)
            if not piece:
                return b""
            self._read += piece
            reads += 1
            if not reads % _READS_AT_ONCE:
                self._pause()

    @switches
    def _without_heads(self) -> bytes:
        """Of what was read; a head of which a part is missing stays."""
        if self._left >= len(self._read):
            inside, self._read = self._read, b""
            self._left -= len(inside)
            return inside
        pieces: list[bytes] = []
        place, end = 0, len(self._read)
        while place < end:
            if not self._left:
                if end - place < _LENGTH.size:
                    break
                (self._left,) = _LENGTH.unpack_from(self._read, place)
                place += _LENGTH.size
            taken = min(self._left, end - place)
            pieces.append(self._read[place : place + taken])
            self._left -= taken
            place += taken
            if not len(pieces) % _HEADS_AT_ONCE:
                self._pause()
        self._read = self._read[place:]
        return b"".join(pieces)

    @switches
    def sendall(self, data: bytes, /) -> None:
        if len(data) > _READ_BYTES:
            self._carrier.sendall(_LENGTH.pack(len(data)))
            self._carrier.sendall(data)
        elif data:
            self._carrier.sendall(_LENGTH.pack(len(data)) + data)
