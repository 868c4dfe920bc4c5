"""Nothing that a server or a command prints has a password, a token, a private key or a cluster's key in it."""

import base64
import http.client
import itertools
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from hbtable.access.store import AccountFile
from tests.harness.certificates import CA, put_certificate
from tests.harness.cheap_passwords import cheap
from tests.harness.commands import LONG_SECONDS, environment
from tests.harness.free_ports import free_ports
from tests.harness.known_token import RECORD, TOKEN
from tests.harness.server import ServerProcess
from tests.harness.waiting import SOON_SECONDS, eventually

pytestmark = pytest.mark.integration

PASSWORD, MISTYPED, STALE = "horse-battery", "hoarse-battery", "hbt.0123456789ab.c3RhbGUgYnV0IGEgdG9rZW4"
ENOUGH = 13
"""Characters of a secret: who reads so many of them knows it, or nearly."""
ASK = b"\x80\x01\0\x01\0\0\0\x0dgetTableNames\0\0\0\x01\0"


class Site(NamedTuple):
    server: ServerProcess
    pages: int
    """The port of its pages."""
    audit: Path
    key: str
    """The private key's lines, without the first and the last."""

    def printed(self) -> str:
        return self.server.errors.read_text() + (self.audit.read_text() if self.audit.exists() else "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("secrets")
    certificate, key = put_certificate("server", folder)
    users = AccountFile(str(folder / "data"))
    users.change(lambda accounts: accounts.with_user("ann", cheap(PASSWORD.encode())))
    users.change(lambda accounts: accounts.with_user("program", None).with_token("program", RECORD, 0))
    pages, audit = free_ports(1), folder / "audit.json"
    defines = [
        "auth.enabled=true",
        "auth.superusers=ann, program",
        f"auth.audit={audit}",
        f"tls.certificate={certificate}",
        f"tls.key={key}",
        f"server.http_port={pages}",
    ]
    with ServerProcess(folder / "data", defines) as server:
        yield Site(server, pages, audit, Path(key).read_text())


def forms_of(secret: str) -> list[str]:
    """The ways in which it would be printed: itself, the part of a token that nobody may know, and in base64."""
    hidden = secret.split(".")[-1]
    basic = [base64.b64encode(f"{name}:{secret}".encode()).decode() for name in ("ann", "program", "nobody")]
    plain = [base64.b64encode(f"\0{name}\0{secret}".encode()).decode() for name in ("ann", "program", "nobody")]
    return [form[:ENOUGH] for form in (hidden, *basic, *plain)]


def assert_hidden(site: Site, text: str) -> None:
    for secret in (PASSWORD, MISTYPED, TOKEN, STALE):
        for form in forms_of(secret):
            assert form not in text, f"{secret} is shown: {text[max(0, text.index(form) - 300) :][:700]}"
    for line in site.key.splitlines()[1:-1]:
        assert line not in text


def conversation(site: Site, sent: bytes, over_tls: bool) -> bytes:
    """All that the server answers, until it closes: nothing more will come."""
    answered = b""
    with ExitStack() as open_ones:
        way: socket.socket = socket.create_connection(("localhost", site.server.port), SOON_SECONDS)
        open_ones.enter_context(way)
        if over_tls:
            way = ssl.create_default_context(cafile=CA).wrap_socket(way, server_hostname="localhost")
            open_ones.enter_context(way)
        with suppress(ssl.SSLEOFError, ConnectionError):  # it may close before it has read everything
            way.sendall(sent)
            socket.socket.shutdown(way, socket.SHUT_WR)  # ssl's own would forget TLS
            while piece := way.recv(65536):
                answered += piece
    return answered


def sasl(mechanism: bytes, said: bytes) -> bytes:
    frames = ((1, mechanism), (2, said))
    return b"".join(bytes([status]) + len(body).to_bytes(4, "big") + body for status, body in frames)


def messages(secret: str) -> Iterator[bytes]:
    """What those send who are let in, who mistype, and whose client is set up wrongly."""
    raw = secret.encode()
    for name in (b"ann", b"program", b"nobody"):
        yield sasl(b"PLAIN", b"\0" + name + b"\0" + raw)
        yield sasl(b"PLAIN", b"ben\0" + name + b"\0" + raw)
        yield sasl(b"PLAIN", b"ann\0" + name + b"\0" + raw + b"\0")
    yield sasl(b"PLAIN", raw)
    yield sasl(b"PLAIN", b"ann:" + raw)
    yield sasl(b"GSSAPI", raw)
    yield sasl(b"SCRAM-SHA-256", b"n,,n=ann,r=" + raw)
    basic = base64.b64encode(b"ann:" + raw)
    for said in (
        b"Basic " + basic, b"Basic " + basic[:-3], b"Basic ann:" + raw, b"Bearer " + raw, b"Bearer  x " + raw,
        b"Bearer hbt.zz." + raw, b"Negotiate " + basic, b"Negotiate " + raw, b"Digest " + raw, raw, basic,
    ):  # fmt: skip
        lines = b"Host: x\r\nAuthorization: " + said + b"\r\nContent-Length: %d\r\n\r\n" % len(ASK)
        yield b"POST / HTTP/1.1\r\n" + lines + ASK
        yield b"GET / HTTP/1.1\r\n" + lines + ASK
    for broken in (b"Authorization : Basic " + basic, b"Authorization: Bearer " + raw + b"\r", b"Authorization " + raw):
        yield b"POST / HTTP/1.1\r\nHost: x\r\n" + broken + b"\r\nContent-Length: 0\r\n\r\n"
    yield b"POST /?password=" + raw + b" and more HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
    yield b"POST /?password=" + raw + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
    yield b"GET /login?token=" + raw + b" HTTP/1.1\r\nHost: x\r\n\r\n"
    yield b"AUTH ann " + raw + b"\r\n"
    yield b"*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$%d\r\n" % len(raw) + raw + b"\r\n"
    yield raw + b"\r\n"
    yield b"\0u\0" + raw


@pytest.mark.parametrize("over_tls", [True, False])
def test_no_secret_comes_out_that_went_in_by_a_client(site: Site, over_tls: bool) -> None:
    answers = []
    for secret in (PASSWORD, MISTYPED, TOKEN, STALE):
        for message in messages(secret):
            answers.append(conversation(site, message, over_tls).decode("latin1"))
            assert_hidden(site, answers[-1])
    words = "the user or the password is wrong" if over_tls else "over TLS only"
    assert sum(words in answer for answer in answers) > 10
    assert sum(bool(answer) for answer in answers) > 100
    context = ssl.create_default_context(cafile=CA)
    connection = http.client.HTTPSConnection("localhost", site.server.port, timeout=SOON_SECONDS, context=context)
    connection.request("POST", "/", ASK, {"Authorization": f"Bearer {TOKEN}"})
    assert connection.getresponse().status == 200, "the walk went round a server that lets nobody in"
    connection.close()
    eventually(lambda: '"login"' in site.printed(), SOON_SECONDS, "the audit of a refused login")
    assert_hidden(site, site.printed())


def test_no_page_shows_a_secret(site: Site) -> None:
    seen = []
    pages, secrets = ("/metrics", "/slow", "/livez", "/readyz", "/nothing"), (TOKEN, STALE, MISTYPED)
    for page, secret in itertools.product(pages, secrets):
        for path in (page, f"{page}?token={secret}"):
            request = urllib.request.Request(f"http://127.0.0.1:{site.pages}{path}")
            request.add_header("Authorization", f"Bearer {secret}")
            try:
                with urllib.request.urlopen(request, timeout=SOON_SECONDS) as answer:
                    seen.append(answer.status)
                    assert_hidden(site, f"{answer.headers}{answer.read().decode()}")
            except urllib.error.HTTPError as refused:
                seen.append(refused.code)
                assert_hidden(site, f"{refused.headers}{refused.read().decode()}")
    assert {200, 401} <= set(seen)
    assert_hidden(site, site.printed())


def test_no_command_shows_a_secret(site: Site, tmp_path: Path) -> None:
    known = {"password": PASSWORD, "mistyped": MISTYPED, "token": TOKEN, "stale": STALE}
    for name, secret in known.items():
        (tmp_path / name).write_text(secret)
        (tmp_path / name).chmod(0o600)
    data, at = str(site.server.folder), f"localhost:{site.server.port}"
    config = [part for define in site.server.defines for part in ("-D", define)]
    commands = [
        ["user", "list", "--data", data],
        ["config", *config],
        ["start", "--data", data, "--port", str(site.server.port), *config],  # which another one serves
        *(["whoami", "--url", at, "--ca", CA, "--user", "ann", "--secret", str(tmp_path / name)] for name in known),
        *(
            ["list", "--url", at, "--user", "program", "--secret", str(tmp_path / name)] for name in known
        ),  # without TLS
    ]
    codes = set()
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", "hbtable", *command], capture_output=True, text=True, timeout=LONG_SECONDS,
            env=environment({"HBTABLE_WEBHDFS__DELEGATION_TOKEN": TOKEN}), stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        codes.add(done.returncode)
        assert_hidden(site, done.stdout + done.stderr)
    assert {0, 3} <= codes
    assert_hidden(site, site.printed())


def test_the_list_of_users_has_hashes_alone(site: Site) -> None:
    assert_hidden(site, (site.server.folder / "users").read_bytes().decode("latin1"))
