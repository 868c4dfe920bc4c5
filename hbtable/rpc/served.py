"""One connection of another process to the port between roles: what arrives and what it takes of the memory for that.

A runtime.occupancy.Guest. A peer that is cut off, to make room for another connection or for its bytes, is told goodbye
first. So it knows that a call without an answer was not begun.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final, final

from hbtable.rpc.admission import Admission
from hbtable.rpc.handshake import STRANGERS_BYTES
from hbtable.rpc.hbase_clients import COMPACT_CALL
from hbtable.rpc.proof import ClusterKey
from hbtable.runtime.memory_budget import SENT_AT_ONCE, SMALL_BYTES, MemoryBudget, MemoryReservation
from hbtable.runtime.network.sockets import Address, Socket
from hbtable.runtime.request_budget import RequestBudget
from hbtable.switches import switches
from hbtable.thrift.frames import Frames
from hbtable.thrift.gathered import Join

_UNFRAMED: Final = (b"\x80\x01\x00", COMPACT_CALL)
"""As the length of a frame each would be 2 GiB, which none is: so begins a message without frame, happybase's way."""


class Foreign(Exception):
    """The first message is no call of a role. `data`: the bytes that a client of another service sent first."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.data = data


@final
class Served:
    """One connection of another process. `receive()` a call, answer it with `send()`, again and again. `working` and
    `answered` are for Occupancy."""

    __slots__ = (
        "_arrived", "_budget", "_clock", "_frame_bytes", "_request", "_socket", "_stall_seconds", "admission",
        "answered", "cost", "frames", "host", "idle_since", "peer", "working",
    )  # fmt: skip

    def __init__(
        self,
        socket: Socket,
        peer: Address,
        budget: MemoryBudget,
        clock: Callable[[], float],
        frame_bytes: int,
        stall_seconds: float,
        pause: Callable[[], None],
        key: ClusterKey | None = None,
        join: Join = b"".join,
    ) -> None:
        self._socket = socket
        self._budget = budget
        self._clock = clock
        self._stall_seconds = stall_seconds
        self._request: MemoryReservation | None = None
        """The current call, when it is large."""
        self._arrived = 0
        self._frame_bytes = frame_bytes
        self.cost = RequestBudget(budget)
        """Of the call that is carried out."""
        self.frames = Frames(self._begin, self._go_on, frame_bytes, pause, join)
        self.admission = Admission(key)
        self.peer = f"{peer[0]}:{peer[1]}"
        self.host = str(peer[0])
        self.idle_since = clock()
        self.working = False
        self.answered = False

    @switches
    def receive(self) -> bytes | None:
        """*Switches.* The next call, which the server works on from now until it is sent; None at the end."""
        self.release()
        admitted = self.admission.admitted
        self.frames.limit_bytes = self._frame_bytes if admitted else min(STRANGERS_BYTES, self._frame_bytes)
        message = self.frames.next()
        self.working = True
        if self._request is not None and message is not None:
            self._budget.settled(self._request)
            self._budget.collect(self._request, len(message))  # about as much again, once it is decoded
        return message

    @switches
    def send(self, frame: bytes) -> None:
        """*Switches* until the peer has taken all of it. OSError."""
        data = self.frames.outgoing(frame)
        self.cost.clear()  # the answer counts itself from now on
        self.working = False
        socket = self._socket
        socket.settimeout(self._stall_seconds)
        if len(data) <= SMALL_BYTES and self._request is None:
            socket.sendall(data)
        else:
            self._send_large(data)
        self.idle_since = self._clock()
        self.answered = True

    @switches
    def _send_large(self, data: bytes) -> None:
        answer = self._budget.begin(self.cut)
        try:
            if len(data) > SMALL_BYTES:  # else others would be cut off for the request that it answers
                self._budget.send(answer, len(data))
            with memoryview(data) as whole:
                for first in range(0, len(data), SENT_AT_ONCE):
                    self._socket.sendall(whole[first : first + SENT_AT_ONCE])
                    self._budget.moved(answer, SENT_AT_ONCE)
        finally:
            self._budget.end(answer)

    @switches
    def say_goodbye(self) -> None:
        """*Switches.* What has not been answered is not begun. OSError."""
        self._socket.settimeout(self._stall_seconds)
        self._socket.sendall(self.frames.goodbye())

    def turn_out(self, most: int) -> None:
        self.cut()

    def cut(self) -> None:
        with suppress(OSError):
            self._socket.settimeout(0.0)  # it must not wait for a peer that reads nothing
            self._socket.sendall(self.frames.goodbye())
        self._socket.close()

    def release(self) -> None:
        """Nothing of the current call is kept any more. Idempotent."""
        self._arrived = 0
        self.cost.clear()
        if self._request is not None:
            self._budget.end(self._request)
            self._request = None

    @switches
    def _begin(self, most: int) -> bytes:
        self._socket.settimeout(None if self.admission.admitted else self._stall_seconds)
        data = self._socket.recv(most)
        if data.startswith(_UNFRAMED):
            raise Foreign(data)
        self._arrive(len(data))
        return data

    @switches
    def _go_on(self, most: int) -> bytes:
        self._socket.settimeout(self._stall_seconds)
        data = self._socket.recv(most)
        self._arrive(len(data))
        return data

    @switches
    def _arrive(self, count: int) -> None:
        self._arrived += count
        if self._request is not None:
            self._budget.arrive(self._request, count)
        elif self._arrived > SMALL_BYTES:
            self._request = self._budget.begin(self.cut)
            self._budget.arrive(self._request, self._arrived)
