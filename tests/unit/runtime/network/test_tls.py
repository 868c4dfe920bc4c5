"""TLS between two buffers: what a client of the standard library and a served stream say to each other."""

import math
import os
import ssl
from collections import deque
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from hbtable.errors import InvalidConfiguration
from hbtable.runtime.network.tls import HandshakeFailed, ServerTls, TlsOptions, TlsStream
from tests.harness.certificates import CA, FOLDER, put_ca, put_certificate


class Wire:
    """The client's end of a TLS connection, and the carrier that the server's end reads and writes. Bytes go to the
    server in pieces of `piece` bytes."""

    def __init__(
        self,
        piece: int = 1 << 20,
        certificate: str = "",
        version: ssl.TLSVersion | None = None,
        after: "Wire | None" = None,
    ) -> None:
        """`after`: a connection that was before, whose session goes on."""
        context = ssl.create_default_context(cafile=CA)
        if version is not None:
            context.minimum_version = context.maximum_version = version
        if certificate:
            own_key = FOLDER / f"{certificate}.key"
            key = own_key if own_key.exists() else FOLDER / "client.key"
            context.load_cert_chain(FOLDER / f"{certificate}.pem", key)
        if after is not None:
            context = after.client.context
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = after and after.client.session
        self.client = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost", session=session)
        self.piece = piece
        self.left: deque[bytes] = deque()
        self.greets = True
        self.closed = False
        self.ended = False
        self.failure: ssl.SSLError | None = None

    def recv(self, most: int, /) -> bytes:
        if self.greets:
            self._greet()
        self._collect()
        return self.left.popleft() if self.left else b""

    def sendall(self, data: bytes, /) -> None:
        self.incoming.write(data)

    def settimeout(self, seconds: float | None, /) -> None: ...

    def close(self) -> None:
        self.closed = True

    def say(self, data: bytes) -> None:
        """The client's plain bytes."""
        self.client.write(data)
        self._collect()

    def heard(self) -> bytes:
        """What the client reads."""
        data = b""
        try:
            while piece := self.client.read(1 << 20):
                data += piece
            self.ended = True
        except ssl.SSLWantReadError:
            pass
        return data

    def _greet(self) -> None:
        try:
            self.client.do_handshake()
            self.greets = False
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            self.failure, self.greets = error, False

    def _collect(self) -> None:
        data = self.outgoing.read()
        self.left += (data[first : first + self.piece] for first in range(0, len(data), self.piece))


@pytest.fixture
def tls(tmp_path: Path) -> ServerTls:
    return ServerTls(TlsOptions(*put_certificate("server", tmp_path)))


def no_pause() -> None: ...


def greeted(tls: ServerTls, wire: Wire) -> TlsStream:
    stream = tls.over(wire, b"", no_pause)
    stream.handshake(lambda: True)
    wire.recv(0)
    return stream


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_bytes_pass_in_both_directions(tls: ServerTls, piece: int, version: ssl.TLSVersion) -> None:
    wire = Wire(piece, version=version)
    stream = greeted(tls, wire)
    said = bytes(range(256)) * (4 if piece == 1 else 300)
    wire.say(said)
    got = b""
    while len(got) < len(said):
        got += stream.recv(1 << 16)
    assert got == said
    stream.sendall(said)
    assert wire.heard() == said


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_others_run_while_a_record_comes_in_very_many_pieces(tls: ServerTls, version: ssl.TLSVersion) -> None:
    """Of a client that sends faster than they are read: 16,000 of a byte were 80 ms in which nobody else ran. The
    client need not be let in: its hello does it, too."""
    wire, left = Wire(1, version=version), list[int]()
    stream = tls.over(wire, b"", lambda: left.append(len(wire.left)))
    stream.handshake(lambda: True)
    assert left
    wire.say(b"x" * 16_000)
    left[:] = [len(wire.left)]
    while wire.left:
        stream.recv(1 << 16)
    assert len(left) > 16_000 // 64
    assert max(before - after for before, after in pairwise(left)) <= 64


