"""Connections to one peer: one call at a time on each, kept for the next caller, given up at a deadline.

What a failure leaves known decides what the caller may do:

    Unsent   the peer cannot have begun: no connection, or a frame that the kernel did not take whole, or its goodbye
    Lost     the call went out whole and no answer came: it may have been carried out

A frozen peer (SIGSTOP) keeps its connections open and says nothing: only deadlines, and asking now and then whether
the peer still counts as alive, get a caller out.
"""

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from hmac import compare_digest
from typing import Final, final

from hbtable.errors import Corruption, HbtableError, Unavailable, UnsupportedFormat
from hbtable.rpc.codec.errors import RpcError
from hbtable.rpc.declaration import CallTimeout
from hbtable.rpc.handshake import (
    BEFORE,
    OURS,
    STRANGERS_BYTES,
    PeerVersion,
    agreed,
    answered,
    hello_request,
    read_hello_reply,
)
from hbtable.rpc.proof import CHALLENGE_BYTES, PROVE, ClusterKey
from hbtable.runtime.interface import Event, Runtime
from hbtable.runtime.joining import Joiner
from hbtable.runtime.network import sockets
from hbtable.runtime.network.sockets import Socket
from hbtable.switches import switches
from hbtable.thrift.frames import FRAME_BYTES, Frames

_LOG: Final = logging.getLogger(__name__)

_NO_PROOF: Final = (
    "it does not prove that it has the cluster's key, and this process calls only roles that do: set cluster.key "
    "there, upgrade it, or set cluster.key_required = false here for as long as some roles have no key"
)
_WRONG_PROOF: Final = (
    "what it gave as a proof was not made with the cluster's key: it is no role of this cluster, or cluster.key is "
    "another file there"
)

Connect = Callable[[str, int, float], Socket]
"""As runtime.sockets.connect."""

_SMALL_BYTES: Final = 4 << 10
"""So much the system takes at once: there is one call at a time on a connection, and the last one was answered."""


@dataclass(frozen=True, slots=True)
class RpcOptions:
    """Options: how long callers wait, and how much memory they may take."""

    connect_seconds: float = 2.0
    """For a connection. Raising it keeps callers longer at the address of a machine that is gone."""
    read_seconds: float = 10.0
    """For reads and scans. Raising any of these rides out longer pauses of a server, and keeps callers there while its
    tablets may be served elsewhere already."""
    write_seconds: float = 30.0
    """For writes: a server that holds writers back answers late."""
    census_seconds: float = 2.0
    """For the questions that the master asks every server in each of its rounds."""
    load_seconds: float = 60.0
    """For loading a tablet. Raising it keeps a tablet longer at a server that cannot load it and does not say so, and
    the master with it; a load that takes longer goes on, and is asked for again."""
    order_seconds: float = 600.0
    """For unloading tablets, sorting logs, and the calls of a master."""
    compact_seconds: float = 6 * 3600.0
    """For flushes, compactions and splits."""
    watch_seconds: float = 5.0
    """Seconds between a waiting caller's questions whether the peer still counts as alive. Raising it asks the lock
    service less often, and keeps callers longer at a peer that froze and was replaced."""
    connections: int = 256
    """To one peer at a time; further callers wait for their turn. Each costs either side about 20 KB."""
    idle_connections: int = 64
    """Kept open to one peer between calls."""
    frame_bytes: int = FRAME_BYTES
    """The largest message either way. Raising it lets one call take that much memory, about three times."""

    def seconds(self, timeout: CallTimeout) -> float:
        """The deadline of a call."""
        if timeout is CallTimeout.READ:  # without a hash of an Enum, which is Python's own
            return self.read_seconds
        if timeout is CallTimeout.WRITE:
            return self.write_seconds
        return {
            CallTimeout.REPORTS: self.census_seconds,
            CallTimeout.LOAD: self.load_seconds,
            CallTimeout.ORDER: self.order_seconds,
            CallTimeout.COMPACT: self.compact_seconds,
        }[timeout]


class Unsent(Exception):
    """The call was not begun. The message says why."""


class Unproved(Unsent):
    """One of the two does not have the cluster's key, or not the same."""


class Lost(Exception):
    """The call went out and no answer came back. The message says why."""


