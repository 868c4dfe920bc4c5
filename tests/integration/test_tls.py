"""A server with TLS, as clients meet it: happybase over thriftpy2's socket, our own shell, and signals."""

import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import happybase
import happybase.connection
import pytest
from thriftpy2.transport import TSSLSocket, TTransportException

import hbtable
from tests.harness.certificates import CA, FOLDER, put_ca, put_certificate
from tests.harness.commands import LONG_SECONDS
from tests.harness.waiting import SOON_SECONDS, eventually
from tests.harness.warm_commands import run_warm
from tests.harness.warm_server import WarmServer


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    """Plain clients and those with TLS, on one port."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = put_certificate("server", folder)
    with WarmServer(folder / "data", [f"tls.certificate={certificate}", f"tls.key={key}"]) as server:
        yield server


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    """Only clients with a certificate of the CA."""
    folder = tmp_path_factory.mktemp("mutual")
    certificate, key = put_certificate("server", folder)
    files = [f"tls.certificate={certificate}", f"tls.key={key}", f"tls.client_ca={put_ca(folder)}", "tls.required=true"]
    with WarmServer(folder / "data", files) as server:
        yield server


@pytest.fixture
def with_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(happybase.connection, "TSocket", partial(TSSLSocket, cafile=CA))


def shell(port: int, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return run_warm("shell", "--url", f"localhost:{port}", *arguments)


def test_happybase_with_tls_and_without_on_one_port(both: WarmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = happybase.Connection("localhost", both.port)
    plain.create_table("both", {"f": {}})
    monkeypatch.setattr(happybase.connection, "TSocket", partial(TSSLSocket, cafile=CA))
    for transport, protocol in (("buffered", "binary"), ("framed", "compact")):
        connection = happybase.Connection("localhost", both.port, transport=transport, protocol=protocol)
        table = connection.table("both")
        with table.batch() as batch:
            for number in range(2000):
                batch.put(b"%05d" % number, {b"f:a": b"v" * 1000})
        assert sum(1 for _ in table.scan()) == 2000
        connection.close()
    assert plain.table("both").row(b"00007") == {b"f:a": b"v" * 1000}
    plain.close()


def test_the_shell(both: WarmServer) -> None:
    done = shell(both.port, "--tls", "--ca", CA, "-e", "list")
    assert (done.returncode, done.stderr) == (0, "")
    done = shell(both.port, "--tls", "-e", "list")
    assert done.returncode == 3
    assert "its certificate is not trusted" in done.stderr
    assert "--ca FILE" in done.stderr


def subject(port: int) -> str:
    """Of the certificate that a new connection is shown."""
    context = ssl.create_default_context(cafile=CA)
    with (
        socket.create_connection(("localhost", port), SOON_SECONDS) as made,
        context.wrap_socket(made, server_hostname="localhost") as encrypted,
    ):
        return str(encrypted.getpeercert())


@pytest.mark.usefixtures("with_tls")
def test_a_signal_renews_the_certificate_and_drops_nobody(tmp_path: Path) -> None:
    certificate, key = put_certificate("server", tmp_path)
    with WarmServer(tmp_path / "data", [f"tls.certificate={certificate}", f"tls.key={key}"]) as server:
        assert server.process is not None
        connection = happybase.Connection("localhost", server.port)
        assert connection.tables() == []
        put_certificate("renewed", tmp_path)
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: "renewed" in subject(server.port), SOON_SECONDS, "the new certificate")
        Path(key).write_text("of no use")
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: "stay as they were" in server.errors.read_text(), SOON_SECONDS, "a line in the log")
        assert "renewed" in subject(server.port)
        assert connection.tables() == []
        connection.close()
        assert server.stop() == 0


def test_who_has_no_tls_reads_why(strict: WarmServer) -> None:
    connection = happybase.Connection("localhost", strict.port)
    for _ in range(2):
        with pytest.raises(Exception, match=r"AccessDeniedException: this server takes calls over TLS only") as raised:
            connection.tables()
        assert type(raised.value).__name__ == "IOError"
    connection.close()


def test_who_has_a_certificate_comes_in(strict: WarmServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(happybase.connection, "TSocket", partial(TSSLSocket, cafile=CA))
    without = happybase.Connection("localhost", strict.port, autoconnect=False)
    with pytest.raises((OSError, EOFError, TTransportException)):
        without.open() or without.tables()
    without.close()
    reason = "the client has no certificate, and tls.client_ca demands one"
    eventually(lambda: reason in strict.errors.read_text(), SOON_SECONDS, "a line in the log")
    own = {"certfile": str(FOLDER / "client.pem"), "keyfile": str(FOLDER / "client.key")}
    monkeypatch.setattr(happybase.connection, "TSocket", partial(TSSLSocket, cafile=CA, **own))
    connection = happybase.Connection("localhost", strict.port)
    assert connection.tables() == []
    connection.close()
    together = tmp_path / "client.pem"
    together.write_text((FOLDER / "client.pem").read_text() + (FOLDER / "client.key").read_text())
    assert shell(strict.port, "--ca", CA, "--certificate", str(together), "-e", "list").returncode == 0


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        ("", "it lets in nobody without a certificate: give one and its key with --certificate FILE"),
        ("of-part", "the client's certificate is of no CA that it takes clients of (tls.client_ca)"),
    ],
)
def test_who_has_no_certificate_of_the_ca_reads_why(strict: WarmServer, tmp_path: Path, shown: str, why: str) -> None:
    """TLS 1.3 tells it in the place of the first answer, when the first call may have been sent."""
    own = tmp_path / "client.pem"
    if shown:
        own.write_text((FOLDER / f"{shown}.pem").read_text() + (FOLDER / "client.key").read_text())
    options = ["--certificate", str(own)] if shown else []
    done = shell(strict.port, "--ca", CA, *options, "-e", "list")
    assert done.returncode == 3
    assert why in done.stderr
    connection = hbtable.connect("localhost", strict.port, tls=True, ca=CA, certificate=str(own) if shown else "")
    with connection, pytest.raises(hbtable.NotAuthenticated, match=re.escape(why)):
        connection.create_table("t", {"f": {}})


def test_a_key_that_others_may_read_is_refused_at_once(tmp_path: Path) -> None:
    certificate, key = put_certificate("server", tmp_path)
    Path(key).chmod(0o644)
    command = [sys.executable, "-m", "hbtable", "start", "--data", str(tmp_path / "data"), "--port", "0"]
    defines = ["-D", f"tls.certificate={certificate}", "-D", f"tls.key={key}"]
    done = subprocess.run([*command, *defines], capture_output=True, text=True, timeout=LONG_SECONDS)
    assert done.returncode == 2
    assert "chmod 600" in done.stderr
    assert not (tmp_path / "data").exists()
