"""Thrift over HTTP with tickets of a real Kerberos, MIT's, by SPNEGO: curl, and thriftpy2 with python-gssapi."""

import base64
import http.client
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import thriftpy2
from thriftpy2.http import THttpHeaderFactory, make_client

from tests.harness import kdc
from tests.harness.commands import LONG_SECONDS
from tests.harness.server import ServerProcess
from tests.harness.waiting import SOON_SECONDS, eventually

CURL = shutil.which("curl") or "curl (compat-tests/install-toolchains)"  # speaks to the server of this test alone
BODY = b"\x80\x01\0\x01\0\0\0\x0dgetTableNames\0\0\0\x01\0"
IDL = Path(__file__).parents[1] / "hbtable" / "idl" / "hbase.thrift"
SPNEGO = "1.3.6.1.5.5.2"


def serving(folder: Path, keytab: str, *more: str) -> ServerProcess:
    defines = ["auth.enabled=true", "auth.superusers=ann", "auth.proxies=hue", f"auth.audit={folder}/audit.json"]
    return ServerProcess(folder / "data", [*defines, f"auth.keytab={keytab}", f"auth.realm={kdc.REALM}", *more])


@pytest.fixture(scope="module")
def server(service_keytab: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving(tmp_path_factory.mktemp("spnego"), service_keytab) as running:
        yield running
        assert running.stop() == 0


def post(server: ServerProcess, environment: dict[str, str], *more: str, times: int = 1) -> tuple[list[str], str]:
    """(the status of each response, all that curl had to say, heads included)."""
    folder = server.folder.parent
    (folder / "message").write_bytes(BODY)
    address = f"http://localhost:{server.port}/"
    command = [CURL, "-sS", "-v", "--negotiate", "-u", ":", "--data-binary", f"@{folder}/message", *more]
    for number in range(times):
        command += [address, "-o", str(folder / f"answer-{number}")]
    run = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=LONG_SECONDS
    )
    assert run.returncode == 0, run.stderr
    return [line.split()[2] for line in run.stderr.splitlines() if line.startswith("< HTTP/1.1 ")], run.stderr


def ticket(service: str = "HTTP@localhost", mechanism: str = SPNEGO) -> str:
    """Of whom the environment names, in Base64, for one request."""
    import gssapi

    context = gssapi.SecurityContext(
        name=gssapi.Name(service, gssapi.NameType.hostbased_service),
        usage="initiate",
        mech=gssapi.OID.from_int_seq(mechanism),
        flags=gssapi.RequirementFlag.mutual_authentication,
    )
    return base64.b64encode(context.step() or b"").decode()


def test_curl_comes_in_with_a_ticket_and_the_server_proves_itself(server: ServerProcess, realm: kdc.Kdc) -> None:
    statuses, said = post(server, realm.log_in("ann", "a-password"))
    assert statuses[-1] == "200"
    answer = server.folder.parent / "answer-0"
    assert answer.read_bytes()[:21] == b"\x80\x01\0\x02" + BODY[4:21]
    assert re.search(r"< WWW-Authenticate: Negotiate \w{50}", said)
    assert "< Persistent-Auth: false" in said


def test_each_request_on_a_connection_that_stays_has_a_ticket_of_its_own(server: ServerProcess, realm: kdc.Kdc) -> None:
    statuses, said = post(server, realm.log_in("ann", "a-password"), times=3)
    assert statuses.count("200") == 3
    tickets = [line for line in said.splitlines() if line.startswith("> Authorization: Negotiate ")]
    assert len(set(tickets)) == len(tickets) == 3


def test_without_a_ticket_curl_shows_why(server: ServerProcess, realm: kdc.Kdc) -> None:
    statuses, said = post(server, {**realm.environment, "KRB5CCNAME": f"FILE:{realm.folder}/nobodys"})
    assert statuses[-1] == "401"
    assert "< WWW-Authenticate: Negotiate" in [line.strip() for line in said.splitlines()]
    assert b"this server asks who you are" in (server.folder.parent / "answer-0").read_bytes()


def client_of(server: ServerProcess, *, doas: str = "", of: Any = ticket, **options: Any) -> Any:
    """As docs/clients.md has it for happybase."""

    class Tickets(THttpHeaderFactory):  # type: ignore[misc]
        def get_headers(self) -> dict[str, str]:
            return {"Authorization": f"Negotiate {of(**options)}", **({"doAs": doas} if doas else {})}

    thrift = thriftpy2.load(str(IDL), module_name="spnego_thrift")
    return make_client(thrift.Hbase, "localhost", server.port, http_header_factory=Tickets(), keep_alive=True)


