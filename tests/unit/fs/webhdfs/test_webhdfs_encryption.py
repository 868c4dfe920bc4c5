"""swebhdfs://: every connection has TLS, and no server is believed whose certificate the CA did not sign."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import requests

from hbtable.errors import InvalidConfiguration
from hbtable.fs.opened import FileSystemOptions, open_file_system
from hbtable.fs.webhdfs.encryption import client_tls
from hbtable.fs.webhdfs.http import HttpConnections
from hbtable.fs.webhdfs.options import WebHdfsOptions
from hbtable.fs.webhdfs.package import PackageSession
from hbtable.fs.webhdfs.requests import NotSent, WebHdfsRequest
from hbtable.runtime.gevent_runtime import GeventRuntime
from tests.harness.certificates import CA, put_certificate

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"


Make = Callable[[str], HttpConnections | PackageSession]


def own(ca: str) -> HttpConnections:
    return HttpConnections(time.monotonic, client_tls(ca))


def package(ca: str) -> PackageSession:
    session = requests.Session()
    session.verify, session.trust_env = ca or True, False
    return PackageSession(session, encrypted=True)


@contextmanager
def serving(certificate: str, folder: Path) -> Iterator[str]:
    """The address of a server that answers over TLS alone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*put_certificate(certificate, folder))
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                try:
                    with context.wrap_socket(connection, server_side=True) as inside:
                        inside.recv(65536)
                        inside.sendall(ANSWER)
                except OSError:
                    continue  # a client that does not believe it

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"localhost:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.mark.parametrize("make", [own, package])
def test_the_answer_of_a_server_with_a_certificate_of_the_ca(make: Make, tmp_path: Path) -> None:
    with serving("server", tmp_path) as host, closing(make(CA)) as http:
        assert http(WebHdfsRequest("GET", host, "/a", seconds=60)).body == b"hello"


@pytest.mark.parametrize("make", [own, package])
@pytest.mark.parametrize(("certificate", "ca"), [("server", ""), ("client", CA)], ids=["another CA", "another name"])
def test_another_ca_or_name_is_not_believed_and_nothing_is_sent(
    make: Make, certificate: str, ca: str, tmp_path: Path
) -> None:
    said = r"its certificate is not trusted \(.+\): set webhdfs\.ca to the file"
    with serving(certificate, tmp_path) as host, closing(make(ca)) as http, pytest.raises(NotSent, match=said):
        http(WebHdfsRequest("GET", host, "/a", seconds=60))


def test_a_server_without_tls_is_not_spoken_to() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        http = own(CA)
        with pytest.raises(NotSent, match="cannot be reached"):
            http(WebHdfsRequest("GET", f"127.0.0.1:{listener.getsockname()[1]}", "/a", seconds=60))
        http.close()
        thread.join()


def test_a_ca_that_is_no_file_of_certificates_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    runtime = GeventRuntime()
    for wrong in (tmp_path / "absent", tmp_path / "empty"):
        options = FileSystemOptions(webhdfs=WebHdfsOptions(ca=str(wrong)))
        with pytest.raises(InvalidConfiguration, match=rf"webhdfs\.ca = {wrong} cannot be used"):
            open_file_system("swebhdfs://a:1/x", runtime, options)
        open_file_system("webhdfs://a:1/x", runtime, options)  # which does not need it
    runtime.close()
