"""Bytes of one connection, message by message, with a limit that holds before memory is taken.

Others get their turn, however fast this client sends and however small the pieces of its message are.

`data` is contiguous and `position` is where decoding goes on. Fast readers index `data` directly and give up when it
ends early; careful readers use take(), which waits for what is missing. Unframed: message ends are known only by
decoding, so every byte that take() waits for is counted. Framed: the length is checked before the frame is read.
"""

from collections.abc import Callable
from typing import Final, Protocol, final, runtime_checkable

from hbtable.errors import Overloaded
from hbtable.runtime.memory_budget import SMALL_BYTES, MemoryBudget, MemoryReservation
from hbtable.runtime.slices import let_go_inside
from hbtable.switches import switches
from hbtable.thrift.frames import CHUNK_BYTES, LARGE_CHUNK_BYTES, FrameTooLarge, chunk_bytes, whole_frame
from hbtable.thrift.gathered import Gathered, Join
from hbtable.thrift.wire import EndOfStream, Malformed, MessageTooLarge

_TAKES_AT_ONCE: Final = 64
_ELEMENTS_AT_ONCE: Final = 64
"""Some 0.1 ms: others wait for the rest of it."""
_WIDE_ELEMENTS: Final = 20_000
_NOTHING: Final[list[object]] = []
_TURN: Final = 64
"""Messages after which others get a turn; one that had arrived before the last was answered counts for eight."""
_ELEMENT_BYTES: Final = 100
"""The cost of a list's element once it is decoded, beside its own bytes."""
_HEAD_BYTES: Final = 4096
"""Kept of a message that is refused as it arrives, for the name of its call."""
SLOWEST_BYTES: Final = 1024
"""A second, of a message that has begun, after thrift.stall_seconds: a byte a minute must not keep it for ever."""
_PIECE_COST: Final = 1 << 10
"""Of what arrives in pieces: to get one, however small, costs as much as so many bytes. Kerberos has a frame opened for
it."""
_PORTION_BYTES: Final = 256 << 10
"""Of more than a megabyte that a stream hands on at once. It may be a million messages, and what follows each of them
is copied."""
SILENT_SECONDS: Final = 2.0
DISCARDING_SECONDS: Final = 60.0
"""A client that is sent away may be silent for SILENT_SECONDS; the rest of its message is read for this long."""
_WAY_OUT: Final = "bytes (thrift.message_bytes): send smaller batches, or have the limit raised"


class Stream(Protocol):
    """A connected socket. recv and sendall *switch*; all may raise OSError when the client went away."""

    def recv(self, most: int, /) -> bytes: ...
    def sendall(self, data: bytes, /) -> None: ...
    def settimeout(self, seconds: float | None, /) -> None: ...
    def close(self) -> None: ...


@runtime_checkable
class Unopened(Protocol):
    """A stream inside of another one, whose content need not be opened to be forgotten."""

    carrier: Stream


@switches
def read_and_forget(
    stream: Stream, most: float, seconds: float, goes_on: Callable[[], bool], pause: Callable[[], None]
) -> None:
    """Reads what a client that is sent away still sends: `most` bytes and a chunk, until it leaves, is silent for
    `seconds`, or nothing `goes_on`. Closing with unread bytes would reset the connection, and the client would never
    see the answer that tells it why."""
    if isinstance(stream, Unopened):  # a frame that was refused is refused again, and each behind it
        stream = stream.carrier
    try:
        stream.settimeout(seconds)
        while most > 0 and goes_on():
            chunk = stream.recv(LARGE_CHUNK_BYTES)
            if not chunk:
                return
            most -= len(chunk)
            pause()
    except OSError:
        return