def use(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def test_thriftpy2_makes_a_table_and_reads_it(
    server: ServerProcess, realm: kdc.Kdc, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, realm.log_in("ann", "a-password"))
    client = client_of(server)
    thrift = thriftpy2.load(str(IDL), module_name="spnego_thrift")
    client.createTable(b"t", [thrift.ColumnDescriptor(name=b"f:")])
    for number in range(20):
        client.mutateRow(b"t", b"%d" % number, [thrift.Mutation(column=b"f:a", value=b"x" * 100_000)], {})
    assert client.get(b"t", b"19", b"f:a", {})[0].value == b"x" * 100_000
    client.close()
    eventually(lambda: "createTable" in audit(server), SOON_SECONDS, "the audit has the table")
    line = next(json.loads(one) for one in audit(server).splitlines() if "createTable" in one)
    assert (line["user"], line["outcome"]) == ("ann", "ok")


def audit(server: ServerProcess) -> str:
    path = server.folder.parent / "audit.json"
    return path.read_text() if path.exists() else ""


def test_a_proxy_acts_for_another_by_doas(
    server: ServerProcess, realm: kdc.Kdc, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, realm.log_in("hue/host", "a-password"))
    client = client_of(server, doas="ben")
    client.getTableNames()
    client.close()
    status, why = plain(server, f"Negotiate {ticket()}", doAs="ann")
    assert (status, "but not for ann, a superuser" in why) == (401, True)
    eventually(lambda: "not for ann, a superuser" in audit(server), SOON_SECONDS, "the audit has the refusal")


def test_a_ticket_serves_once(server: ServerProcess, realm: kdc.Kdc, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, realm.log_in("ann", "a-password"))
    once = ticket()
    assert plain(server, f"Negotiate {once}")[0] == 200
    status, said = plain(server, f"Negotiate {once}")
    assert (status, "Kerberos does not let you in" in said) == (401, True)


def test_a_ticket_for_a_login_by_sasl_is_none_over_http(
    server: ServerProcess, realm: kdc.Kdc, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, realm.log_in("ann", "a-password"))
    for mechanism in (SPNEGO, "1.2.840.113554.1.2.2"):
        status, said = plain(server, f"Negotiate {ticket('hbase@localhost', mechanism)}")
        assert (status, "Kerberos does not let you in" in said) == (401, True)


@pytest.mark.parametrize("said", ["Negotiate", "Negotiate %%%", "negotiate YII=", "Negotiate " + "A" * 40_000])
def test_what_is_no_ticket_is_refused(server: ServerProcess, said: str) -> None:
    status, why = plain(server, said)
    assert status == 401
    assert "Negotiate" in why or "Kerberos does not let you in" in why


def test_a_server_that_wants_messages_protected_takes_no_ticket_without_tls(
    realm: kdc.Kdc, service_keytab: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, realm.log_in("ann", "a-password"))
    with serving(tmp_path, service_keytab, "auth.qop=auth-conf") as running:
        status, why = plain(running, f"Negotiate {ticket()}")
        assert (status, "takes tickets of Kerberos over HTTPS only" in why) == (403, True)


def test_a_server_without_the_key_of_http_says_so(
    realm: kdc.Kdc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, realm.log_in("ann", "a-password"))
    with serving(tmp_path, realm.add_service("alone/localhost")) as running:
        status, why = plain(running, f"Negotiate {ticket()}")
        assert (status, "auth.keytab has no key of HTTP/HOST" in why) == (401, True)
        statuses, said = post(running, {})
        assert statuses == ["401"]
        assert "Negotiate" not in [line.split(" ")[2] for line in said.splitlines() if "WWW-Authenticate" in line]


def plain(server: ServerProcess, said: str, **more: str) -> tuple[int, str]:
    """(status, body) of one request."""
    connection = http.client.HTTPConnection("localhost", server.port, timeout=60)
    connection.request("POST", "/", BODY, {"Authorization": said, **more})
    response = connection.getresponse()
    found = response.status, response.read().decode("utf-8", "replace")
    connection.close()
    return found
