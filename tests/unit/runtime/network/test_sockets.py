"""Listening, connecting and draining over loopback."""

import logging
import os
import socket as standard_socket
import struct
from collections.abc import Iterator

import gevent
import gevent.event
import pytest
from gevent.socket import create_connection

from hbtable.errors import InvalidConfiguration, Unavailable
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network.handed_sockets import connected, stream_pair
from hbtable.runtime.network.http import HttpOptions, serve_http
from hbtable.runtime.network.sockets import (
    AcceptRetryingServer,
    Address,
    ServedSocket,
    Socket,
    capacity_of,
    descriptors_for,
    serve,
)

HOST = "127.0.0.1"


@pytest.fixture
def runtime() -> Iterator[GeventRuntime]:
    runtime = GeventRuntime()
    yield runtime
    runtime.close()


def _echo(socket: Socket, address: Address) -> None:
    while piece := socket.recv(1000):
        socket.sendall(piece)


def _read_to_end(socket: Socket) -> bytes:
    pieces = []
    while piece := socket.recv(1000):
        pieces.append(piece)
    return b"".join(pieces)


def test_all_of_a_large_answer_arrives() -> None:
    """More than the system takes at once from a client that does not read yet."""
    answer = bytes(range(256)) * 65536
    began = gevent.event.Event()

    def send(socket: Socket, address: Address) -> None:
        began.set()
        socket.sendall(answer)

    listener = serve(HOST, 0, send)
    client = create_connection((HOST, listener.port))
    began.wait(60)
    pieces = []
    while piece := client.recv(1 << 20):
        pieces.append(piece)
    assert b"".join(pieces) == answer
    client.close()
    listener.close()


class AskedSocket:
    """The system's socket, with a count of what it is asked."""

    def __init__(self, socket: standard_socket.socket) -> None:
        self.asked = 0
        self._socket = socket

    def recv(self, size: int, flags: int = 0) -> bytes:
        self.asked += 1
        return self._socket.recv(size, flags)

    def __getattr__(self, name: str) -> object:
        return getattr(self._socket, name)


@pytest.fixture
def waited_for() -> Iterator[tuple[ServedSocket, standard_socket.socket, AskedSocket]]:
    """(a connection that was asked in vain, its peer, the system's socket)"""
    here, there = stream_pair()
    inner, peer = connected(here), standard_socket.socket(fileno=there)
    asked = AskedSocket(inner._sock)
    inner._sock = asked  # type: ignore[assignment]
    served = ServedSocket(inner)
    first = gevent.spawn(served.recv, 10)
    gevent.idle()
    peer.sendall(b"first")
    assert first.get(timeout=60) == b"first"
    assert asked.asked == 2
    asked.asked = 0
    yield served, peer, asked
    served.close()
    peer.close()


WaitedFor = tuple[ServedSocket, standard_socket.socket, AskedSocket]


def test_who_was_asked_in_vain_is_waited_for_and_one_time_in_eight_asked_first(waited_for: WaitedFor) -> None:
    served, peer, asked = waited_for
    for number in range(16):
        receives = gevent.spawn(served.recv, 10)
        gevent.idle()
        peer.sendall(b"%d" % number)
        assert receives.get(timeout=60) == b"%d" % number
    assert asked.asked == 16 + 2


def test_a_peer_that_became_fast_is_asked_first_each_time(waited_for: WaitedFor) -> None:
    served, peer, asked = waited_for
    rounds = gevent.get_hub().loop.iteration
    for _ in range(100):
        peer.sendall(b"call")
        assert served.recv(10) == b"call"
    assert asked.asked == 100
    assert gevent.get_hub().loop.iteration <= rounds + 8


def test_a_socket_that_is_waited_for_ends_with_its_peer_its_time_or_its_close(waited_for: WaitedFor) -> None:
    served, _, _ = waited_for
    served.settimeout(0.01)
    with pytest.raises(TimeoutError):
        served.recv(10)
    served.settimeout(0.0)
    with pytest.raises(BlockingIOError):
        served.recv(10)
    served.settimeout(None)
    receives = gevent.spawn(served.recv, 10)
    gevent.idle()
    served.close()
    with pytest.raises(OSError, match=r"closed|Bad file"):
        receives.get(timeout=60)
    with pytest.raises(OSError, match=r"closed|Bad file"):
        served.recv(10)