@final
class MessageInput:
    """Reads messages of at most `limit_bytes` from `stream`; `first` are bytes that were
    read already.

    `pause` gives other tasks a turn, `join` puts the pieces of a large message together. A client silent for
    `stall_seconds` in the middle of a message, or so much behind a kilobyte a second, raises TimeoutError; between
    messages it may be silent for ever.
    """

    __slots__ = (
        "_arrived", "_base", "_began", "_budget", "_clock", "_elements", "_join", "_pause", "_portions", "_read",
        "_received_cost", "_rest", "_stall_seconds", "_stream", "_takes", "_turn", "_waiting", "begin", "data",
        "framed", "limit_bytes", "position", "refused_bytes", "reservation", "wait_for_turn",
    )  # fmt: skip

    @switches
    def __init__(
        self,
        stream: Stream,
        limit_bytes: int,
        stall_seconds: float,
        pause: Callable[[], None],
        budget: MemoryBudget,
        clock: Callable[[], float],
        framed: bool = False,
        first: bytes = b"",
        join: Join = b"".join,
    ) -> None:
        self._stream = stream
        self._join = join
        self._stall_seconds = stall_seconds
        self._pause = pause
        self._base = 0  # bytes of this message that were dropped from `data`
        self._elements = 0
        self._read = 0
        self._rest = first if framed else b""
        self._portions: list[bytes] = []
        """The last first: what was received and is not looked at yet. It is counted with each message."""
        self._waiting = 0
        """Bytes of them."""
        self._takes = 0
        self._turn = 0
        self._arrived = 0
        self._received_cost = 0
        """Since others had a turn."""
        self._clock = clock
        self._began: float | None = None
        """The time at which we first waited for the rest of the current message, without the time that it waited for
        room."""
        self._budget = budget
        self.reservation: MemoryReservation | None = None
        """The current message, when it is large."""
        self.limit_bytes = limit_bytes
        self.refused_bytes = 0
        """Bytes still to come of a message that was refused, as far as is known."""
        self.framed = framed
        self.wait_for_turn: Callable[[float], float] = _at_once
        """Returns when a request may be worked on, as Runtime.request_gate."""
        self.data = b"" if framed else first
        self.position = 0
        self.begin: Callable[[], bool] = self._begin_frame if framed else self._begin_unframed
        """Goes on to the next message; False when the client closed between messages. *Switches.*"""

    @switches
    def count_first(self) -> None:
        """Counts `first`. To be called once, before anything is read. *Switches.* Overloaded, OSError."""
        if len(self.data) > SMALL_BYTES:
            self._arrive(len(self.data))
            self.data = self._first_portion(self.data)

    def whole(self) -> bytes | None:
        """The bytes of a current message that is small and was decoded to its end; None for any other."""
        if self._base or self.reservation is not None:
            return None
        return self.data[: self.position]

    def message_bytes(self) -> int:
        """Bytes of the current message decoded so far."""
        return self._base + self.position

    @switches
    def freed(self, values: list[object]) -> list[object]:
        """Frees what the current message was decoded to: very many elements in parts. Returns an empty list."""
        if self._elements > _WIDE_ELEMENTS:
            let_go_inside(values, self._pause)
        return _NOTHING

    @switches
    def settle(self) -> None:
        """A message is decoded: from now on it waits for us and not for its client. One without a frame whose rest was
        waited for, outside the turns, waits for another turn: whoever sends a byte first and the rest later would pass
        the queue and its bound. *Switches* then; the errors of `wait_for_turn`."""
        if self.reservation is not None:
            self._budget.settled(self.reservation)
            self._budget.collect(self.reservation, self._elements * _ELEMENT_BYTES)
        if self._began is not None and not self.framed:
            self.wait_for_turn(self._clock())

    def release(self) -> None:
        """Forgets the current message: an idle client must not cost what its last request did."""
        self.data = b""
        self.position = 0
        self._arrived = 0
        self._began = None
        if self.reservation is not None:
            self._budget.end(self.reservation)
            self.reservation = None

    @switches
    def _next_turn(self, weight: int) -> None:
        self._turn += weight
        if self._turn >= _TURN:
            self._turn = 0
            self._pause()

    @switches
    def _begin_unframed(self) -> bool:
        data = self.data[self.position :]
        self.release()
        self._next_turn(8 if data else 1)
        self.data = data or self._received(CHUNK_BYTES)  # or: the client did not wait for our answer to send on
        if not self.data:
            return False
        self._base = 0
        self._elements = 0
        if len(self.data) + self._waiting > SMALL_BYTES:
            self._arrive(len(self.data) + self._waiting)
            self.data = self._first_portion(self.data)
        return True

    @switches
    def _received(self, most: int) -> bytes:
        """The next bytes of the client; a portion of those that are there."""
        if not self._portions:
            return self._stream.recv(most)
        portion = self._portions.pop()
        self._waiting -= len(portion)
        self._pause()
        return portion

    @switches
    def _first_portion(self, received: bytes) -> bytes:
        """All of it, unless it is much: then the rest waits."""
        if len(received) <= LARGE_CHUNK_BYTES:
            return received
        portions = []
        for first in range(0, len(received), _PORTION_BYTES):
            portions.append(received[first : first + _PORTION_BYTES])
            self._pause()
        portions.reverse()
        self._portions[:] = self._portions + portions
        self._waiting += len(received)
        return self._received(0)

    @switches
    def _begin_frame(self) -> bool:
        self.release()
        self._next_turn(8 if self._rest else 1)
        rest = self._rest or self._received(CHUNK_BYTES)
        if not rest:
            return False
        self._base = 0
        self._elements = 0
        try:
            if len(rest) + self._waiting > SMALL_BYTES:
                self._arrive(len(rest) + self._waiting)
                rest = self._first_portion(rest)
            self.data, _, self._rest = whole_frame(rest, self.limit_bytes, self._gather)
        except Overloaded:
            if not self.data:  # or _gather() has kept it
                length = int.from_bytes(rest[:4], "big")
                self.data, self.refused_bytes = rest[4:][:_HEAD_BYTES], max(0, 4 + length - len(rest) - self._waiting)
            raise
        except FrameTooLarge as error:
            self.data = error.have[4:]  # so that the answer can carry the call's name and number
            self.refused_bytes = error.length - len(self.data)
            raise MessageTooLarge(
                f"a frame of {error.length} bytes is over this server's limit of {self.limit_bytes} {_WAY_OUT}"
            ) from None
        return True

    @switches
    def take(self, count: int) -> bytes:
        """The next `count` bytes. *Switches* when they have not arrived. Raises WireError, OSError."""
        end = self.position + count
        if end > len(self.data):
            self._fill(count)
            end = self.position + count
        self._takes += 1
        if self._takes == _TAKES_AT_ONCE:  # four million elements of a byte each must not stop the server
            self._takes = 0
            self._pause()
        if count > LARGE_CHUNK_BYTES:
            return self._take_large(end)
        piece = self.data[self.position : end]
        self.position = end
        return piece

    @switches
    def _take_large(self, end: int) -> bytes:
        data, start = self.data, self.position
        self.position = end
        if end - start == len(data):
            return data
        pieces = []
        for first in range(start, end, LARGE_CHUNK_BYTES):
            pieces.append(data[first : min(end, first + LARGE_CHUNK_BYTES)])
            self._pause()
        return self._join(pieces)

    @switches
    def skip(self, count: int) -> None:
        """Past the next `count` bytes without keeping them."""
        while count > LARGE_CHUNK_BYTES:
            self.take(LARGE_CHUNK_BYTES)
            count -= LARGE_CHUNK_BYTES
        self.take(count)

    def count(self, elements: int) -> None:
        """Announces a container before it is read. MessageTooLarge when it cannot fit, or when the message has more
        elements in all than a 32nd of its limit in bytes: empty structs of one byte each become objects of a
        hundred, and a message must not cost many times its size."""
        self._elements += elements
        if self._elements > self.limit_bytes // 32:
            raise MessageTooLarge(
                f"a message of {self._elements} elements or more is over this server's limit of "
                f"{self.limit_bytes // 32} elements, a 32nd of thrift.message_bytes: send smaller batches"
            )

    def mismatch(self, found: int, wanted: int) -> None:
        """Elements of another kind than the interface says: a list without them, as HBase's own server has it."""

    @switches
    def turn(self, elements: int) -> None:
        """Readers of long lists say how much they read: *switches* now and then."""
        self._read += elements
        if self._read >= _ELEMENTS_AT_ONCE:
            self._read = 0
            self._pause()

    @switches
    def discard(self, most: int, seconds: float, goes_on: Callable[[], bool]) -> None:
        """As read_and_forget(). What has arrived of the message is forgotten first: others wait for its memory."""
        self.release()
        self._portions.clear()
        self._waiting = 0
        read_and_forget(self._stream, most, seconds, goes_on, self._pause)

    @switches
    def _fill(self, count: int) -> None:
        if self._base + self.position + count > self.limit_bytes:
            raise MessageTooLarge(f"the message is over this server's limit of {self.limit_bytes} {_WAY_OUT}")
        if self.framed:
            raise Malformed("a message goes on behind the end of its frame")
        rest = self.data[self.position :]
        self._base += self.position
        self.position = 0
        self.data, _ = self._gather(rest, count)

    @switches
    def _gather(self, have: bytes, count: int, first: int | None = None) -> tuple[bytes, bytes]:
        """The first bytes of `have` and more, all where no number is given, and those behind them; at least `count`
        bytes together. Memory grows only as bytes arrive."""
        gathered = Gathered(have)
        missing = count - len(have)
        stream, clock = self._stream, self._clock
        began = clock() if self._began is None else self._began
        stream.settimeout(self._stall_seconds)
        while missing > 0:
            known = self._waiting
            piece = self._first_portion(self._received(chunk_bytes(missing)))
            if not piece:
                raise EndOfStream("the client closed the connection in the middle of a message")
            gathered.add(piece)
            missing -= len(piece)
            now = clock()
            if now - began > self._stall_seconds + self._arrived / SLOWEST_BYTES:
                raise TimeoutError("the message arrives too slowly")
            try:
                self._arrive(len(piece) + self._waiting - known)
            except Overloaded:
                # What there is says which call it was, and the rest is thrown away by whoever answers it.
                head = gathered.beginning(4 + _HEAD_BYTES)
                self.data = head[4:] if first == count == 4 else head  # that was the frame's length itself
                self.refused_bytes = max(0, missing - self._waiting)
                raise
            began += clock() - now
        self._began = began
        stream.settimeout(None)
        return gathered.split(gathered.size if first is None else first, self._join)

    @switches
    def _arrive(self, count: int) -> None:
        self._arrived += count
        if self.reservation is not None:
            self._budget.arrive(self.reservation, count)
        elif self._arrived > SMALL_BYTES:
            self.reservation = self._budget.begin(self._stream.close)
            self._budget.arrive(self.reservation, self._arrived)
        self._received_cost += _PIECE_COST + count
        if self._received_cost > CHUNK_BYTES:
            self._received_cost = 0
            self._budget.pause(self.reservation, self._pause)


def _at_once(now: float) -> float:
    return now
