"""Users who are removed while their connections are open, and those who are new: through each way in."""

import base64
import http.client
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from thrift_sasl import TSaslClientTransport as ApacheSaslTransport
from thriftpy2.http import THttpHeaderFactory
from thriftpy2.http import make_client as make_http_client
from thriftpy2.protocol import TCompactProtocol
from thriftpy2.protocol.binary import TBinaryProtocol
from thriftpy2.protocol.cybin import TCyBinaryProtocol
from thriftpy2.thrift import TClient
from thriftpy2.transport import TSocket
from thriftpy2.transport.framed import TFramedTransport
from thriftpy2.transport.sasl import TCySaslClientTransport, TSaslClientTransport

import hbtable
from hbtable.access.accounts import Accounts
from hbtable.access.passwords import new_token
from hbtable.access.store import AccountFile
from tests.harness.cheap_passwords import cheap
from tests.harness.free_ports import free_ports
from tests.harness.interfaces import interface
from tests.harness.server import ServerProcess
from tests.harness.waiting import SOON_SECONDS, eventually
from tests.integration.test_users import PureSasl

pytestmark = pytest.mark.integration
IDL = Path(hbtable.__file__).parent / "idl"
THRIFT1 = interface("hbase")
THRIFT2 = interface("hbase2")
PASSWORD = "correct horse"
TABLE = b"t"


class Way(NamedTuple):
    """One open connection: a call on it, and how to end it."""

    call: Callable[[], object]
    close: Callable[[], object]


Opens = Callable[[ServerProcess, str, str], Way]
"""(server, user, secret) -> an open connection of the user, by which something was read already."""


def by_sasl(service: Any, transport: Any, protocol: Any, framed: bool = False) -> Opens:
    def opened(server: ServerProcess, name: str, secret: str) -> Way:
        carrier = transport(partial(PureSasl, name, secret), "PLAIN", TSocket("127.0.0.1", server.port))
        carrier.open()
        client = TClient(service, protocol(TFramedTransport(carrier) if framed else carrier))
        if service is THRIFT1.Hbase:
            return Way(lambda: client.getRow(TABLE, b"r", {}), carrier.close)
        return Way(lambda: client.get(TABLE, THRIFT2.TGet(row=b"r")), carrier.close)

    return opened


def by_an_open_scanner(server: ServerProcess, name: str, secret: str) -> Way:
    carrier = TSaslClientTransport(partial(PureSasl, name, secret), "PLAIN", TSocket("127.0.0.1", server.port))
    carrier.open()
    client = TClient(THRIFT1.Hbase, TCompactProtocol(carrier))
    scanner = client.scannerOpenWithScan(TABLE, THRIFT1.TScan(), {})
    return Way(lambda: client.scannerGetList(scanner, 1), carrier.close)


def by_http(scheme: str) -> Opens:
    def opened(server: ServerProcess, name: str, secret: str) -> Way:
        said = base64.b64encode(f"{name}:{secret}".encode()).decode() if scheme == "Basic" else secret
        client = make_http_client(
            THRIFT1.Hbase,
            "127.0.0.1",
            server.port,
            http_header_factory=THttpHeaderFactory({"Authorization": f"{scheme} {said}"}),
            keep_alive=True,
        )
        return Way(lambda: client.getRow(TABLE, b"r", {}), client.close)

    return opened


def connected(server: ServerProcess, name: str, secret: str) -> Any:
    file = server.folder.parent / f"{name}.secret"
    file.touch(0o600)
    file.write_text(secret)
    return hbtable.connect("127.0.0.1", server.port, 60_000, user=name, secret=str(file))


def by_the_library(server: ServerProcess, name: str, secret: str) -> Way:
    database = connected(server, name, secret)
    table = database.table(TABLE)

    def call() -> object:
        try:
            return table.row(b"r")
        except hbtable.NotAuthenticated:
            raise
        except hbtable.HbtableError:
            return "another refusal"

    return Way(call, database.close)


def by_a_page(server: ServerProcess, name: str, secret: str) -> Way:
    connection = http.client.HTTPConnection("127.0.0.1", _http_port(server), timeout=60)

    def call() -> None:
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {secret}"})
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise PermissionError(said.decode())

    return Way(call, connection.close)


def _http_port(server: ServerProcess) -> int:
    (port,) = (one.rpartition("=")[2] for one in server.defines if one.startswith("server.http_port="))
    return int(port)


PLAIN = (THRIFT1.Hbase, THRIFT2.THBaseService)
WAYS: dict[str, tuple[bool, Opens]] = {
    **{
        f"{service.__name__} {way} {'token' if token else 'password'}": (token, by_sasl(service, *made))
        for service in PLAIN
        for token in (False, True)
        for way, made in {
            "binary": (TCySaslClientTransport, TCyBinaryProtocol),
            "compact": (TSaslClientTransport, TCompactProtocol),
            "thrift_sasl": (ApacheSaslTransport, TCompactProtocol),
            "framed binary": (TSaslClientTransport, TBinaryProtocol, True),
            "framed compact": (TSaslClientTransport, TCompactProtocol, True),
        }.items()
    },
    "scanner": (False, by_an_open_scanner),
    "HTTP Basic, password": (False, by_http("Basic")),
    "HTTP Basic, token": (True, by_http("Basic")),
    "HTTP Bearer": (True, by_http("Bearer")),
    "library, password": (False, by_the_library),
    "library, token": (True, by_the_library),
    "page": (True, by_a_page),
}
"""Whether the secret is a token, and how a connection is opened. SCRAM is not offered."""


