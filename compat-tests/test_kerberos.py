"""Clients with tickets of a real Kerberos, MIT's, through each of SASL's layers."""

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

import happybase
import happybase.connection
import pytest
from thriftpy2.transport.sasl import TCySaslClientTransport

from tests.harness import kdc
from tests.harness.server import ServerProcess

QOP = {"auth": 1, "auth-int": 2, "auth-conf": 4}
KERBEROS, SPNEGO = "1.2.840.113554.1.2.2", "1.3.6.1.5.5.2"


@pytest.fixture(scope="module")
def server(realm: kdc.Kdc, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    keytab = realm.add_service("hbase/localhost")
    defines = [
        "auth.enabled=true",
        "auth.superusers=ann",
        "auth.proxies=hue",
        f"auth.keytab={keytab}",
        f"auth.realm={kdc.REALM}",
    ]
    with ServerProcess(tmp_path_factory.mktemp("kerberos") / "data", defines) as running:
        yield running
        assert running.stop() == 0


class GssClient:
    """What thrift_sasl and thriftpy2 ask of a SASL library, over python-gssapi."""

    def __init__(
        self,
        qop: str,
        acting_for: str = "",
        service: str = "hbase@localhost",
        choice: int = 0,
        mechanism: str = KERBEROS,
    ) -> None:
        import gssapi

        flags = gssapi.RequirementFlag
        self._qop, self._choice, self._acting_for = QOP[qop], choice or QOP[qop], acting_for.encode()
        self._context = gssapi.SecurityContext(
            name=gssapi.Name(service, gssapi.NameType.hostbased_service),
            usage="initiate",
            mech=gssapi.OID.from_int_seq(mechanism),
            flags=flags.mutual_authentication
            | flags.integrity
            | flags.confidentiality
            | flags.out_of_sequence_detection,
        )

    def start(self, mechanism: str) -> tuple[bool, str, bytes]:
        return True, "GSSAPI", self._context.step()

    def step(self, challenge: bytes) -> tuple[bool, bytes]:
        if not self._context.complete:
            return True, self._context.step(challenge) or b""
        offer = self._context.unwrap(challenge).message
        assert offer[0] == 7
        said = bytes([self._choice]) + (b"\0\0\0" if self._choice == 1 else b"\0\xff\xff") + self._acting_for
        return True, self._context.wrap(said, False).message

    def encode(self, data: bytes) -> tuple[bool, bytes]:
        if self._qop == 1:
            return True, data
        wrapped = self._context.wrap(data, self._qop == 4).message
        return True, len(wrapped).to_bytes(4, "big") + wrapped

    def decode(self, frame: bytes) -> tuple[bool, bytes]:
        found = self._context.unwrap(frame[4:])
        assert found.encrypted == (self._qop == 4)
        return True, found.message

    def getError(self) -> str:  # noqa: N802  thriftpy2 calls it so
        return ""


def connect(
    monkeypatch: pytest.MonkeyPatch, server: ServerProcess, environment: dict[str, str], client: Any
) -> happybase.Connection:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    made = partial(TCySaslClientTransport, client, "GSSAPI")
    monkeypatch.setitem(happybase.connection.THRIFT_TRANSPORTS, "buffered", made)
    return happybase.Connection("localhost", server.port, autoconnect=False)


@pytest.mark.parametrize("qop", list(QOP))
def test_a_ticket_lets_a_user_in(
    server: ServerProcess, realm: kdc.Kdc, monkeypatch: pytest.MonkeyPatch, qop: str
) -> None:
    connection = connect(monkeypatch, server, realm.log_in("ann", "a-password"), partial(GssClient, qop))
    connection.open()
    connection.create_table(f"by-{qop}", {"f": {}})
    table = connection.table(f"by-{qop}")
    with table.batch() as batch:
        for number in range(300):
            batch.put(b"%05d" % number, {b"f:a": b"v" * 10_000})
    assert sum(len(columns[b"f:a"]) for _, columns in table.scan(batch_size=100)) == 3_000_000
    connection.close()


def refused(connection: happybase.Connection, words: str) -> None:
    with pytest.raises(Exception, match=words):
        connection.open()
    connection.transport.close()


def test_a_proxy_acts_for_another_but_not_for_a_superuser(
    server: ServerProcess, realm: kdc.Kdc, monkeypatch: pytest.MonkeyPatch
) -> None:
    tickets = realm.log_in("hue/host", "a-password")
    connection = connect(monkeypatch, server, tickets, partial(GssClient, "auth-conf", "ben"))
    connection.open()
    connection.tables()
    connection.close()
    refused(connect(monkeypatch, server, tickets, partial(GssClient, "auth", "ann")), "not for ann, a superuser")


def test_others_act_for_nobody(server: ServerProcess, realm: kdc.Kdc, monkeypatch: pytest.MonkeyPatch) -> None:
    tickets = realm.log_in("ben", "a-password")
    refused(connect(monkeypatch, server, tickets, partial(GssClient, "auth", "ann")), "ben may not act for ann")


def test_a_layer_that_there_is_not_is_refused(
    server: ServerProcess, realm: kdc.Kdc, monkeypatch: pytest.MonkeyPatch
) -> None:
    tickets = realm.log_in("ben", "a-password")
    refused(connect(monkeypatch, server, tickets, partial(GssClient, "auth", choice=6)), "the last step of GSSAPI")


def test_a_ticket_for_another_service_is_refused(
    server: ServerProcess, realm: kdc.Kdc, monkeypatch: pytest.MonkeyPatch
) -> None:
    realm.add_service("other/localhost")
    tickets = realm.log_in("ben", "a-password")
    client = partial(GssClient, "auth", service="other@localhost")
    refused(connect(monkeypatch, server, tickets, client), "Kerberos does not let you in")


def test_gssapi_is_kerberos_alone(server: ServerProcess, realm: kdc.Kdc, monkeypatch: pytest.MonkeyPatch) -> None:
    tickets = realm.log_in("ben", "a-password")
    client = partial(GssClient, "auth", mechanism=SPNEGO)
    refused(connect(monkeypatch, server, tickets, client), "Kerberos does not let you in")


def test_a_token_that_is_none_is_refused(
    server: ServerProcess, realm: kdc.Kdc, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Nonsense(GssClient):
        def start(self, mechanism: str) -> tuple[bool, str, bytes]:
            return True, "GSSAPI", os.urandom(200)

    refused(connect(monkeypatch, server, realm.environment, partial(Nonsense, "auth")), "Kerberos does not let you in")