@final
class RpcConnection:
    """One connection to a peer. After any error it cannot be used again: close it."""

    __slots__ = (
        "_arrivals", "_deadline", "_frames", "_limit_seconds", "_lives", "_runtime", "_socket", "_watch_seconds",
        "proved", "sequence", "theirs",
    )  # fmt: skip

    def __init__(self, runtime: Runtime, socket: Socket, options: RpcOptions) -> None:
        self._runtime = runtime
        self._socket = socket
        self._watch_seconds = options.watch_seconds
        pause, join = (lambda: runtime.sleep(0)), Joiner(runtime)
        self._frames = Frames(self._receive, self._receive, options.frame_bytes, pause, join)
        self._arrivals: Callable[[int], list[tuple[int, int]]] | None = None
        self._deadline = self._limit_seconds = 0.0
        self._lives: Callable[[], bool] | None = None
        self.sequence = 0
        """Of the last call."""
        self.theirs = BEFORE
        """The version that the peer speaks."""
        self.proved = False
        """Whether both sides have the cluster's key."""

    @switches
    def greet(self, deadline: float, lives: Callable[[], bool], key: ClusterKey | None = None) -> None:
        """*Switches.* The first calls: what both sides speak is settled on return, and that both have the key. Unsent;
        UnsupportedFormat when the peer speaks another version, whichever side said so."""
        ours = OURS if key is None else key.challenged(OURS)
        frames, most = self._frames, self._frames.limit_bytes
        frames.limit_bytes = min(STRANGERS_BYTES, most)  # whoever has the address of a role that is gone may answer
        try:
            self.theirs = answered(read_hello_reply(self.exchange(hello_request(ours), deadline, lives)))
            frames.checked = agreed(self.theirs).checks_frames
            if key is not None:
                self._prove(key, ours, deadline, lives)
            frames.limit_bytes = most
        except Unavailable as error:
            raise Unproved(f"it refused this process: {error}") from error
        except Lost as error:
            raise Unsent(f"no answer to the first call on a connection: {error}") from error
        except Corruption as error:
            raise Unsent(f"the answer to the first call on a connection is damaged: {error.reason}") from error

    @switches
    def _prove(self, key: ClusterKey, ours: PeerVersion, deadline: float, lives: Callable[[], bool]) -> None:
        """Unavailable when the peer refused the proof, or has none; Unsent, Lost, Corruption."""
        if len(self.theirs.challenge) != CHALLENGE_BYTES:
            if key.required:
                raise Unproved(_NO_PROOF)
            return
        hellos = key.hellos(ours, self.theirs)
        request = PROVE.request(0, (hellos.callers_proof(key.own),), _no_pause)
        answer = PROVE.read_reply(self.exchange(request, deadline, lives), 0, _no_pause)
        if isinstance(answer, RpcError):
            raise answer.raised()
        if not isinstance(answer, bytes) or not compare_digest(answer, hellos.servers_proof(key.own)):
            raise Unproved(_WRONG_PROOF)
        self._frames.tags = hellos.callers_tags(key.own)
        self.proved = True

    def is_usable(self) -> bool:
        """Between calls: the peer has neither ended nor said goodbye, which may come together with its last answer.
        Does not switch."""
        if self._frames.rest:
            return False
        if self._arrivals is None:
            self._arrivals = sockets.arrivals(self._socket)
        return not self._arrivals(0)

    @switches
    def exchange(self, frame: bytes, deadline: float, lives: Callable[[], bool]) -> bytes:
        """*Switches.* Sends a call and returns the message of its answer. Unsent, Lost."""
        self._deadline = deadline
        self._lives = lives
        try:
            left = max(0.001, deadline - self._runtime.clock_seconds())
            self._limit(left if len(frame) > _SMALL_BYTES else min(left, self._watch_seconds))
            self._socket.sendall(self._frames.outgoing(frame))
        except OSError as error:
            # The kernel did not take all of it, so the peer never gets a whole frame, and begins whole ones only.
            raise Unsent(f"the call could not be sent: {error}") from error
        try:
            answer = self._frames.next()
        except TimeoutError as error:
            raise Lost(str(error)) from error
        except (OSError, Corruption) as error:
            raise Lost(f"the connection broke: {error}") from error
        if answer is None:
            raise Lost("the peer closed the connection")
        if not answer:
            raise Unsent("the peer is stopping")
        return answer

    def close(self) -> None:
        """Idempotent."""
        self._socket.close()

    def _limit(self, seconds: float) -> None:
        """Sending and receiving end after so long, from now on."""
        if seconds != self._limit_seconds:
            self._limit_seconds = seconds
            self._socket.settimeout(seconds)

    @switches
    def _receive(self, most: int) -> bytes:
        while True:
            left = self._deadline - self._runtime.clock_seconds()
            if left <= 0:
                raise TimeoutError("no answer within the deadline")
            self._limit(min(left, self._watch_seconds))
            try:
                return self._socket.recv(most)
            except TimeoutError:
                if left > self._watch_seconds and self._lives is not None and not self._lives():
                    raise TimeoutError("the peer counts as dead") from None


