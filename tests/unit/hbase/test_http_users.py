"""The user of an HTTP request, and the status of those that are of nobody."""

import base64
from typing import Any

import h11
import pytest

from hbtable.access.accounts import Accounts
from hbtable.access.options import AuthOptions
from hbtable.access.user import User, acting_user
from hbtable.access.verification import Verifier
from hbtable.errors import NotAuthenticated, Unavailable
from hbtable.hbase.security import GatewaySecurity
from hbtable.runtime.network.tls import TlsOptions
from tests.harness.cheap_passwords import cheap
from tests.harness.known_token import RECORD, TOKEN

BODY = b"\x80\x01\0\x01\0\0\0\x0dgetTableNames\0\0\0\x01\0"


class Kept:
    accounts = Accounts().with_user("ann", cheap(b"correct: horse")).with_token("ann", RECORD, 0)
    is_away = False

    def read(self, latest: bool = False) -> Accounts:
        if self.is_away:
            raise Unavailable("ZooKeeper at 10.0.0.1 is away")
        return self.accounts


@pytest.fixture
def asking(gateway: Any) -> Any:
    return asks(gateway, plain_text=True)


def asks(gateway: Any, plain_text: bool, kept: Any = None, kerberos: Any = None, qop: str = "auth") -> Any:
    options = AuthOptions(enabled=True, superusers="ann", plain_text=plain_text, qop=qop)
    gateway.runtime.offload = lambda kind, function, *arguments: function(*arguments)
    gateway.context.security = GatewaySecurity(TlsOptions(), options)
    gateway.context.security.ask(Verifier(gateway.runtime, kept or Kept(), options), kerberos=kerberos)
    gateway.called = []
    gateway.interface.methods[b"getTableNames"].call = lambda: gateway.called.append(acting_user()) or []
    return gateway


def request(*headers: str, target: str = "/") -> bytes:
    lines = [f"POST {target} HTTP/1.1", "Host: h", f"Content-Length: {len(BODY)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + BODY


def basic(pair: str) -> str:
    return "Authorization: Basic " + base64.b64encode(pair.encode()).decode()


def answers(sent: bytes) -> list[tuple[int, dict[bytes, bytes], bytes]]:
    found, connection = [], h11.Connection(h11.CLIENT)
    while sent:
        connection = h11.Connection(h11.CLIENT)
        connection.send(h11.Request(method="POST", target="/", headers=[("Host", "h"), ("Content-Length", "0")]))
        connection.send(h11.EndOfMessage())
        connection.receive_data(sent)
        head = connection.next_event()
        assert isinstance(head, h11.Response)
        said = b""
        while isinstance(event := connection.next_event(), h11.Data):
            said += bytes(event.data)
        found.append((head.status_code, dict(head.headers), said))
        sent = connection.trailing_data[0]
    return found


@pytest.mark.parametrize(
    "header",
    [
        basic("ann:correct: horse"),
        basic(f"ann:{TOKEN}"),
        f"Authorization: Bearer {TOKEN}",
        f"authorization: bearer  {TOKEN}",
    ],
    ids=["password", "token for a password", "Bearer", "in small letters"],
)
def test_a_password_and_a_token_say_who_it_is(asking: Any, header: str) -> None:
    ((status, _, _),) = answers(asking.talk(request(header)).sent)
    assert (status, asking.called) == (200, [User("ann")])
    assert acting_user() is None


def test_each_request_says_it_for_itself(asking: Any) -> None:
    right = request(f"Authorization: Bearer {TOKEN}")
    acting = request(f"Authorization: Bearer {TOKEN}", "doAs: ben")
    sent = asking.talk(right + acting + request() + right).sent
    assert [status for status, _, _ in answers(sent)] == [200, 200, 401]
    assert asking.called == [User("ann"), User("ben")]


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ([], b"who you are (auth.enabled)"),
        ([basic("ann:wrong")], b"the user or the password is wrong"),
        ([basic("ann")], b"no USER:PASSWORD in Base64"),
        (["Authorization: Basic %%%"], b"no USER:PASSWORD in Base64"),
        (["Authorization: Basic"], b"no USER:PASSWORD in Base64"),
        (["Authorization: Bearer correct horse"], b"this is no token"),
        (["Authorization: Negotiate YII"], b"and not 'Negotiate'"),
        ([f"Authorization: Bearer {TOKEN}", "doAs: a b"], b"no name of a user"),
        ([f"Authorization: Bearer {TOKEN}", "doAs: ben", "doAs: carl"], b"more than one user"),
    ],
)
def test_a_request_of_nobody_is_told_why_and_what_to_send(asking: Any, headers: list[str], words: bytes) -> None:
    ((status, found, said),) = answers(asking.talk(request(*headers)).sent)
    assert status == 401
    assert words in said
    assert b"www-authenticate" in found
    assert asking.called == []


