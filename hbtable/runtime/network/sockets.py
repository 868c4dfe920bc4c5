"""TCP over gevent: listening, with a drain that lets calls under way finish, and connecting.

Every socket has TCP_NODELAY (without it a small answer waits up to 44 ms for the peer's delayed acknowledgement) and
SO_KEEPALIVE (a peer that vanished is noticed by the kernel; idle connections are never closed by us).
"""

import errno
import logging
import math
import os
import resource
import select
import socket as standard_socket
import time
from collections.abc import Callable
from typing import Any, Final, Protocol, final

import gevent
from gevent import socket as hub_socket
from gevent.server import StreamServer

from hbtable.errors import HbtableError, InvalidConfiguration, Unavailable
from hbtable.runtime.network.answer_gate import AnswerGate
from hbtable.runtime.network.port_holder import holder_of
from hbtable.runtime.threads.native_threads import allocate_rlock
from hbtable.switches import switches

Address = tuple[str, int]

_log = logging.getLogger(__name__)

_DESCRIPTORS: Final = 1 << 20
_EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_ACCEPT_AGAIN_SECONDS: Final = 0.1
_WARN_SECONDS: Final = 10.0
_WAITS_AFTER_VAIN: Final = 7
"""Then the system is asked at once again: a client that became fast needs no look at all sockets for each call."""

_PEEK: Final = int(standard_socket.MSG_PEEK | standard_socket.MSG_DONTWAIT)

# The peer went away: its business, not an error of ours.
_PEER_GONE: Final = (BrokenPipeError, ConnectionResetError, ConnectionAbortedError)


class Socket(Protocol):
    """A connected socket as handlers use it. Receiving and sending *switch*."""

    def recv(self, size: int, flags: int = 0, /) -> bytes: ...
    @switches
    def sendall(self, data: bytes | bytearray | memoryview, flags: int = 0, /) -> None: ...
    def settimeout(self, value: float | None, /) -> None: ...
    def shutdown(self, how: int, /) -> None: ...
    def fileno(self) -> int: ...
    def close(self) -> None: ...


class TurnsOfReading(Protocol):
    """Says when a connection may go on: a request_gate.RequestGate."""

    @switches
    def wait(self, readable: Any, has_ended: Callable[[], bool], /) -> None:
        """*Switches.* Until the watcher of a socket says that something has arrived, and it may be read. `has_ended`:
        whether that was the peer's end, for which nobody has to wait."""

    def lose(self) -> None:
        """The turn is over: the rest of the request is waited for, with a time limit."""


class RestOfReading(Protocol):
    """Says when more of a request may be read: a request_gate.RestGate."""

    @switches
    def wait(self, readable: Any, seconds: float, /) -> None:
        """*Switches.* Until the watcher of a socket says that more has arrived, and it may be read. TimeoutError when
        nothing arrives within `seconds`."""

    def closed(self) -> None:
        """The socket is being closed, and who waits is told."""