def test_a_socket_that_is_waited_for_sees_that_its_peer_left(waited_for: WaitedFor) -> None:
    served, peer, _ = waited_for
    receives = gevent.spawn(served.recv, 10)
    gevent.idle()
    peer.close()
    assert receives.get(timeout=60) == b""


def test_connections_are_handled_side_by_side() -> None:
    listener = serve(HOST, 0, _echo)
    assert listener.host == HOST
    assert listener.port > 0
    clients = [create_connection((HOST, listener.port)) for _ in range(3)]
    for number, client in enumerate(clients):
        client.sendall(b"%d" % number)
    assert [client.recv(10) for client in clients] == [b"0", b"1", b"2"]
    assert listener.open_connections == 3
    for client in clients:
        client.close()
    listener.close()
    assert listener.open_connections == 0


def test_thousands_that_come_at_once_are_taken_between_the_turns_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, most = [0], [0]
    take = AcceptRetryingServer.do_read

    def counted(server: AcceptRetryingServer) -> object:
        found = take(server)
        taken[0] += found is not None
        return found

    monkeypatch.setattr(AcceptRetryingServer, "do_read", counted)
    listener = serve("127.0.0.1", 0, lambda socket, address: None)
    clients = [standard_socket.create_connection(("127.0.0.1", listener.port)) for _ in range(200)]
    before = 0
    while taken[0] < len(clients):
        gevent.sleep(0)  # the turn of another one
        most[0] = max(most[0], taken[0] - before)
        before = taken[0]
    assert most[0] <= 4
    for client in clients:
        client.close()
    listener.close()


def test_a_connection_sends_at_once_and_watches_the_peer() -> None:
    options: list[int] = []

    def look(socket: Socket, address: Address) -> None:
        with standard_socket.socket(fileno=os.dup(socket.fileno())) as same:
            options.append(same.getsockopt(standard_socket.IPPROTO_TCP, standard_socket.TCP_NODELAY))
            options.append(same.getsockopt(standard_socket.SOL_SOCKET, standard_socket.SO_KEEPALIVE))

    listener = serve(HOST, 0, look)
    client = create_connection((HOST, listener.port))
    assert client.recv(1) == b"", "the socket is closed when its handler returns"
    client.close()
    listener.close()
    assert options == [1, 1]


def test_a_taken_port_is_named_with_the_way_out() -> None:
    listener = serve(HOST, 0, _echo)
    with pytest.raises(Unavailable, match=f"port {listener.port} on {HOST} is in use.*: stop .* or choose another"):
        serve(HOST, listener.port, _echo)
    with pytest.raises(Unavailable, match=f"port {listener.port}"):
        serve_http(HOST, listener.port, lambda environ, start_response: [])
    listener.close()


def test_an_address_of_another_machine_is_a_mistake_in_the_configuration() -> None:
    with pytest.raises(InvalidConfiguration, match=r"cannot listen on 192\.0\.2\.1:0"):
        serve("192.0.2.1", 0, _echo)


def test_a_listener_that_stopped_accepting_refuses() -> None:
    listener = serve(HOST, 0, _echo)
    listener.stop_accepting()
    listener.stop_accepting()
    with pytest.raises(ConnectionRefusedError):
        create_connection((HOST, listener.port))
    listener.close()


def test_a_closing_listener_lets_a_call_under_way_be_answered(runtime: GeventRuntime) -> None:
    may_answer = runtime.event()
    received = runtime.event()

    def slow(socket: Socket, address: Address) -> None:
        while question := socket.recv(1000):
            received.set()
            may_answer.wait()
            socket.sendall(b"answer to " + question)

    listener = serve(HOST, 0, slow)
    busy, idle = create_connection((HOST, listener.port)), create_connection((HOST, listener.port))
    busy.sendall(b"question")
    received.wait()
    while listener.open_connections < 2:  # one that is not accepted yet would be reset
        runtime.sleep(0.001)
    closing = runtime.spawn(listener.close, 60.0)
    assert idle.recv(10) == b""
    may_answer.set()
    assert _read_to_end(busy) == b"answer to question"
    assert closing.join(60.0)
    assert closing.error is None
    busy.close()
    idle.close()


def test_a_handler_that_does_not_end_is_cut_after_the_grace(runtime: GeventRuntime) -> None:
    begun = runtime.event()

    def stuck(socket: Socket, address: Address) -> None:
        begun.set()
        runtime.event().wait()

    listener = serve(HOST, 0, stuck)
    client = create_connection((HOST, listener.port))
    begun.wait()
    listener.close(grace_seconds=0.01)
    assert client.recv(10) == b""
    client.close()