class PretendedKerberos:
    has_web_service = True

    def by_spnego(self, token: bytes) -> tuple[str, bytes]:
        if token != b"the ticket of ben":
            raise NotAuthenticated("Kerberos does not let you in: the ticket is damaged")
        return "ben", b"the proof"


TICKET = "Authorization: Negotiate " + base64.b64encode(b"the ticket of ben").decode()


def test_a_ticket_says_who_it_is_and_the_answer_has_the_servers_proof(gateway: Any) -> None:
    asking = asks(gateway, plain_text=False, kerberos=PretendedKerberos())
    first, second = answers(asking.talk(request(TICKET) + request()).sent)
    assert (first[0], second[0]) == (200, 401)
    assert first[1][b"www-authenticate"] == b"Negotiate " + base64.b64encode(b"the proof")
    assert first[1][b"persistent-auth"] == b"false"
    assert b"this server asks who you are" in second[2]
    assert asking.called == [User("ben")]


def test_a_proof_is_for_its_own_request_alone(gateway: Any) -> None:
    asking = asks(gateway, plain_text=True, kerberos=PretendedKerberos())
    sent = asking.talk(request(TICKET) + request(f"Authorization: Bearer {TOKEN}")).sent
    assert [b"www-authenticate" in found for _, found, _ in answers(sent)] == [True, False]
    assert asking.called == [User("ben"), User("ann")]


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("Authorization: Negotiate", b"no ticket in Base64 behind Negotiate"),
        ("Authorization: Negotiate %%%", b"no ticket in Base64 behind Negotiate"),
        ("Authorization: NEGOTIATE WUlJ", b"the ticket is damaged"),
    ],
)
def test_what_is_no_ticket_is_refused_with_the_ways_in(gateway: Any, header: str, words: bytes) -> None:
    asking = asks(gateway, plain_text=False, kerberos=PretendedKerberos())
    sent = asking.talk(request(header)).sent
    ((status, _, said),) = answers(sent)
    assert (status, words in said, asking.called) == (401, True, [])
    assert b"WWW-Authenticate: Negotiate\r\n" in sent


def test_without_tls_no_ticket_is_taken_where_messages_have_to_be_protected(gateway: Any) -> None:
    asking = asks(gateway, plain_text=False, kerberos=PretendedKerberos(), qop="auth-int, auth-conf")
    ((status, _, said),) = answers(asking.talk(request(TICKET)).sent)
    assert (status, asking.called) == (403, [])
    assert b"takes tickets of Kerberos over HTTPS only" in said


@pytest.mark.parametrize(
    ("headers", "target"),
    [
        (["doAs:"], "/"),
        (["doAs:  "], "/"),
        ([], "/?doAs="),
        ([], "/?doAs"),
        (["doAs: ben"], "/?doAs="),
        ([], "//[x/?doAs=b c"),
        ([], "http://[::1/?doAs=%62%20c"),
        ([], "//\u212f\u2100/?doAs=ben"),
        ([], "/?doAs=%00"),
        ([], "/?doAs=ben%00"),
        ([], "/?doAs=ben%2Cann"),
        ([], "/?doAs=%40admins"),
        ([], "/?doAs=BEN%0A"),
    ],
)
def test_who_acts_for_nobody_in_particular_does_not_act_for_himself(
    asking: Any, headers: list[str], target: str
) -> None:
    """A gateway that knows no user and says so with an empty name would call with its own rights."""
    lines = [f"POST {target} HTTP/1.1", "Host: h", f"Content-Length: {len(BODY)}", f"Authorization: Bearer {TOKEN}"]
    sent = asking.talk("\r\n".join([*lines, *headers, "", ""]).encode() + BODY).sent
    ((status, _, said),) = answers(sent)
    assert status in (400, 401)
    assert said
    assert asking.called == []


@pytest.mark.parametrize(
    "target", ["//[x/?doAs=ben", "http://[::1/?doAs=ben#x", "/?doAs=ben", "/any/path?x=1&doas=ben", "/?doAs=b%65n"]
)
def test_the_other_user_may_stand_in_the_address(asking: Any, target: str) -> None:
    asking.talk(request(f"Authorization: Bearer {TOKEN}", target=target))
    assert asking.called == [User("ben")]


def test_two_different_other_users_are_refused(asking: Any) -> None:
    sent = asking.talk(request(f"Authorization: Bearer {TOKEN}", "doAs: carl", target="/?doAs=ben")).sent
    assert answers(sent)[0][0] == 401


def test_over_plain_text_no_secret_is_taken(gateway: Any) -> None:
    ((status, _, said),) = answers(asks(gateway, plain_text=False).talk(request(basic("ann:correct: horse"))).sent)
    assert status == 403
    assert b"over HTTPS only" in said
    assert gateway.called == []


