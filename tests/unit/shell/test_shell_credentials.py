"""A password or token goes to whoever is to have it: over TLS, or to this machine when the server takes it so."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from hbtable.shell import credentials
from hbtable.shell.address import ServerAddress, parse_address
from hbtable.shell.credentials import authenticated
from hbtable.shell.errors import CannotConnect, NotLetIn

SECRET = b"correct horse"
START, OK, BAD, ERROR, COMPLETE = 1, 2, 3, 4, 5
ASKS = struct.pack(">BI", START, 5) + b"PLAIN" + struct.pack(">BI", OK, 0)
TELLS = struct.pack(">BI", OK, len(SECRET) + 5) + b"\0ann\0" + SECRET


class Connection(socket.socket):
    """A client's end of a pair, which says that it is connected to `peer`."""

    peer = "127.0.0.1"

    def getpeername(self) -> tuple[str, int]:
        return self.peer, 9090


class Server:
    """The other end: gives each answer when so many bytes have come, no more where it is empty; keeps them."""

    def __init__(self, end: socket.socket, answers: list[tuple[int, bytes]]) -> None:
        self._end = end
        self._answers = answers
        self.read = b""
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with self._end as end:
            for due, answer in self._answers:
                while len(self.read) < due and (piece := end.recv(due - len(self.read))):
                    self.read += piece
                if answer:
                    end.sendall(answer)
                else:
                    end.shutdown(socket.SHUT_WR)
            while piece := end.recv(1 << 16):
                self.read += piece

    def wait(self) -> bytes:
        """All that came until the client closed its end."""
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.read


@pytest.fixture
def ends() -> Iterator[tuple[Connection, socket.socket]]:
    with ExitStack() as stack:
        ours, servers = socket.socketpair()
        connection = stack.enter_context(Connection(fileno=ours.detach()))
        connection.settimeout(60)
        yield connection, stack.enter_context(servers)


@pytest.fixture
def address(tmp_path: Path) -> ServerAddress:
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET + b"\n")
    secret.chmod(0o600)
    return ServerAddress("server", 9090, user="ann", secret=str(secret))


def said(status: int, text: bytes = b"") -> bytes:
    return struct.pack(">BI", status, len(text)) + text


@pytest.mark.parametrize("peer", ["192.0.2.1", "2001:db8::1", "fe80::1%eth0", "0.0.0.1", "::ffff:192.0.2.1"])
def test_nothing_goes_to_another_machine_without_tls(
    ends: tuple[Connection, socket.socket], address: ServerAddress, peer: str
) -> None:
    connection, end = ends
    connection.peer = peer
    server = Server(end, [])
    with pytest.raises(CannotConnect, match=r"server:9090 is another machine, .* of ann on the way: it was not sent"):
        authenticated(connection, address)
    assert server.wait() == b""


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.8.8", "::1", "192.0.2.1"])
def test_a_server_that_takes_it_without_tls_gets_it_when_it_has_said_so(
    ends: tuple[Connection, socket.socket], address: ServerAddress, peer: str
) -> None:
    connection, end = ends
    connection.peer = peer
    server = Server(end, [(len(ASKS), said(OK)), (len(ASKS + TELLS), said(COMPLETE))])
    authenticated(connection, parse_address(str(address._replace(plain_text=peer == "192.0.2.1"))))
    connection.close()
    assert server.wait() == ASKS + TELLS


@pytest.mark.parametrize("answer", [said(BAD, b"over TLS only"), said(COMPLETE), b""])
def test_a_server_that_does_not_take_it_never_gets_it(
    ends: tuple[Connection, socket.socket], address: ServerAddress, answer: bytes
) -> None:
    connection, end = ends
    server = Server(end, [(len(ASKS), answer)])
    if answer == said(COMPLETE):  # it lets everybody in: fine, and it needs no secret for that
        authenticated(connection, address)
        connection.close()
    else:
        with pytest.raises(CannotConnect, match="over TLS only" if answer else "closed the connection"):
            authenticated(connection, address)
    assert server.wait() == ASKS


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (BAD, b"the user or the password is wrong", NotLetIn),
        (ERROR, b"the list of users cannot be read now: the server's log says why", CannotConnect),
        # So did servers of earlier versions say it.
        (BAD, b"the list of users cannot be read now: the server's log says why", CannotConnect),
    ],
)
def test_a_wrong_password_is_told_from_a_server_that_cannot_know(
    ends: tuple[Connection, socket.socket], address: ServerAddress, status: int, words: bytes, kind: type[Exception]
) -> None:
    connection, end = ends
    server = Server(end, [(len(ASKS), said(OK)), (len(ASKS + TELLS), said(status, words))])
    with pytest.raises(CannotConnect, match=words.decode()) as caught:
        authenticated(connection, address)
    assert type(caught.value) is kind
    server.wait()


def test_over_tls_one_message_is_enough(ends: tuple[Connection, socket.socket], address: ServerAddress) -> None:
    connection, end = ends
    connection.peer = "192.0.2.1"
    whole = ASKS[:10] + TELLS
    server = Server(end, [(len(whole), said(COMPLETE))])
    authenticated(connection, address._replace(tls=True))
    connection.close()
    assert server.wait() == whole


def test_what_was_typed_for_one_server_is_not_sent_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """`hbtable copy` and `hbtable shadow` talk to two, whose users may have the same names."""
    asked: list[str] = []
    monkeypatch.delenv("HBTABLE_SECRET", raising=False)
    monkeypatch.setattr(credentials, "_typed", {})
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("getpass.getpass", lambda prompt: asked.append(prompt) or f"secret {len(asked):06}")

    def sent(host: str, port: int, answer: bytes = b"") -> bytes:
        with ExitStack() as stack:
            ours, servers = socket.socketpair()
            connection = stack.enter_context(Connection(fileno=ours.detach()))
            end = stack.enter_context(servers)
            server = Server(end, [(len(ASKS), said(OK)), (len(ASKS + TELLS), answer or said(COMPLETE))])
            with suppress(NotLetIn):
                authenticated(connection, ServerAddress(host, port, user="ann"))
            connection.close()
            return server.wait().rpartition(b"\0")[2]

    assert [sent("production", 9090) for _ in range(2)] == [b"secret 000001"] * 2
    assert sent("test", 9090) == b"secret 000002"
    assert sent("production", 9091) == b"secret 000003"
    assert sent("test", 9090, said(BAD, b"the user or the password is wrong")) == b"secret 000002"
    assert sent("test", 9090) == b"secret 000004", "a wrong one is asked for again"
    assert sent("production", 9090) == b"secret 000001"
    servers = ["production:9090", "test:9090", "production:9091", "test:9090"]
    assert asked == [f"Password or token of ann for {server}: " for server in servers]
