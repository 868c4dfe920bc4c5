"""A server that asks who its clients are, as they meet it: happybase and thriftpy2 with SASL, HTTP, certificates."""

import base64
import http.client
import json
import os
import ssl
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import happybase
import happybase.connection
import pytest
import thriftpy2
from Hbase_thrift import IOError as HBaseError
from puresasl.client import SASLClient
from thrift_sasl import TSaslClientTransport as ApacheSaslTransport
from thriftpy2.http import THttpHeaderFactory, make_client
from thriftpy2.transport import TSSLSocket
from thriftpy2.transport.sasl import TCySaslClientTransport, TSaslClientTransport

import hbtable
from hbtable.access.passwords import PasswordHash
from hbtable.access.store import AccountFile
from tests.harness.certificates import CA, put_ca, put_certificate
from tests.harness.known_token import RECORD, TOKEN
from tests.harness.waiting import SOON_SECONDS, eventually
from tests.harness.warm_commands import run_warm
from tests.harness.warm_server import WarmServer

pytestmark = pytest.mark.integration
IDL = Path(hbtable.__file__).parent / "idl" / "hbase.thrift"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmServer]:
    folder = tmp_path_factory.mktemp("users")
    certificate, key = put_certificate("server", folder)
    users = AccountFile(str(folder / "data"))
    users.change(lambda accounts: accounts.with_user("ann", PasswordHash.of("correct horse")))
    users.change(lambda accounts: accounts.with_user("program", None).with_token("program", RECORD, 0))
    defines = [
        "auth.enabled=true",
        "auth.superusers=ann, program",
        f"tls.certificate={certificate}",
        f"tls.key={key}",
    ]
    with WarmServer(folder / "data", defines) as server:
        yield server


class PureSasl:
    """pure-sasl's client with the methods of cyrus-sasl's, which thrift_sasl asks for."""

    def __init__(self, name: str, password: str) -> None:
        self._client = SASLClient("localhost", username=name, password=password)

    def start(self, mechanism: str) -> tuple[bool, str, bytes]:
        self._client.choose_mechanism([mechanism], allow_anonymous=False)
        return True, self._client.mechanism, self._client.process()

    def encode(self, data: bytes) -> tuple[bool, bytes]:
        return True, self._client.wrap(data)

    def getError(self) -> str:
        return ""


def sasl(monkeypatch: pytest.MonkeyPatch, transport: Any, name: str, password: str, cafile: str | None = CA) -> None:
    """happybase's connections speak SASL from now on."""
    if cafile:
        monkeypatch.setattr(happybase.connection, "TSocket", partial(TSSLSocket, cafile=cafile))
    made = partial(transport, partial(PureSasl, name, password), "PLAIN")
    monkeypatch.setitem(happybase.connection.THRIFT_TRANSPORTS, "buffered", made)


CLIENTS = pytest.mark.parametrize(
    ("transport", "protocol"),
    [(TCySaslClientTransport, "binary"), (TSaslClientTransport, "compact"), (ApacheSaslTransport, "compact")],
    ids=["thriftpy2 in C", "thriftpy2", "thrift_sasl"],
)
"""The binary protocol of happybase is in C, and takes only transports in C."""


@CLIENTS
@pytest.mark.parametrize(("name", "secret"), [("ann", "correct horse"), ("program", TOKEN)], ids=["password", "token"])
def test_happybase_with_sasl(
    server: WarmServer, monkeypatch: pytest.MonkeyPatch, transport: Any, protocol: str, name: str, secret: str
) -> None:
    sasl(monkeypatch, transport, name, secret)
    connection = happybase.Connection("localhost", server.port, protocol=protocol)
    table_name = f"{name}-{transport.__name__}-{transport.__module__.split('.')[0]}"
    connection.create_table(table_name, {"f": {}})
    table = connection.table(table_name)
    with table.batch() as batch:
        for number in range(2000):
            batch.put(b"%05d" % number, {b"f:a": b"v" * 1000})
    assert sum(1 for _ in table.scan()) == 2000
    connection.close()


@CLIENTS
def test_a_wrong_password_is_explained(
    server: WarmServer, monkeypatch: pytest.MonkeyPatch, transport: Any, protocol: str
) -> None:
    sasl(monkeypatch, transport, "ben", "a wrong one")
    connection = happybase.Connection("localhost", server.port, protocol=protocol, autoconnect=False)
    with pytest.raises(Exception, match="the user or the password is wrong"):
        connection.open()
    connection.transport.close()
    assert "a wrong one" not in server.errors.read_text()


