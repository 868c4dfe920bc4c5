"""What each kind of client begins with."""

from typing import Any

import pytest

from hbtable.hbase.codec.sniffing import Protocol, Spoken, sniff


@pytest.mark.parametrize(
    ("first", "spoken"),
    [
        (b"\x80\x01\x00\x01\x00\x00\x00\x06getRow", Spoken(Protocol.STRICT)),
        (b"\x82\x21\x01\x06getRow", Spoken(Protocol.COMPACT)),
        (b"\x00\x00\x00\x06getRow", Spoken(Protocol.LOOSE)),
        (b"\x00\x00\x00\x40\x80\x01\x00\x01", Spoken(Protocol.STRICT, framed=True)),
        (b"\x01\x20\x00\x40\x80\x01\x00\x01", Spoken(Protocol.STRICT, framed=True)),
        (b"\x00\x00\x00\x40\x82\x21", Spoken(Protocol.COMPACT, framed=True)),
        (b"\x00\x00\x00\x40\x00\x00\x00\x06getRow", Spoken(Protocol.LOOSE, framed=True)),
        (b"GET / HTTP/1.1\r\n", Spoken(Protocol.HTTP)),
        (b"POST", Spoken(Protocol.HTTP)),
        (b"OPTIONS *", Spoken(Protocol.HTTP)),
        (b"\x16\x03\x01\x02\x00\x01", Spoken(Protocol.TLS)),
        (b"\x01\x00\x00\x00\x06GSSAPI", Spoken(Protocol.SASL)),
        (b"\x01\x00\x00\x00\x05PLAIN", Spoken(Protocol.SASL)),
        (b"SSH-2.0-OpenSSH\r\n", Spoken(Protocol.UNKNOWN)),
        (b"\xff\xff\xff\xff", Spoken(Protocol.UNKNOWN)),
        (b"\x80\x02\x00\x01", Spoken(Protocol.UNKNOWN)),
        (b"", None),
        (b"\x80", None),
        (b"\x00\x00\x00\x06", None),
        (b"PO", None),
    ],
)
def test_first_bytes(first: bytes, spoken: Spoken | None) -> None:
    assert sniff(first) == spoken


@pytest.mark.parametrize(
    ("request_bytes", "status", "with_sentence"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 400 ", True),
        (b"POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody", b"HTTP/1.1 501 ", True),
        (b"HEAD / HTTP/1.1\r\n\r\n", b"HTTP/1.1 400 ", False),
        (b"TRACE / HTTP/1.1\r\n\r\n", b"HTTP/1.1 403 ", True),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 70000, b"HTTP/1.1 413 ", True),
    ],
)
def test_http_gets_a_status_and_a_sentence(door: Any, request_bytes: bytes, status: bytes, with_sentence: bool) -> None:
    door.traffic.port = 9090
    stream = door.talk(request_bytes[:10], request_bytes[10:])
    assert stream.sent.startswith(status)
    assert (b'happybase.Connection("127.0.0.1", 9090)' in stream.sent) == with_sentence
    assert stream.pieces == [] or status.startswith(b"HTTP/1.1 413")
    assert stream.closed


@pytest.mark.parametrize("first", [b"\x16\x03\x01\x02\x00", b"\x01\x00\x00\x00\x06GSSAPI", b"SSH-2.0\r\n"])
def test_others_get_a_log_line_and_the_end(door: Any, first: bytes, caplog: pytest.LogCaptureFixture) -> None:
    stream = door.talk(first)
    assert stream.sent == b""
    assert stream.closed
    assert len(caplog.records) == 1
    assert "client:1" in caplog.text


def test_abrupt_ends_are_quiet(door: Any, client: Any, caplog: pytest.LogCaptureFixture) -> None:
    message = client.encode("getRow", tableName=b"t", row=b"r")
    assert door.talk().closed
    assert door.talk(message[:20]).closed
    from hbtable.hbase.connection import Connection

    stream = door.talk()
    stream.pieces, stream.recv_error = [message], ConnectionResetError()
    Connection(stream, "client:2", door.traffic).serve()
    assert client.decode(stream.sent, "getRow") == []
    assert not caplog.records
