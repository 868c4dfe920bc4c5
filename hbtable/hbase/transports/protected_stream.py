"""The inside of SASL's frames where Kerberos protects each by itself, with a checksum or by encryption.

A frame cannot be opened before all of it is there. So it is what a large request is: counted as it arrives (other
clients' memory would pay for it), limited in its time, and opened in a thread when it is large.
"""

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, final

from hbtable.errors import Overloaded
from hbtable.runtime.memory_budget import SMALL_BYTES, MemoryBudget, MemoryReservation
from hbtable.switches import switches
from hbtable.thrift.frames import CHUNK_BYTES, chunk_bytes
from hbtable.thrift.gathered import Gathered, Join
from hbtable.thrift.message_input import DISCARDING_SECONDS, SILENT_SECONDS, SLOWEST_BYTES, Stream, read_and_forget
from hbtable.thrift.wire import Malformed

if TYPE_CHECKING:
    from gssapi import SecurityContext, UnwrapResult

_LENGTH: Final = struct.Struct(">I")
_READ_BYTES: Final = 64 << 10
_OPENED_AT_ONCE_BYTES: Final = 256 << 10
"""To decrypt them takes some 3 ms."""
_EMPTY_AT_ONCE: Final = 64
"""Frames with nothing inside, of which a read brings a thousand."""


class Layer(NamedTuple):
    """The protection of what follows a negotiation."""

    context: "SecurityContext"
    error: type[Exception]
    """The library's."""
    is_confidential: bool
    most_sent: int
    """The longest message that the client takes, protected."""
    open_apart: "Callable[[bytes], UnwrapResult]"
    """The context's unwrap, in a thread. *Switches.*"""


class Limits(Protocol):
    """The limits of one port's messages, as a ConnectionContext has them. `pause` and `join` *switch*."""

    message_bytes: int
    stall_seconds: float
    budget: MemoryBudget
    clock: Callable[[], float]
    pause: Callable[[], None]

    @property
    def join(self) -> Join: ...


@final
class ProtectedStream:
    """The inside of the frames. One task at a time reads or writes."""

    def __init__(self, carrier: Stream, first: bytes, layer: Layer, limits: Limits) -> None:
        """`first`: what was read of `carrier` already."""
        self.carrier = carrier
        self._read = bytearray(first)
        self._layer = layer
        self._limits = limits
        self._most_read = limits.message_bytes + (1 << 16)
        """Clients protect all that they send at once as one frame, however long."""
        self._piece_bytes = layer.context.get_wrap_size_limit(min(layer.most_sent, _READ_BYTES), layer.is_confidential)
        self._timeout: float | None = None
        self._is_opening = False
        """A thread has the library's context."""
        self.close = carrier.close

    def settimeout(self, seconds: float | None, /) -> None:
        self._timeout = seconds
        self.carrier.settimeout(seconds)

    @switches
    def recv(self, most: int, /) -> bytes:
        """`most` is not looked at: a frame is handed on as a whole. Malformed for one that is damaged: somebody
        has changed it on its way. TimeoutError when its rest comes too slowly. Overloaded: there was no room for it,
        and it was thrown away."""
        empty = 0
        while True:
            while len(self._read) < _LENGTH.size:
                piece = self.carrier.recv(_READ_BYTES)
                if not piece:
                    return b""
                self._read += piece
            (size,) = _LENGTH.unpack_from(self._read)
            if size > self._most_read:
                raise Malformed(f"a protected frame of {size} bytes, where {self._most_read} are the most")
            inside = self._inside(size)
            if inside is None:
                return b""
            if inside:
                return inside
            empty += 1
            if not empty % _EMPTY_AT_ONCE:
                self._limits.pause()  # the next ones may be there, too, and so on for ever

    @switches
    def _inside(self, size: int) -> bytes | None:
        """The inside of the next frame, perhaps nothing. None: the client left before its end."""
        end = _LENGTH.size + size
        if len(self._read) >= end:
            frame = bytes(self._read[_LENGTH.size : end])
            del self._read[:end]
            return self._opened(frame)
        arrival = _Arrival(self.carrier, self._limits, bytes(self._read[_LENGTH.size :]), size)
        self._read = bytearray()
        try:
            arrived = arrival.frame()
            if arrived is None:
                return None
            frame, rest = arrived
            self._read += rest
            arrival.make_room()
            return self._opened(frame)
        finally:
            arrival.release()
            self.carrier.settimeout(self._timeout)

    @switches
    def _opened(self, frame: bytes) -> bytes:
        layer = self._layer
        try:
            if len(frame) <= _OPENED_AT_ONCE_BYTES:
                found = layer.context.unwrap(frame)
            else:
                self._is_opening = True
                found = layer.open_apart(frame)
        except layer.error as error:
            raise Malformed(f"a protected frame was changed on its way, or is none: {error}") from error
        finally:
            self._is_opening = False
        if layer.is_confidential and not found.encrypted:
            raise Malformed("a frame is not encrypted, although that was agreed on")
        return found.message

    @switches
    def sendall(self, data: bytes, /) -> None:
        if self._is_opening:
            raise OSError("a farewell to a client whose frame is being opened")
        layer = self._layer
        for first in range(0, len(data), self._piece_bytes):
            piece = data[first : first + self._piece_bytes]
            wrapped = layer.context.wrap(piece, layer.is_confidential).message
            self.carrier.sendall(_LENGTH.pack(len(wrapped)) + wrapped)


