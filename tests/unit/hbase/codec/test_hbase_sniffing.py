"""What each kind of client begins with."""

from typing import Any

import pytest

from hbtable.hbase.codec.sniffing import DetectedProtocol, Protocol, sniff


@pytest.mark.parametrize(
    ("first", "spoken"),
    [
        (b"\x80\x01\x00\x01\x00\x00\x00\x06getRow", DetectedProtocol(Protocol.STRICT)),
        (b"\x82\x21\x01\x06getRow", DetectedProtocol(Protocol.COMPACT)),
        (b"\x00\x00\x00\x06getRow", DetectedProtocol(Protocol.LOOSE)),
        (b"\x00\x00\x00\x40\x80\x01\x00\x01", DetectedProtocol(Protocol.STRICT, framed=True)),
        (b"\x01\x20\x00\x40\x80\x01\x00\x01", DetectedProtocol(Protocol.STRICT, framed=True)),
        (b"\x00\x00\x00\x40\x82\x21", DetectedProtocol(Protocol.COMPACT, framed=True)),
        (b"\x00\x00\x00\x40\x00\x00\x00\x06getRow", DetectedProtocol(Protocol.LOOSE, framed=True)),
        (b"GET / HTTP/1.1\r\n", DetectedProtocol(Protocol.HTTP)),
        (b"POST", DetectedProtocol(Protocol.HTTP)),
        (b"OPTIONS *", DetectedProtocol(Protocol.HTTP)),
        (b"\x16\x03\x01\x02\x00\x01", DetectedProtocol(Protocol.TLS)),
        (b"\x01\x00\x00\x00\x06GSSAPI", DetectedProtocol(Protocol.SASL)),
        (b"\x01\x00\x00\x00\x05PLAIN", DetectedProtocol(Protocol.SASL)),
        (b'[1,"getTableNames",1,0,{}]', DetectedProtocol(Protocol.JSON)),
        (b'\x00\x00\x00\x1a[1,"getTableNames",1,0,{}]', DetectedProtocol(Protocol.JSON, framed=True)),
        (b'\x00\x00\x00\x1a{"metadata": {}}', DetectedProtocol(Protocol.JSON, framed=True)),
        (b"\x00\x00\x00\x2a\x0f\xff\x00\x00", DetectedProtocol(Protocol.HEADER, framed=True)),
        (b"HBas\x00\x50", DetectedProtocol(Protocol.HBASE_RPC)),
        (b"*1\r\n$4\r\nPING\r\n", DetectedProtocol(Protocol.REDIS)),
        (b"PING\r\n", DetectedProtocol(Protocol.REDIS)),
        (b"SSH-2.0-OpenSSH\r\n", DetectedProtocol(Protocol.TEXT)),
        (b"hi\r\n", DetectedProtocol(Protocol.TEXT)),
        (b"HEAD / HTTP/1.1", DetectedProtocol(Protocol.HTTP)),
        (b"[1,", None),
        (b"HBas", None),
        (b"\xff\xff\xff\xff", DetectedProtocol(Protocol.UNKNOWN)),
        (b"\x80\x02\x00\x01", DetectedProtocol(Protocol.UNKNOWN)),
        (b"", None),
        (b"\x80", None),
        (b"\x00\x00\x00\x40\x80", None),
        (b"\x00\x00\x00\x40\x82", None),
        (b"\x00\x00\x00\x40\x00\x00\x00", None),
        (b"\x00\x00\x00\x01\x00", DetectedProtocol(Protocol.LOOSE, framed=True)),
        (b"\x00\x00\x00\x00\x00", DetectedProtocol(Protocol.LOOSE, framed=True)),
        (b"\x00\x00\x00\x40\x00\x00\x01\x01", DetectedProtocol(Protocol.UNKNOWN, framed=True)),
        (b"\x00\x00\x00\x40\x80\x02", DetectedProtocol(Protocol.UNKNOWN)),
        (b"\x00\x00\x00\x25\x00\x03\x00\x00user", DetectedProtocol(Protocol.POSTGRESQL)),
        (b"\x00\x00\x00\x08\x04\xd2\x16\x2f", DetectedProtocol(Protocol.POSTGRESQL)),
        (b"\x00\x00\x00\x08\x04\xd2", None),
        (b"\x00\x00\x00\x06", None),
        (b"PO", None),
    ],
)
def test_first_bytes(first: bytes, spoken: DetectedProtocol | None) -> None:
    assert sniff(first) == spoken


@pytest.mark.parametrize(
    ("request_bytes", "status", "with_message"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 400 ", True),
        (b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 400 ", True),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 400 ", True),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999\r\n\r\n", b"HTTP/1.1 413 ", True),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", b"HTTP/1.1 501 ", True),
        (b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 400 ", False),
        (b"TRACE / HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 403 ", True),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"HTTP/1.1 400 ", True),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 70000, b"HTTP/1.1 413 ", True),
    ],
)
def test_http_gets_a_status_and_a_message(
    gateway: Any, request_bytes: bytes, status: bytes, with_message: bool
) -> None:
    gateway.context.port = 9090
    stream = gateway.talk(request_bytes[:10], request_bytes[10:])
    assert stream.sent.startswith(status)
    assert (b'happybase.Connection("127.0.0.1", 9090)' in stream.sent) == with_message
    assert stream.pieces == [] or status.startswith(b"HTTP/1.1 413")
    assert stream.closed


@pytest.mark.parametrize("first", [b"\xff\xff\xff\xff\xff", b"\x80\x02\x00\x01"])
def test_others_get_a_line_of_text_and_leave_one_in_the_log(
    gateway: Any, first: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    stream = gateway.talk(first, b"and more")
    assert stream.sent.startswith(b"this is hbtable")
    assert stream.pieces == [], "what was not read would reset the connection, and eat what it was told"
    assert stream.closed
    assert len(caplog.records) == 1
    assert "client:1" in caplog.text


def test_abrupt_ends_are_quiet(gateway: Any, client: Any, caplog: pytest.LogCaptureFixture) -> None:
    message = client.encode("getRow", tableName=b"t", row=b"r")
    assert gateway.talk().closed
    assert gateway.talk(message[:20]).closed
    from hbtable.hbase.connection import GatewayConnection

    stream = gateway.talk()
    stream.pieces, stream.recv_error = [message], ConnectionResetError()
    GatewayConnection(stream, "client:2", gateway.context).serve()
    assert client.decode(stream.sent, "getRow") == []
    assert not caplog.records