def test_a_list_that_cannot_be_read_is_the_servers_fault(gateway: Any) -> None:
    kept = Kept()
    kept.is_away = True
    ((status, _, said),) = answers(asks(gateway, True, kept).talk(request(basic("ann:x"))).sent)
    assert status == 503
    assert b"10.0.0.1" not in said


def test_without_authentication_nothing_of_it_is_looked_at(gateway: Any) -> None:
    ((status, _, _),) = answers(gateway.talk(request(basic("ann:x"), "doAs: ben")).sent)
    assert status == 200


@pytest.mark.parametrize("second", [f"Authorization: Bearer {TOKEN}", basic("ann:correct: horse"), "Authorization: "])
@pytest.mark.parametrize("is_first", [False, True], ids=["second", "first"])
def test_two_headers_with_a_user_are_refused(asking: Any, second: str, is_first: bool) -> None:
    both = (second, basic("ann:correct: horse"))[:: 1 if is_first else -1]
    ((status, _, said),) = answers(asking.talk(request(*both)).sent)
    assert (status, asking.called) == (401, [])
    assert b"the request has 2 headers Authorization, and one is due" in said


def of_thrift(body: bytes, *headers: str, chunked: bool = False) -> bytes:
    """A POST as Thrift's THttpClient makes it."""
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}"
    lines = ["POST / HTTP/1.1", "Host: h", "Content-Type: application/x-thrift", length, *headers, "", ""]
    sent = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if chunked else body
    return "\r\n".join(lines).encode() + sent


COMPACT = b"\x82\x21\x07\x0dgetTableNames\0"
UNKNOWN = b"\x80\x01\0\x01\0\0\0\x06nobody\0\0\0\x09\0"


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
@pytest.mark.parametrize(
    ("body", "begins"),
    [
        (BODY, b"\x80\x01\0\x02\0\0\0\x0dgetTableNames\0\0\0\x01\x0c\0\x01"),
        (b"\0\0\0\x0dgetTableNames\x01\0\0\0\x05\0", b"\0\0\0\x0dgetTableNames\x02\0\0\0\x05\x0c\0\x01"),
        (COMPACT, b"\x82\x41\x07\x0dgetTableNames"),
        (BODY + b"x" * 100_000, b"\x80\x01\0\x02\0\0\0\x0dgetTableNames\0\0\0\x01\x0c\0\x01"),
        (UNKNOWN, b"\x80\x01\0\x03\0\0\0\x06nobody\0\0\0\x09"),
    ],
    ids=["binary", "without versions", "compact", "large", "unknown method"],
)
def test_a_client_of_thrift_reads_as_an_answer_why_it_is_not_let_in(
    asking: Any, body: bytes, begins: bytes, chunked: bool
) -> None:
    ((status, found, said),) = answers(asking.talk(of_thrift(body, basic("ann:wrong"), chunked=chunked)).sent)
    assert (status, found[b"content-type"], asking.called) == (401, b"application/x-thrift", [])
    assert said.startswith(begins)
    assert b"AccessDeniedException: You were not let in: the user or the password is wrong" in said
    assert b"www-authenticate" in found


@pytest.mark.parametrize("body", [b"", b"\x80", b"\x80\x01\0\x01\xff\xff\xff\xff", b"[1,1,1]", BODY[:12]], ids=repr)
def test_what_is_no_message_of_thrift_is_refused_with_a_text(asking: Any, body: bytes) -> None:
    ((status, found, said),) = answers(asking.talk(of_thrift(body, basic("ann:wrong"))).sent)
    assert (status, found[b"content-type"][:10], asking.called) == (401, b"text/plain", [])
    assert b"the user or the password is wrong" in said


def test_a_client_that_asks_before_it_sends_its_body_is_refused_without_it(asking: Any) -> None:
    head = of_thrift(b"", basic("ann:wrong"), "Expect: 100-continue").replace(b"Length: 0", b"Length: 999")
    sent = asking.talk(head).sent
    assert sent.startswith(b"HTTP/1.1 401 ")
    assert b"the user or the password is wrong" in sent


def test_the_refusals_of_thrift_say_what_may_be_tried_again(gateway: Any) -> None:
    kept = Kept()
    kept.is_away = True
    ((status, _, said),) = answers(asks(gateway, True, kept).talk(of_thrift(BODY, basic("ann:x"))).sent)
    assert (status, b"java.io.IOException: You were not let in" in said) == (503, True)
    gateway.context.message_bytes = 1000
    right = f"Authorization: Bearer {TOKEN}"
    ((status, _, said),) = answers(asks(gateway, True).talk(of_thrift(BODY + b"x" * 2000, right)).sent)
    assert (status, b"DoNotRetryIOException: A body of 2026 bytes" in said) == (413, True)