@final
class _Arrival:
    """One frame whose rest is still to come."""

    def __init__(self, carrier: Stream, limits: Limits, have: bytes, size: int) -> None:
        self._carrier = carrier
        self._limits = limits
        self._gathered = Gathered(have)
        self._size = size
        self._since_pause = 0
        self._reservation: MemoryReservation | None = None
        self._inside: MemoryReservation | None = None

    @switches
    def frame(self) -> tuple[bytes, bytes] | None:
        """(the frame, what came behind it); it stays counted. None: the client left. TimeoutError, Overloaded."""
        try:
            if not self._arrived():
                return None
        except Overloaded:
            self._discard()
            raise
        if self._reservation is not None:
            self._limits.budget.settled(self._reservation)
        return self._gathered.split(self._size, self._limits.join)

    @switches
    def _arrived(self) -> bool:
        """False: the client left. TimeoutError, Overloaded."""
        limits, clock = self._limits, self._limits.clock
        self._count(self._gathered.size)
        began = clock()
        self._carrier.settimeout(limits.stall_seconds)
        while self._gathered.size < self._size:
            piece = self._carrier.recv(chunk_bytes(self._size - self._gathered.size))
            if not piece:
                return False
            self._gathered.add(piece)
            now = clock()
            if now - began > limits.stall_seconds + self._gathered.size / SLOWEST_BYTES:
                raise TimeoutError("the frame arrives too slowly")
            self._count(len(piece))
            began += clock() - now
        return True

    @switches
    def _count(self, count: int) -> None:
        budget = self._limits.budget
        if self._reservation is not None:
            budget.arrive(self._reservation, count)
        elif self._gathered.size > SMALL_BYTES:
            self._reservation = budget.begin(self._carrier.close)
            budget.arrive(self._reservation, self._gathered.size)
        self._since_pause += count
        if self._since_pause > CHUNK_BYTES:
            self._since_pause = 0
            budget.pause(self._reservation, self._limits.pause)

    @switches
    def make_room(self) -> None:
        """For what is inside of a large one, beside which it is until it was opened. *Switches*. Overloaded."""
        if self._size > _OPENED_AT_ONCE_BYTES:
            self._inside = self._limits.budget.begin(None)
            self._limits.budget.grow(self._inside, self._size)

    @switches
    def _discard(self) -> None:
        """Throws the rest of a frame away for which there is no room, so that the client comes to read why."""
        clock, missing = self._limits.clock, self._size - self._gathered.size
        self._gathered = Gathered(b"")
        self.release()
        until = clock() + DISCARDING_SECONDS
        read_and_forget(self._carrier, missing, SILENT_SECONDS, lambda: clock() < until, self._limits.pause)

    def release(self) -> None:
        """Others may have its memory."""
        if self._reservation is not None:
            self._limits.budget.end(self._reservation)
            self._reservation = None
        if self._inside is not None:
            self._limits.budget.end(self._inside)
            self._inside = None