@final
class RpcConnectionPool:
    """The connections to one address. `take` and then `give` or `drop`, whatever happens in between."""

    def __init__(
        self, runtime: Runtime, address: str, options: RpcOptions, connect: Connect, key: ClusterKey | None = None
    ) -> None:
        """`key`: by which both sides prove that they are of the cluster; None: the peer is believed."""
        self.address = address
        self._key = key
        self._runtime = runtime
        self._options = options
        self._connect = connect
        self._idle: list[RpcConnection] = []
        self._taken = 0
        self._waiting: deque[Event] = deque()
        self._closed = False
        self._checks = True
        """Whether the last connection was to a peer that puts checksums on frames."""
        self._proved = True
        """Whether it was to one that proved that it has the key."""

    @switches
    def take(self, deadline: float, lives: Callable[[], bool], fresh: bool = False) -> tuple[RpcConnection, bool]:
        """*Switches.* A connection, and whether it has served before; never one of those when `fresh`. Unsent,
        UnsupportedFormat."""
        if self._taken < self._options.connections:
            self._taken += 1
        else:
            self._wait_for_turn(deadline)
        try:
            while self._idle:
                connection = self._idle.pop()  # the one used last: the others may be closed, it is surely open
                if not fresh and connection.is_usable():
                    return connection, True
                connection.close()
            return self._open(deadline, lives), False
        except BaseException:
            self._leave()
            raise

    def give(self, connection: RpcConnection) -> None:
        """Takes back a connection whose call was answered."""
        if self._closed or len(self._idle) >= self._options.idle_connections:
            connection.close()
        else:
            self._idle.append(connection)
        if self._waiting:
            self._leave()
        else:
            self._taken -= 1

    def drop(self, connection: RpcConnection) -> None:
        """Something went wrong on it."""
        connection.close()
        self._leave()

    def close_ended(self) -> bool:
        """Closes the idle connections that the peer has ended. Whether it has ended all that there were: then it has
        probably stopped. Does not switch."""
        before, self._idle = self._idle, [connection for connection in self._idle if connection.is_usable()]
        for connection in set(before).difference(self._idle):
            connection.close()
        return bool(before) and not self._idle and not self._taken

    def close(self) -> None:
        """Calls under way go on; their connections are closed afterwards. Idempotent."""
        self._closed = True
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @switches
    def _open(self, deadline: float, lives: Callable[[], bool]) -> RpcConnection:
        """The refusal of another version has no checksum: it is believed when it comes twice."""
        try:
            connection = self._greeted(deadline, lives)
        except UnsupportedFormat:
            connection = self._greeted(deadline, lives)
        if self._checks and not connection.theirs.checks_frames:
            _LOG.warning(
                "the peer at %s does not know the hello and is taken for an hbtable of %s: messages to it and from it "
                "have no checksums until it is upgraded",
                self.address,
                BEFORE,
            )
        self._checks = connection.theirs.checks_frames
        if self._key is not None and self._proved and not connection.proved:
            _LOG.warning(
                "the peer at %s did not prove that it has the cluster's key; cluster.key_required = false lets it pass",
                self.address,
            )
        self._proved = connection.proved
        return connection

    @switches
    def _greeted(self, deadline: float, lives: Callable[[], bool]) -> RpcConnection:
        host, _, port = self.address.rpartition(":")
        if not host or not port.isdigit():
            raise Unsent(f"{self.address!r} is no address")
        left = deadline - self._runtime.clock_seconds()
        try:
            socket = self._connect(host.strip("[]"), int(port), max(0.001, min(left, self._options.connect_seconds)))
        except Unavailable as error:
            raise Unsent(str(error)) from error
        connection = RpcConnection(self._runtime, socket, self._options)
        try:
            connection.greet(deadline, lives, self._key)
        except BaseException:
            connection.close()
            raise
        return connection

    @switches
    def _wait_for_turn(self, deadline: float) -> None:
        turn = self._runtime.event()
        self._waiting.append(turn)
        try:
            in_time = turn.wait(max(0.0, deadline - self._runtime.clock_seconds()))
        except BaseException:
            self._give_up(turn)
            raise
        if not in_time:
            self._give_up(turn)
            raise Unsent(f"{self._taken} calls to it are under way, and none ended in time")
        # Whoever left handed over the place: _taken counts it already.

    def _give_up(self, turn: Event) -> None:
        if turn.is_set():
            self._leave()
        else:
            self._waiting.remove(turn)

    def _leave(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()
        else:
            self._taken -= 1


def _no_pause() -> None:
    """A hello is short."""


def still_lives(ask: Callable[[], bool]) -> Callable[[], bool]:
    """`ask`, where not being able to tell counts as alive: the lock service may be away, too."""

    def lives() -> bool:
        try:
            return ask()
        except HbtableError:
            return True

    return lives