def named(one_way: str) -> str:
    return "user-" + "".join(letter if letter.isalnum() else "-" for letter in one_way)


def new(one_way: str) -> str:
    """Whose user is not in the list when the server starts."""
    return f"new {one_way}"


class Scene(NamedTuple):
    """A server with a user for each way in."""

    server: ServerProcess
    users: AccountFile
    secrets: dict[str, str]


@pytest.fixture(params=[(), ("--servers", "2")], ids=["one process", "two"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scene]:
    users = AccountFile(str(tmp_path / "data"))
    accounts, secrets = Accounts(), {}
    for name in ("admin", named("idle")):
        accounts = accounts.with_user(name, cheap(PASSWORD.encode()))
    for one_way, (is_token, _) in WAYS.items():
        token, record = new_token()
        secrets[one_way] = token if is_token else PASSWORD
        accounts = accounts.with_user(named(one_way), cheap(PASSWORD.encode())).with_token(named(one_way), record, 0)
    users.change(lambda _: accounts)
    everybody = ", ".join(map(named, (*WAYS, *map(new, WAYS), "idle")))
    server = ServerProcess(
        tmp_path / "data",
        [
            "auth.enabled=true",
            f"auth.superusers=admin, {everybody}",
            "auth.plain_text=true",
            f"auth.audit={tmp_path / 'audit'}",
            f"server.http_port={free_ports(1)}",
        ],
    )
    server.arguments = list(request.param)
    with server:
        with connected(server, "admin", PASSWORD) as database:
            table = database.create_table(TABLE, {"f": {}})
            for number in range(500):
                table.put(b"r%d" % number, {b"f:a": b"v"})
        yield Scene(server, users, secrets)


def refusal(call: Callable[[], object]) -> str:
    """The text of the error; empty: there is none."""
    try:
        call()
    except Exception as error:
        said = getattr(error, "message", None) or str(error)
        return said.decode() if isinstance(said, bytes) else str(said)
    return ""


def test_open_connections_of_who_was_removed_are_refused_and_end(scene: Scene, tmp_path: Path) -> None:
    ways = {name: opens(scene.server, named(name), scene.secrets[name]) for name, (_, opens) in WAYS.items()}
    idle = by_sasl(THRIFT1.Hbase, TSaslClientTransport, TCompactProtocol)(scene.server, named("idle"), PASSWORD)
    assert {name: refusal(one_way.call) for name, one_way in ways.items()} == dict.fromkeys(ways, "")
    scene.users.change(lambda accounts: Accounts({"admin": accounts.by_name["admin"]}))
    said: dict[str, str] = {}
    for name, one_way in ways.items():

        def is_refused(name: str = name, one_way: Way = one_way) -> bool:
            said[name] = refusal(one_way.call)
            return bool(said[name])

        eventually(is_refused, SOON_SECONDS, f"the refusal through {name}")
    for name, text in said.items():
        each_by_itself = "HTTP" in name or name == "page"
        words = ("the user or the password is wrong", "the token is wrong") if each_by_itself else ("was removed",)
        assert any(one in text for one in words), (name, text)

    def lines() -> set[str]:
        found = map(json.loads, (tmp_path / "audit").read_text().splitlines())
        return {str(one["user"] or one.get("claimed", "")) for one in found if one["call"] == "login"}

    def removed() -> set[str]:
        found = map(json.loads, (tmp_path / "audit").read_text().splitlines())
        return {one["on"]["holder"] for one in found if one["call"] == "users" and one["on"]["change"] == "removed"}

    expected = {named(name) for name in ways if "HTTP B" not in name and name != "page"} | {named("idle")}
    eventually(
        lambda: expected <= lines(), SOON_SECONDS, "a line of the audit for each, also for one that never called"
    )
    eventually(lambda: removed() == {named(name) for name in (*ways, "idle")}, SOON_SECONDS, "the removals")
    for one_way in (*ways.values(), idle):
        one_way.close()


def test_who_is_new_or_has_a_new_password_is_let_in_at_once_and_stays(scene: Scene, tmp_path: Path) -> None:
    """The server's list for open connections is up to a second old. It must not end a login that came after it."""
    said: dict[str, str] = {}
    for one_way, (is_token, opens) in WAYS.items():
        name = named(new(one_way))
        for change in ("added", "changed"):
            token, record = new_token()
            password = f"{PASSWORD}, {change}"
            hashed = cheap(password.encode())

            def edit(accounts: Accounts, name: str = name, hashed: Any = hashed, record: Any = record) -> Accounts:
                known = accounts if name in accounts.by_name else accounts.with_user(name, None)
                return known.with_password(name, hashed).with_token(name, record, 0)

            scene.users.change(edit)
            secret = token if is_token else password

            def use(opens: Opens = opens, name: str = name, secret: str = secret) -> None:
                opened = opens(scene.server, name, secret)
                try:
                    opened.call()
                    opened.call()
                finally:
                    opened.close()

            if text := refusal(use):
                said[f"{one_way}, {change}"] = text
    assert said == {}
    lines = map(json.loads, (tmp_path / "audit").read_text().splitlines())
    assert [line for line in lines if line["call"] == "login"] == []