@pytest.mark.parametrize("size", [0, 1, 16383, 16384, 16385, 262_144, 262_145])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_answers_of_all_sizes_are_whole(tls: ServerTls, size: int, version: ssl.TLSVersion) -> None:
    wire = Wire(version=version)
    stream = greeted(tls, wire)
    for said in ((bytes(range(251)) * (size // 251 + 1))[:size], b"next"):
        stream.sendall(said)
        assert wire.heard() == said


def test_openssl_is_asked_for_nothing_that_has_not_arrived(tls: ServerTls) -> None:
    """Its answer to that is an exception, which costs as much as reading a call."""
    wire = Wire()
    stream = greeted(tls, wire)
    inner, asked = stream._tls, []

    class Counted:
        def read(self, most: int) -> bytes:
            asked.append(most)
            return inner.read(most)

        def pending(self) -> int:
            return inner.pending()

    stream._tls = Counted()  # type: ignore[assignment]
    for number in range(5):
        wire.say(b"call %d" % number)
        assert stream.recv(1 << 16) == b"call %d" % number
    assert len(asked) == 5


def test_what_was_read_before_the_handshake_is_its_beginning(tls: ServerTls) -> None:
    wire = Wire(piece=5)
    stream = tls.over(wire, wire.recv(5), no_pause)
    stream.handshake(lambda: True)
    wire.recv(0)
    stream.sendall(b"well")
    assert wire.heard() == b"well"


def test_several_records_that_have_arrived_are_one_read_and_no_more_than_asked_for(tls: ServerTls) -> None:
    wire = Wire()
    stream = greeted(tls, wire)
    for part in (b"ab", b"cd", b"ef"):
        wire.say(part)
    wire.left = deque([b"".join(wire.left)])
    assert stream.recv(5) == b"abcde"
    assert stream.recv(5) == b"f"


def test_a_large_answer_is_not_held_twice(tls: ServerTls) -> None:
    wire = Wire()
    stream = greeted(tls, wire)
    pieces: list[int] = []
    send = wire.sendall

    def counted(data: bytes) -> None:
        pieces.append(len(data))
        send(data)

    wire.sendall = counted  # type: ignore[method-assign]
    stream.sendall(b"v" * (4 << 20))
    assert max(pieces) < 300_000
    assert len(wire.heard()) == 4 << 20


def test_the_end_is_said(tls: ServerTls) -> None:
    wire = Wire()
    stream = greeted(tls, wire)
    stream.close()
    stream.close()
    wire.heard()
    assert (wire.ended, wire.closed) == (True, True)


def test_the_clients_end_is_an_end(tls: ServerTls) -> None:
    wire = Wire()
    stream = greeted(tls, wire)
    wire.say(b"last")
    with pytest.raises(ssl.SSLWantReadError):
        wire.client.unwrap()
    assert stream.recv(100) == b"last"
    assert stream.recv(100) == b""
    assert stream.recv(100) == b""


def test_a_client_that_just_leaves(tls: ServerTls) -> None:
    wire = Wire()
    stream = greeted(tls, wire)
    assert stream.recv(100) == b""
    silent = Wire()
    silent.greets = False
    with pytest.raises(HandshakeFailed, match="left in the middle"):
        tls.over(silent, b"", no_pause).handshake(lambda: True)


def test_a_handshake_that_takes_too_long(tls: ServerTls) -> None:
    looks = iter([True, True, False])
    with pytest.raises(HandshakeFailed, match="took too long"):
        tls.over(Wire(piece=3), b"", no_pause).handshake(lambda: next(looks))


def test_garbage_is_no_handshake(tls: ServerTls) -> None:
    wire = Wire()
    with pytest.raises(HandshakeFailed):
        tls.over(wire, b"\x16\x03\x01\x00\x05hello", no_pause).handshake(lambda: True)
    assert wire.incoming.pending, "the alert that tells the client"


def test_a_flipped_byte_is_an_error_of_the_stream(tls: ServerTls) -> None:
    wire = Wire()
    stream = greeted(tls, wire)
    wire.say(b"hello")
    record = bytearray(wire.left.pop())
    record[-1] ^= 1
    wire.left.append(bytes(record))
    with pytest.raises(OSError, match="BAD_RECORD_MAC"):
        stream.recv(100)


def test_old_versions_are_refused(tls: ServerTls) -> None:
    hello = b"\x03\x02" + bytes(32) + b"\0" + b"\0\x04\xc0\x14\0\x35" + b"\x01\0"  # of TLS 1.1
    message = b"\x01" + len(hello).to_bytes(3, "big") + hello
    wire = Wire()
    with pytest.raises(HandshakeFailed, match=r"no TLS from 1\.2 on"):
        tls.over(wire, b"\x16\x03\x01" + len(message).to_bytes(2, "big") + message, no_pause).handshake(lambda: True)
    assert wire.incoming.read()[:3] == b"\x15\x03\x02", "an alert"


@pytest.mark.parametrize(
    ("shown", "reason"), [("", "demands one"), ("client", ""), ("stranger", "not of tls.client_ca")]
)
def test_clients_show_certificates(tmp_path: Path, shown: str, reason: str) -> None:
    certificate, key = put_certificate("server", tmp_path)
    ca = put_ca(tmp_path)
    if shown == "stranger":  # whoever signed it, it was not this one
        shown, ca = "client", certificate
    tls = ServerTls(TlsOptions(certificate, key, ca, required=True))
    wire = Wire(certificate=shown)
    if not reason:
        greeted(tls, wire)
        return
    with pytest.raises(HandshakeFailed, match=reason):
        greeted(tls, wire)


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        ("expired", "the client's certificate, or one between it and its CA, has expired"),
        ("servers-only", "the client's certificate is one for servers alone"),
        ("of-part", "is not of tls.client_ca, or the client does not send those between the two"),
    ],
)
def test_a_certificate_that_is_refused_says_why(tmp_path: Path, shown: str, reason: str) -> None:
    certificate, key = put_certificate("server", tmp_path)
    itself = put_ca(tmp_path, "ca" if shown == "of-part" else shown)
    with pytest.raises(HandshakeFailed, match=reason):
        greeted(ServerTls(TlsOptions(certificate, key, itself, required=True)), Wire(certificate=shown))


def test_a_ca_that_another_one_signed_is_enough(tmp_path: Path) -> None:
    """The clients of a part of an organization, and not all those of its root."""
    certificate, key = put_certificate("server", tmp_path)
    tls = ServerTls(TlsOptions(certificate, key, put_ca(tmp_path, "part-ca"), required=True))
    assert greeted(tls, Wire(certificate="of-part")).common_names() == ["ann"]
    with pytest.raises(HandshakeFailed, match=r"not of tls\.client_ca"):
        greeted(tls, Wire(certificate="client"))


def test_a_certificate_with_a_name_that_is_no_text_names_nobody(tmp_path: Path) -> None:
    certificate, key = put_certificate("server", tmp_path)
    tls = ServerTls(TlsOptions(certificate, key, put_ca(tmp_path, "no-text"), required=True))
    first = Wire(certificate="no-text", version=ssl.TLSVersion.TLSv1_2)
    stream = greeted(tls, first)
    assert stream.shows_certificate
    assert stream.unreadable == "a name in the client's certificate is no text"
    assert stream.common_names() == []
    stream.sendall(b"with tickets")
    first.heard()
    with pytest.raises(HandshakeFailed, match="nobody knows when it ends"):
        greeted(tls, Wire(after=first))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_resumed_session_says_when_its_certificate_ends(tmp_path: Path, version: ssl.TLSVersion) -> None:
    """OpenSSL does not look at it again. After the files were read again no session goes on."""
    certificate, key = put_certificate("server", tmp_path)
    tls = ServerTls(TlsOptions(certificate, key, put_ca(tmp_path), required=True))
    first = Wire(certificate="client", version=version)
    stream = greeted(tls, first)
    stream.sendall(b"with tickets")
    first.heard()
    ends = datetime(2126, 10, 30, 0, 49, 33, tzinfo=UTC).timestamp() * 1000
    assert stream.certificate_ends_millis() == ends
    second = Wire(after=first)
    resumed = greeted(tls, second)
    assert second.client.session_reused
    assert resumed.certificate_ends_millis() == ends
    assert resumed.common_names() == ["ann"]
    tls.reload()
    third = Wire(after=first)
    greeted(tls, third)
    assert not third.client.session_reused
    assert greeted(ServerTls(TlsOptions(certificate, key)), Wire()).certificate_ends_millis() == math.inf


def test_a_pipe_is_not_read_again(tmp_path: Path) -> None:
    """The whole server would wait until somebody writes to it, or for ever."""
    certificate, key = put_certificate("server", tmp_path)
    ca = put_ca(tmp_path)
    tls = ServerTls(TlsOptions(certificate, key, ca, required=True))
    for name, path in (("certificate", certificate), ("key", key), ("client_ca", ca)):
        content = Path(path).read_bytes()
        Path(path).unlink()
        os.mkfifo(path, 0o600)
        with pytest.raises(InvalidConfiguration, match=rf"tls\.{name} = '.*' is a pipe"):
            tls.reload()
        Path(path).unlink()
        Path(path).write_bytes(content)
        Path(path).chmod(0o600)
    tls.reload()


def test_files_are_read_again_and_kept_when_they_are_of_no_use(tmp_path: Path) -> None:
    certificate, key = put_certificate("server", tmp_path)
    tls = ServerTls(TlsOptions(certificate, key))
    before = Wire()
    stream = greeted(tls, before)
    put_certificate("renewed", tmp_path)
    tls.reload()
    Path(key).write_text("nothing")
    with pytest.raises(InvalidConfiguration, match="cannot be used"):
        tls.reload()
    after = Wire()
    greeted(tls, after)
    assert "renewed" in str(after.client.getpeercert())
    stream.sendall(b"still there")
    assert before.heard() == b"still there"


def test_a_certificate_that_has_expired_is_not_taken_for_one_that_has_not(tmp_path: Path) -> None:
    certificate, key = put_certificate("server", tmp_path)
    tls = ServerTls(TlsOptions(certificate, key))
    assert tls.out_of_force() == ""
    for target, name in ((certificate, "expired.pem"), (key, "client.key")):
        Path(target).write_bytes((FOLDER / name).read_bytes())
    with pytest.raises(InvalidConfiguration, match="has expired, so clients that check it stay out"):
        tls.reload()
    greeted(tls, Wire())
    assert "has expired" in ServerTls(TlsOptions(certificate, key)).out_of_force()


@pytest.mark.parametrize("name", ["client", "renewed", "server", "servers-only", "no-text"])
def test_any_other_certificate_is_in_force(tmp_path: Path, name: str) -> None:
    certificate, key = put_certificate("server" if name in ("server", "renewed") else "client", tmp_path)
    Path(certificate).write_bytes((FOLDER / f"{name}.pem").read_bytes())
    if name == "renewed":
        Path(key).write_bytes((FOLDER / "renewed.key").read_bytes())
    assert ServerTls(TlsOptions(certificate, key)).out_of_force() == ""


class InParts:
    """The TLS of a stream, whose write() takes a part of what it gets, as OpenSSL may be told to."""

    def __init__(self, inner: ssl.SSLObject) -> None:
        self.inner = inner
        self.parts = 0

    def write(self, data: bytes | memoryview) -> int:
        self.parts += 1
        return self.inner.write(data[:1000])


@pytest.mark.parametrize("size", [1, 1000, 1001, 16 << 10, (16 << 10) + 1, 100_000])
def test_all_is_sent_where_a_write_takes_a_part(tls: ServerTls, size: int) -> None:
    wire = Wire()
    stream = greeted(tls, wire)
    stream._tls = parts = InParts(stream._tls)  # type: ignore[assignment]
    data = bytes(number % 251 for number in range(size))
    stream.sendall(data)
    assert wire.heard() == data
    assert parts.parts == -(-size // 1000)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_one_write_takes_all_that_it_gets(tls: ServerTls, version: ssl.TLSVersion) -> None:
    """So that the common answer is one write: Python does not set SSL_MODE_ENABLE_PARTIAL_WRITE."""
    stream = greeted(tls, Wire(version=version))
    for size in (1, 16 << 10, (16 << 10) + 1, 256 << 10):
        assert stream._tls.write(bytes(size)) == size


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"required": True}, "need tls.certificate"),
        ({"certificate": "c", "client_ca": "ca"}, "needs tls.required"),
    ],
)
def test_options_that_leave_a_door_open(options: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidConfiguration, match=said):
        TlsOptions(**options)  # type: ignore[arg-type]


def test_keys_that_cannot_be_used(tmp_path: Path) -> None:
    certificate, key = put_certificate("server", tmp_path)
    with pytest.raises(InvalidConfiguration, match="No such file"):
        ServerTls(TlsOptions(certificate, str(tmp_path / "none")))
    Path(key).chmod(0o644)
    with pytest.raises(InvalidConfiguration, match=r"mode 0644.*chmod 600"):
        ServerTls(TlsOptions(certificate, key))
    Path(key).chmod(0o600)
    Path(key).write_bytes((FOLDER / "locked.key").read_bytes())
    with pytest.raises(InvalidConfiguration, match="has a passphrase"):
        ServerTls(TlsOptions(certificate, key))
    Path(key).write_bytes((FOLDER / "renewed.key").read_bytes())
    with pytest.raises(InvalidConfiguration, match="key values mismatch"):
        ServerTls(TlsOptions(certificate, key))
