"""The opening and the end of a ZooKeeper session, spoken over a plain socket, with a deadline for each.

kazoo keeps two things to itself that are needed here: which timeout the server granted (the lease depends on it), and a
way to end a session that another process opened, without opening a new one when it is over already.

    request   4 B length, 4 B protocol 0, 8 B last zxid, 4 B timeout in ms, 8 B session (0: a new one),
              4 B length of the password (16), password, 1 B read-only
    answer    4 B length, 4 B protocol 0, 4 B timeout in ms (0: the session is over, or the password is wrong), 8 B
              session, 4 B length of the password, password, perhaps 1 B read-only
    close     4 B length 8, 4 B number of the request 1, 4 B type -11; answered by 16 B
"""

import socket
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from hbtable.errors import InvalidConfiguration, Unavailable

Host = tuple[str, int]

_REQUEST: Final = struct.Struct(">iqiqi16s?")
_ANSWER: Final = struct.Struct(">iiqi")
_LENGTH: Final = struct.Struct(">i")
_CLOSE: Final = struct.Struct(">iii")
_NO_PASSWORD: Final = bytes(16)
_LONGEST_ANSWER: Final = 1 << 16
_DEFAULT_PORT: Final = 2181
_PAUSE_SECONDS: Final = 0.1
_HANDSHAKE_SECONDS: Final = 2.0


class Credentials(NamedTuple):
    """Id and password of a session: who has them speaks for it."""

    session: int
    password: bytes


class Granted(NamedTuple):
    """An open session."""

    credentials: Credentials
    timeout_millis: int
    """As the server granted it; it may be another than what was asked for."""


def parse_hosts(hosts: str) -> list[Host]:
    """HOST:PORT,HOST:PORT; without a port it is 2181. InvalidConfiguration."""
    parsed: list[Host] = []
    for part in hosts.split(","):
        host, colon, port = part.strip().rpartition(":")
        if not colon:
            host, port = port, str(_DEFAULT_PORT)
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise InvalidConfiguration(f"{part.strip()!r} in {hosts!r} is no ZooKeeper address: HOST:PORT is wanted")
        parsed.append((host.strip("[]"), int(port)))
    return parsed


def open_session(hosts: Sequence[Host], timeout_seconds: float, clock: Callable[[], float], by: float) -> Granted:
    """A new session from the first host that grants one. Nobody keeps it alive yet. Blocks until this time of the clock
    at the latest, trying again: a server that starts takes connections and closes or ignores them. Unavailable."""
    millis = round(timeout_seconds * 1000)
    while True:
        try:
            left = min(_HANDSHAKE_SECONDS, max(_PAUSE_SECONDS, by - clock()) / len(hosts))
            granted, connection = _connect(hosts, millis, Credentials(0, _NO_PASSWORD), left)
            break
        except Unavailable:
            if clock() + _PAUSE_SECONDS >= by:
                raise
            threading.Event().wait(_PAUSE_SECONDS)
    connection.close()  # the session stays: only a close request ends it
    if granted is None:
        raise Unavailable(f"ZooKeeper at {shown(hosts)} granted no session")
    return granted


def close_session(hosts: Sequence[Host], credentials: Credentials, deadline_seconds: float) -> bool:
    """The session is over and its locks are free on return, whoever opened it. False when it was over already. Blocks
    up to `deadline_seconds` for each host. Unavailable: it ends by its own timeout, unless it is closed later."""
    granted, connection = _connect(hosts, 1, credentials, deadline_seconds)
    try:
        if granted is None:
            return False
        connection.sendall(_CLOSE.pack(8, 1, -11))
        _receive_frame(connection)
        return True
    except OSError as error:
        raise Unavailable(f"ZooKeeper at {shown(hosts)} did not confirm the end of a session: {error}") from error
    finally:
        connection.close()


def shown(hosts: Sequence[Host]) -> str:
    return ",".join(f"{host}:{port}" for host, port in hosts)


def _connect(
    hosts: Sequence[Host], timeout_millis: int, credentials: Credentials, deadline_seconds: float
) -> tuple[Granted | None, socket.socket]:
    """The first host that answers; None when the session is over."""
    problems: list[str] = []
    for host in hosts:
        try:
            connection = socket.create_connection(host, deadline_seconds)
        except OSError as error:
            problems.append(f"{host[0]}:{host[1]}: {error}")
            continue
        try:
            request = _REQUEST.pack(0, 0, timeout_millis, credentials.session, 16, credentials.password, False)
            connection.sendall(_LENGTH.pack(len(request)) + request)
            return _granted(_receive_frame(connection)), connection
        except (OSError, struct.error) as error:
            connection.close()
            problems.append(f"{host[0]}:{host[1]}: {error}")
    raise Unavailable(f"no ZooKeeper server answers: {'; '.join(problems)}")


def _granted(answer: bytes) -> Granted | None:
    _, timeout_millis, session, length = _ANSWER.unpack_from(answer)
    password = answer[_ANSWER.size : _ANSWER.size + length]
    return Granted(Credentials(session, password), timeout_millis) if timeout_millis > 0 else None


def _receive_frame(connection: socket.socket) -> bytes:
    (length,) = _LENGTH.unpack(_receive(connection, _LENGTH.size))
    if not 0 <= length <= _LONGEST_ANSWER:
        raise OSError(f"an answer of {length} bytes: this is no ZooKeeper server")
    return _receive(connection, length)


def _receive(connection: socket.socket, length: int) -> bytes:
    received = b""
    while len(received) < length:
        part = connection.recv(length - len(received))
        if not part:
            raise OSError("the connection was closed")
        received += part
    return received