@final
class ServedSocket:
    """A connection as its handler gets it. What is sent goes to the system in one call, where that takes it at once:
    gevent's own sendall asks for the size of the buffer each time, and costs 5 us.

    gevent's own recv asks the system before it waits. With many clients, or one that is slower than we are, that is in
    vain, and costs a twelfth of a get. So who was asked in vain is waited for at once the next times.

    With `turns`, what may take for ever, the next request, is read when it is this connection's turn. What has a
    timeout, the rest of a request, is waited for outside these turns, and with `rest` in turns of its own."""

    __slots__ = (
        "_send", "_send_rest", "_socket", "_waits", "fileno", "rest", "settimeout", "shutdown", "turns",
    )  # fmt: skip

    def __init__(self, socket: hub_socket.socket) -> None:
        self._socket = socket
        self._waits = 0
        """So many times yet the peer is waited for before the system is asked."""
        self._send = socket.send
        self._send_rest = socket.sendall
        self.settimeout = socket.settimeout
        self.shutdown = socket.shutdown
        self.fileno = socket.fileno
        self.turns: TurnsOfReading | None = None
        self.rest: RestOfReading | None = None

    @switches
    def recv(self, size: int, flags: int = 0, /) -> bytes:
        socket = self._socket
        if self._waits and socket._read_event is not None and socket.timeout != 0.0:
            self._waits -= 1
            self._wait()
        while True:
            try:
                return socket._sock.recv(size, flags)
            except BlockingIOError:
                if socket.timeout == 0.0:
                    raise
            self._waits = _WAITS_AFTER_VAIN
            self._wait()

    @switches
    def _wait(self) -> None:
        socket, turns = self._socket, self.turns
        readable = socket._read_event
        if turns is not None and readable is not None:
            if socket.timeout is None:
                turns.wait(readable, self._has_ended)
                return
            turns.lose()
        if self.rest is not None and readable is not None and socket.timeout:
            self.rest.wait(readable, socket.timeout)
        else:
            socket._wait(readable)

    def _has_ended(self) -> bool:
        """Whether nothing more will be read. Does not switch."""
        try:
            return not self._socket._sock.recv(1, _PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True  # as by a reset

    @switches
    def sendall(self, data: bytes | bytearray | memoryview, flags: int = 0, /) -> None:
        sent = self._send(data, flags)
        if sent < len(data):
            self._send_rest(memoryview(data)[sent:], flags)

    def close(self) -> None:
        try:
            self._socket.close()
        finally:
            if self.rest is not None:
                self.rest.closed()


@final
class Listener:
    """A listening socket and its connections."""

    def __init__(
        self, host: str, port: int, server: "AcceptRetryingServer", connections: "Connections", capacity: int
    ) -> None:
        self.host = host
        self.port = port
        """The port itself, also when 0 (any free one) was asked for; 0 of a Unix socket."""
        self.capacity = capacity
        """Connections for which there are file descriptors, beside those that files need."""
        self._server = server
        self._connections = connections

    @property
    def open_connections(self) -> int:
        return len(self._connections.sockets)

    def stop_accepting(self) -> None:
        """New connections are refused from now on; open ones go on. Idempotent."""
        self._server.close()

    def descriptors(self) -> list[int]:
        """The socket's, until it listens no more, and those of its connections."""
        return self._connections.descriptors() + self._server.descriptors()

    @switches
    def close(self, grace_seconds: float = 5.0) -> None:
        """*Switches.* Stops accepting, lets calls under way be answered, and cuts what still runs after the grace."""
        self.stop_accepting()
        self._connections.close(grace_seconds)


@final
class Connections:
    """The connections of one listener, and the handler that each is given to."""

    def __init__(self, handle: Callable[[Socket, Address], None], most: int) -> None:
        self._most = most
        self.sockets: dict[hub_socket.socket, gevent.Greenlet | None] = {}
        self._handle = handle

    def add(self, socket: hub_socket.socket) -> None:
        """Before serve(), in the step in which it is accepted."""
        self.sockets[socket] = None

    @switches
    def serve(self, socket: hub_socket.socket, address: Address) -> None:
        """Runs in a greenlet of its own; the socket is closed by gevent's server afterwards."""
        try:
            if len(self.sockets) > self._most + 1:
                return  # the handler sheds clients long before; without this the storage could open no file
            self.sockets[socket] = _current()
            prepare(socket)
            self._handle(ServedSocket(socket), address)
        except _PEER_GONE:
            pass
        except Exception as error:  # noqa: BLE001  the last resort: one connection's failure must not reach the others
            _log.error("connection from %s failed: %s: %s", address, type(error).__name__, error, exc_info=error)
        finally:
            self.sockets.pop(socket, None)

    def descriptors(self) -> list[int]:
        return [descriptor for socket in self.sockets if (descriptor := socket.fileno()) >= 0]

    @switches
    def close(self, grace_seconds: float) -> None:
        for socket in list(self.sockets):
            # The handler reads what has arrived, answers it, then sees the end: nothing is cut in the middle.
            _end_of_input(socket)
        handlers = [handler for handler in self.sockets.values() if handler is not None]
        gevent.joinall(handlers, timeout=grace_seconds)
        gevent.killall([handler for handler in handlers if not handler.ready()])


_ACCEPTING: Final = allocate_rlock()
"""Nobody forks between the accepting of a connection and its place among the known ones: the child could not let go of
it (unix_sockets.let_go), and its client would wait for the child after the server's end."""

os.register_at_fork(before=_ACCEPTING.acquire, after_in_parent=_ACCEPTING.release, after_in_child=_ACCEPTING.release)


class AcceptRetryingServer(StreamServer):
    """Waits where the operating system has no file descriptor for a new connection; gevent's own would print a trace
    each time."""

    max_accept = 2
    """Connections that are taken before those that are open have a turn. With gevent's own 100 whoever opens thousands
    at once keeps the others waiting for 20 ms each time."""
    _warned = -math.inf

    def __init__(self, listening: hub_socket.socket, connections: Connections) -> None:
        super().__init__(listening, connections.serve)
        self._connections = connections

    def do_read(self) -> tuple[hub_socket.socket, Address] | None:
        try:
            with _ACCEPTING:
                accepted: tuple[hub_socket.socket, Address] | None = super().do_read()
                if accepted is not None:
                    self._connections.add(accepted[0])
            return accepted
        except OSError as error:
            if error.errno not in _EXHAUSTED:
                raise
            now = time.monotonic()
            if now - self._warned > _WARN_SECONDS:
                self._warned = now
                _log.error("a client cannot be accepted: %s; trying again until others have left", error.strerror)
            self.stop_accepting()
            self._timer = self.loop.timer(_ACCEPT_AGAIN_SECONDS)
            self._timer.start(self._start_accepting_if_started)
            return None

    def descriptors(self) -> list[int]:
        """The listening socket's, until close()."""
        listening = getattr(self, "socket", None)
        return [] if listening is None else [listening.fileno()]


@switches
def serve(host: str, port: int, handle: Callable[[Socket, Address], None], backlog: int = 1024) -> Listener:
    """Listens at once, and runs `handle` as a task for each connection, whose socket is closed when that returns.

    Port 0 is any free port. `backlog`: connections the kernel holds while the hub is busy; it caps it at somaxconn.
    Unavailable when the port is taken; InvalidConfiguration when the address can never work here.
    """
    capacity = capacity_of(raise_descriptors())
    connections = Connections(handle, capacity + 16)
    server = AcceptRetryingServer(listen(host, port, backlog), connections)
    server.start()
    return Listener(host, int(server.address[1]), server, connections, capacity)


def capacity_of(descriptors: int) -> int:
    """Connections that a process may hold which may have so many files and connections open: the rest is for files."""
    return descriptors - max(64, descriptors // 4)


def descriptors_for(connections: int) -> int:
    """The fewest of which capacity_of() is `connections`."""
    return max(connections + 64, 4 * (connections - 1) // 3 + 1)


@switches
def connect(host: str, port: int, timeout_seconds: float) -> Socket:
    """*Switches.* A connected socket without a timeout. Unavailable when nobody answers there in time."""
    try:
        socket = hub_socket.create_connection((host, port), timeout_seconds)
    except OSError as error:
        raise Unavailable(f"{host}:{port} cannot be reached: {error.strerror or error}") from error
    socket.settimeout(None)
    prepare(socket)
    connected = ServedSocket(socket)
    connected.rest = AnswerGate()
    return connected


def arrivals(socket: Socket) -> Callable[[int], list[tuple[int, int]]]:
    """A poll of this socket alone, for whoever asks often: given 0, it returns what has arrived by now, which may be
    the peer's end. It is not to be called once the socket is closed, and does not switch."""
    poll = select.poll()
    poll.register(socket.fileno(), select.POLLIN)
    return poll.poll


def prepare(socket: standard_socket.socket) -> None:
    """The options every connection needs; one within this machine, over Unix sockets, needs none."""
    if socket.family == standard_socket.AF_UNIX:
        return
    socket.setsockopt(standard_socket.IPPROTO_TCP, standard_socket.TCP_NODELAY, 1)
    socket.setsockopt(standard_socket.SOL_SOCKET, standard_socket.SO_KEEPALIVE, 1)


@switches
def listen(host: str, port: int, backlog: int) -> hub_socket.socket:
    """A listening socket. gevent's servers would make one too, but leave it open where that fails."""
    try:
        family, kind, protocol, _, address = hub_socket.getaddrinfo(
            host, port, type=standard_socket.SOCK_STREAM, flags=standard_socket.AI_PASSIVE
        )[0]
        socket = hub_socket.socket(family, kind, protocol)
        try:
            # A port in TIME_WAIT after a restart may be taken; one that another process listens on may not.
            socket.setsockopt(standard_socket.SOL_SOCKET, standard_socket.SO_REUSEADDR, 1)
            socket.bind(address)
            socket.listen(backlog)
        except OSError:
            socket.close()
            raise
    except OSError as error:
        raise _listen_error(error, host, port) from error
    return socket


def _listen_error(error: OSError, host: str, port: int) -> HbtableError:
    """The error for a port that cannot be listened on, with the way out."""
    if error.errno == errno.EADDRINUSE:
        holder = holder_of(port)
        return Unavailable(
            f"port {port} on {host} is in use{f' by {holder}' if holder else ''}: stop the server that listens there, "
            "or choose another port (0 takes any free one)"
        )
    if error.errno == errno.EACCES:
        return InvalidConfiguration(
            f"port {port} on {host} needs more rights than this process has: take one above 1023"
        )
    return InvalidConfiguration(f"cannot listen on {host}:{port}: {error.strerror or error}; is that this machine's?")


def raise_descriptors() -> int:
    """Each connection and each open file takes a descriptor. How many this process may have now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return wanted
        except (OSError, ValueError):
            return soft  # macOS allows less than it says
    return min(soft, _DESCRIPTORS) if soft != resource.RLIM_INFINITY else _DESCRIPTORS


def _end_of_input(socket: standard_socket.socket) -> None:
    try:
        socket.shutdown(standard_socket.SHUT_RD)
    except OSError:
        pass  # the peer was faster


def _current() -> gevent.Greenlet | None:
    here = gevent.getcurrent()
    return here if isinstance(here, gevent.Greenlet) else None