def test_what_was_denied_and_what_was_changed_is_in_the_log(
    server: WarmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sasl(monkeypatch, TCySaslClientTransport, "ann", "correct horse")
    connection = happybase.Connection("localhost", server.port)
    connection.create_table("written-down", {"f": {}})
    connection.close()
    over_http(server, basic("nobody", "a wrong one"))

    def lines() -> list[Any]:
        return [
            json.loads(line.partition("hbtable.audit: ")[2])
            for line in server.errors.read_text().splitlines()
            if "hbtable.audit: " in line
        ]

    def found() -> bool:
        heard = [(line["user"], line["call"], line["outcome"]) for line in lines()]
        return ("ann", "createTable", "ok") in heard and (None, "login", "denied") in heard

    eventually(found, SOON_SECONDS, "both lines")


def test_a_password_in_plain_text_is_not_taken(server: WarmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    sasl(monkeypatch, TSaslClientTransport, "ann", "correct horse", cafile=None)
    connection = happybase.Connection("localhost", server.port, protocol="compact", autoconnect=False)
    with pytest.raises(Exception, match=r"over TLS only \(auth.plain_text\)"):
        connection.open()
    connection.transport.close()


def test_nobody_comes_in_without_a_name(server: WarmServer) -> None:
    connection = happybase.Connection("localhost", server.port)
    with pytest.raises(Exception, match="AccessDeniedException") as refused:
        connection.tables()
    assert type(refused.value).__name__ == "IOError"
    connection.close()


def over_http(server: WarmServer, headers: dict[str, str]) -> tuple[int, bytes]:
    """(status, body) of getTableNames."""
    body = b"\x80\x01\0\x01\0\0\0\x0dgetTableNames\0\0\0\x01\0"
    connection = http.client.HTTPSConnection(
        "localhost", server.port, timeout=60, context=ssl.create_default_context(cafile=CA)
    )
    connection.request("POST", "/", body, headers)
    answer = connection.getresponse()
    said = answer.read()
    connection.close()
    return answer.status, said


def basic(name: str, secret: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()}


def test_http_with_a_password_and_with_a_token(server: WarmServer) -> None:
    for headers in (
        basic("ann", "correct horse"), basic("program", TOKEN), {"Authorization": f"Bearer {TOKEN}"},
        {**basic("ann", "correct horse"), "doAs": "ben"},
    ):  # fmt: skip
        status, said = over_http(server, headers)
        assert (status, b"getTableNames" in said) == (200, True)
    status, said = over_http(server, basic("ann", "wrong one"))
    assert (status, b"the user or the password is wrong" in said) == (401, True)
    assert over_http(server, {})[0] == 401


def shell(server: WarmServer, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    where = ("--url", f"localhost:{server.port}", "--ca", CA)
    return run_warm(*arguments, *where, env={**os.environ, **environment})


def test_the_shell_and_its_one_shot_forms(server: WarmServer, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("correct horse\n")
    secret.chmod(0o600)
    options = ("--user", "ann", "--secret", str(secret))
    rows = "".join(f"put 'ofshell', 'r{number}', 'f:a', '{'v' * 3000}'\n" for number in range(40))
    script = tmp_path / "script"
    script.write_text(f"create 'ofshell', 'f'\n{rows}")
    done = shell(server, "shell", str(script), *options)
    assert (done.returncode, done.stderr) == (0, "")
    done = shell(server, "count", "ofshell", "--user", "program", HBTABLE_SECRET=TOKEN)
    assert (done.returncode, "40" in done.stdout) == (0, True), done
    done = shell(server, "scan", "ofshell", *options)
    assert (done.returncode, done.stdout.count("v" * 3000)) == (0, 40)


def test_the_shell_says_why_it_was_not_let_in(server: WarmServer, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a wrong one")
    loose = shell(server, "list", "--user", "carl", "--secret", str(secret))
    secret.chmod(0o600)
    for done, code, words in (
        (loose, 3, "chmod 600"),
        (shell(server, "list", "--user", "carl", "--secret", str(secret)), 3, "the user or the password is wrong"),
        (shell(server, "list", "--user", "carl"), 3, "give --secret FILE"),
        (shell(server, "list", "--user", "carl", "--secret", "a wrong one"), 2, "cannot be used: No such file"),
    ):
        assert (done.returncode, words in done.stderr) == (code, True), done
        assert "a wrong one" not in done.stderr
    assert "auth.enabled" in shell(server, "list").stderr


def https_client(server: WarmServer, headers: dict[str, str], keep_alive: bool) -> Any:
    return make_client(
        thriftpy2.load(str(IDL), module_name="users_thrift").Hbase,
        "localhost",
        server.port,
        scheme="https",
        ssl_context_factory=partial(ssl.create_default_context, cafile=CA),
        http_header_factory=THttpHeaderFactory(headers),
        keep_alive=keep_alive,
    )


def test_thriftpy2_over_https_with_a_token(server: WarmServer) -> None:
    client = https_client(server, {"Authorization": f"Bearer {TOKEN}"}, keep_alive=True)
    assert client.getTableNames() == client.getTableNames()
    client.close()


@pytest.mark.parametrize("keep_alive", [True, False])
def test_thriftpy2_over_https_reads_why_it_is_not_let_in(server: WarmServer, keep_alive: bool) -> None:
    """It looks at no status: a text for a body was "No protocol version header"."""
    for headers, words in ((basic("ann", "wrong one"), "the user or the password is wrong"), ({}, "auth.enabled")):
        client = https_client(server, headers, keep_alive)
        with pytest.raises(Exception, match=words) as refused:
            client.getTableNames()
        assert type(refused.value).__name__ == "IOError"
        client.close()


def test_a_changed_list_counts_at_once(server: WarmServer) -> None:
    def user(*arguments: str, given: str = "") -> str:
        done = run_warm("user", *arguments, "--data", str(server.folder), given=given)
        assert done.returncode == 0, done.stderr
        return done.stdout

    user("add", "newcomer", given="battery staple\n")
    assert over_http(server, basic("newcomer", "battery staple"))[0] == 200
    token = user("token", "newcomer").strip()
    assert over_http(server, {"Authorization": f"Bearer {token}"})[0] == 200
    user("remove", "newcomer")
    assert over_http(server, {"Authorization": f"Bearer {token}"})[0] == 401


def test_an_open_connection_loses_what_is_revoked(
    server: WarmServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:

    def command(*arguments: str, given: str = "") -> None:
        done = run_warm(*arguments, given=given)
        assert done.returncode == 0, done.stderr

    where = ("--url", f"localhost:{server.port}", "--ca", CA, "--user", "ann", "--secret", str(tmp_path / "secret"))
    (tmp_path / "secret").touch(0o600)
    (tmp_path / "secret").write_text("correct horse")
    command("user", "add", "leaver", "--data", str(server.folder), given="battery staple\n")
    command("shell", *where, "-e", "create 'left', 'f'")
    command("grant", *where, "leaver", "RW", "left")
    sasl(monkeypatch, TCySaslClientTransport, "leaver", "battery staple")
    connection = happybase.Connection("localhost", server.port)
    table = connection.table("left")
    table.put(b"r", {b"f:q": b"v"})
    command("revoke", *where, "leaver", "left")

    def is_refused() -> bool:
        try:
            table.row(b"r")
        except HBaseError as error:
            return b"AccessDenied" in error.message
        return False

    eventually(is_refused, SOON_SECONDS, "the revoke")
    connection.close()


def test_a_certificate_says_who_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = put_certificate("server", tmp_path)
    (tmp_path / "own").mkdir()
    own, own_key = put_certificate("client", tmp_path / "own")
    demands = [f"tls.client_ca={put_ca(tmp_path)}", "tls.required=true", "auth.enabled=true", "auth.superusers=ann"]
    with WarmServer(tmp_path / "data", [f"tls.certificate={certificate}", f"tls.key={key}", *demands]) as server:
        made = partial(TSSLSocket, cafile=CA, certfile=own, keyfile=own_key)
        monkeypatch.setattr(happybase.connection, "TSocket", made)
        connection = happybase.Connection("localhost", server.port)
        connection.create_table("mine", {"f": {}})
        assert connection.tables() == [b"mine"]
        connection.close()


@pytest.mark.parametrize("name", ["ann", "program"])
def test_the_library_logs_in(server: WarmServer, tmp_path: Path, name: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text({"ann": "correct horse", "program": TOKEN}[name])
    secret.chmod(0o600)
    arguments: dict[str, Any] = {"tls": True, "ca": str(CA), "user": name, "secret": str(secret)}
    with hbtable.connect("localhost", server.port, 60_000, **arguments) as database:
        table = database.create_table(f"library_{name}", ["f"])
        table.put("r", {"f:a": "1"})
        assert table.row("r") == {b"f:a": b"1"}
    secret.write_text("wrong")
    with pytest.raises(hbtable.NotAuthenticated, match=f"did not let {name} in"):
        hbtable.connect("localhost", server.port, 60_000, **arguments)
    stranger = hbtable.connect("localhost", server.port, 60_000, ca=str(CA))  # which means TLS
    with pytest.raises(hbtable.AccessDenied):
        stranger.tables()
    stranger.close()
