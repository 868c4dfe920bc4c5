"""Clients with tickets of a real Kerberos, MIT's, through each of SASL's layers."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import happybase
import happybase.connection
import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TSocket
from thrift_sasl import TSaslClientTransport as ApacheSaslTransport
from thriftpy2.transport.sasl import TCySaslClientTransport

from tests.harness import kdc
from tests.harness.server import ServerProcess
from tests.harness.waiting import SOON_SECONDS, eventually

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


@pytest.mark.parametrize("qop", list(QOP))
def test_thrift_sasls_transport_takes_a_ticket(
    server: ServerProcess, realm: kdc.Kdc, monkeypatch: pytest.MonkeyPatch, qop: str
) -> None:
    """Below Apache Thrift's own protocol and socket."""
    for name, value in realm.log_in("ann", "a-password").items():
        monkeypatch.setenv(name, value)
    transport = ApacheSaslTransport(partial(GssClient, qop), "GSSAPI", TSocket("localhost", server.port))
    transport.open()
    protocol = TBinaryProtocol(transport)
    for number in range(3):
        protocol.writeMessageBegin("getTableNames", 1, number)
        protocol.writeFieldStop()
        protocol.trans.flush()
        assert protocol.readMessageBegin() == ("getTableNames", 2, number)
        protocol.skip(12)
        protocol.readMessageEnd()
    transport.close()


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


# ---------------------------------------------------------------- somebody in between, who has what passed

CALL = b"\x80\x01\0\x01\0\0\0\x0dgetTableNames\0\0\0\x01\0"
ANSWER = b"\x80\x01\0\x02\0\0\0\x0dgetTableNames"


class Wire:
    """A client's bytes, each message of which can be sent again."""

    def __init__(self, server: ServerProcess, qop: str, ordered: bool = True) -> None:
        import gssapi

        flags = gssapi.RequirementFlag.mutual_authentication | gssapi.RequirementFlag.confidentiality
        self.socket = socket.create_connection(("127.0.0.1", server.port), 60)
        self._file = self.socket.makefile("rb")
        self._qop = QOP[qop]
        self._context = gssapi.SecurityContext(
            name=gssapi.Name("hbase@localhost", gssapi.NameType.hostbased_service),
            usage="initiate",
            mech=gssapi.MechType.kerberos,
            flags=flags | gssapi.RequirementFlag.out_of_sequence_detection if ordered else flags,
        )
        self.ticket: bytes = self._context.step()

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.socket.close()

    def say(self, status: int, content: bytes) -> tuple[int, bytes]:
        """The server's (status, content)."""
        self.socket.sendall(bytes([status]) + len(content).to_bytes(4, "big") + content)
        head = self._file.read(5)
        return head[0], self._file.read(int.from_bytes(head[1:], "big"))

    def log_in(self) -> tuple[int, bytes]:
        self.socket.sendall(b"\x01\0\0\0\x06GSSAPI")
        status, answer = self.say(2, self.ticket)
        if status == 2:
            self._context.step(answer)
            _, offer = self.say(2, b"")
            assert self._context.unwrap(offer).message[0] == 7
            status, answer = self.say(2, self._context.wrap(bytes([self._qop]) + b"\0\xff\xff", False).message)
        return status, answer

    def frame(self) -> bytes:
        """With a call."""
        wrapped: bytes = CALL if self._qop == 1 else self._context.wrap(CALL, self._qop == 4).message
        return len(wrapped).to_bytes(4, "big") + wrapped

    def answer_to(self, frame: bytes) -> tuple[bytes, bytes]:
        """(the frame that came back, what is inside of it); nothing, where the connection was closed."""
        self.socket.sendall(frame)
        head = self._file.read(4)
        if not head:
            return b"", b""
        answer = self._file.read(int.from_bytes(head, "big"))
        return head + answer, answer if self._qop == 1 else self._context.unwrap(answer).message


@pytest.fixture
def anns(realm: kdc.Kdc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who logs in is ann, a superuser."""
    for name, value in realm.log_in("ann", "a-password").items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("anns")
def test_a_ticket_that_was_seen_lets_nobody_else_in(server: ServerProcess) -> None:
    with Wire(server, "auth") as first, Wire(server, "auth") as second:
        assert first.log_in() == (5, b"")
        second.ticket = first.ticket
        status, why = second.log_in()
    assert (status, b"Request is a replay" in why) == (3, True)


@pytest.mark.usefixtures("anns")
@pytest.mark.parametrize("qop", ["auth-int", "auth-conf"])
def test_no_frame_is_carried_out_twice_or_out_of_its_order(server: ServerProcess, qop: str) -> None:
    def repeated(wire: Wire) -> bytes:
        frame = wire.frame()
        assert ANSWER in wire.answer_to(frame)[1]
        return frame

    def sent_back(wire: Wire) -> bytes:
        return wire.answer_to(wire.frame())[0]

    def after_another_that_is_missing(wire: Wire) -> bytes:
        assert ANSWER in wire.answer_to(wire.frame())[1]
        wire.frame()
        return wire.frame()

    def of_another_connection(_: Wire) -> bytes:
        with Wire(server, qop) as other:
            assert other.log_in() == (5, b"")
            return other.frame()

    for attack in (repeated, sent_back, after_another_that_is_missing, of_another_connection):
        with Wire(server, qop) as wire:
            assert wire.log_in() == (5, b"")
            _, said = wire.answer_to(attack(wire))
        assert ANSWER not in said, attack.__name__
        assert b"was changed on its way" in said or (not said and attack is of_another_connection), attack.__name__


@pytest.mark.usefixtures("anns")
@pytest.mark.parametrize("qop", list(QOP))
def test_who_would_not_notice_a_repeated_frame_gets_no_layer(server: ServerProcess, qop: str) -> None:
    with Wire(server, qop, ordered=False) as wire:
        status, why = wire.log_in()
    assert (status, b"ask for sequence detection" in why) == ((5, False) if qop == "auth" else (3, True))


def test_an_open_connection_outlives_its_ticket(
    server: ServerProcess, realm: kdc.Kdc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As HBase's and Hadoop's do: docs/security.md says so."""
    for name, value in realm.log_in("ann", "a-password", 4).items():
        monkeypatch.setenv(name, value)
    with ExitStack() as opened:
        wires = [opened.enter_context(Wire(server, qop)) for qop in QOP]
        assert [wire.log_in() for wire in wires] == [(5, b"")] * len(QOP)
        eventually(lambda: subprocess.run(["klist", "-s"]).returncode != 0, SOON_SECONDS, "the end of the ticket")
        for wire in wires:
            assert ANSWER in wire.answer_to(wire.frame())[1]


def test_a_superusers_name_of_another_realm_is_nobody(
    server: ServerProcess, realm: kdc.Kdc, monkeypatch: pytest.MonkeyPatch
) -> None:
    realm.trust()
    realm.add_user("ann", "a-password", kdc.OTHER_REALM)
    for name, value in realm.log_in(f"ann@{kdc.OTHER_REALM}", "a-password").items():
        monkeypatch.setenv(name, value)
    with Wire(server, "auth") as wire:
        status, why = wire.log_in()
    assert (status, b"not of the realm TEST.EXAMPLE" in why) == (3, True), why