def test_a_failing_handler_is_logged_and_a_vanished_peer_is_not(caplog: pytest.LogCaptureFixture) -> None:
    errors = [ConnectionResetError(104, "reset"), BrokenPipeError(32, "pipe"), ValueError("a bug")]

    def fail(socket: Socket, address: Address) -> None:
        raise errors.pop(0)

    listener = serve(HOST, 0, fail)
    with caplog.at_level(logging.DEBUG):
        for _ in range(3):
            client = create_connection((HOST, listener.port))
            assert client.recv(1) == b""
            client.close()
    listener.close()
    assert len(caplog.records) == 1
    assert "a bug" in caplog.text


def _get(port: int, path: str) -> bytes:
    client = create_connection((HOST, port))
    client.sendall(b"GET %s HTTP/1.0\r\n\r\n" % path.encode())
    answer = _read_to_end(client)
    client.close()
    return answer


def test_http_pages_and_a_failing_page(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    def application(environ: dict[str, object], start_response: object) -> list[bytes]:
        if environ["PATH_INFO"] == "/broken":
            raise ValueError("a bug")
        assert callable(start_response)
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"metrics"]

    listener = serve_http(HOST, 0, application)
    assert b"200 OK" in _get(listener.port, "/metrics")
    assert _get(listener.port, "/metrics").endswith(b"metrics")
    assert caplog.records == []
    assert b"500 Internal" in _get(listener.port, "/broken")
    assert "/broken failed: a bug" in caplog.text
    assert b"200 OK" in _get(listener.port, "/metrics")
    captured = capsys.readouterr()
    assert captured.err == "", "no request log, no traceback on stderr"
    listener.close()
    with pytest.raises(ConnectionRefusedError):
        create_connection((HOST, listener.port))


def _page(environ: dict[str, object], start_response: object) -> list[bytes]:
    assert callable(start_response)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "4")])
    return [b"page"]


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET",
        b"GET / HTTP/1.1\r\nHost: h\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nx",
        b"no request\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    ],
)
def test_a_half_sent_http_request_has_a_deadline(
    sent: bytes, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    listener = serve_http(HOST, 0, _page, HttpOptions(idle_seconds=0.02, request_seconds=0.02))
    client = create_connection((HOST, listener.port))
    client.sendall(sent)
    _read_to_end(client)  # without a deadline it would never end
    client.close()
    listener.close()
    assert (capsys.readouterr().err, caplog.text) == ("", "")


def test_an_http_connection_serves_again_and_again() -> None:
    listener = serve_http(HOST, 0, _page)
    client = create_connection((HOST, listener.port))
    for _ in range(3):
        client.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        answer = b""
        while not answer.endswith(b"page"):
            answer += client.recv(1000)
    client.close()
    listener.close()


def test_half_sent_http_requests_of_one_address_lock_out_nobody() -> None:
    listener = serve_http(HOST, 0, _page, HttpOptions(connections=10, idle_seconds=600.0, request_seconds=600.0))
    crowd = []
    for _ in range(30):
        crowd.append(create_connection((HOST, listener.port), source_address=("127.0.0.2", 0)))
        crowd[-1].sendall(b"GET / HTTP/1.1\r\n")
    assert _get(listener.port, "/").endswith(b"page")
    for early in crowd[:20]:  # these made room, the first of them for the others of their own address
        assert early.recv(100) == b""
    for one in crowd:
        one.close()
    listener.close()


@pytest.mark.parametrize("connections", [1, 2, 100, 191, 192, 193, 4096, 10_000, 1_000_000])
def test_the_descriptors_that_a_number_of_connections_needs_are_the_fewest(connections: int) -> None:
    needed = descriptors_for(connections)
    assert capacity_of(needed) >= connections
    assert capacity_of(needed - 1) < connections


def test_an_http_client_that_resets_in_the_middle_is_no_event(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    listener = serve_http(HOST, 0, _page)
    client = create_connection((HOST, listener.port))
    client.setsockopt(standard_socket.SOL_SOCKET, standard_socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n")
    gevent.sleep(0.01)  # the server has begun to read the headers, or meets the reset earlier: neither is an event
    client.close()
    assert _get(listener.port, "/").endswith(b"page")
    listener.close()
    assert (capsys.readouterr().err, caplog.text) == ("", "")
