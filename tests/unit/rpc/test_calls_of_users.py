"""A user's call to a tablet: his name and groups go with it, to whichever process has the tablet."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hbtable.access.user import User, acting_as, acting_user
from hbtable.errors import AccessDenied, UnsupportedFormat
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import EVERYTHING, ScanPage, ScanRequest
from hbtable.rpc.codec import calls
from hbtable.rpc.codec.calls import METHODS, USERS_METHODS, read_head
from hbtable.rpc.connections import RpcOptions
from hbtable.rpc.local import LocalTransport
from hbtable.rpc.services import TabletService
from hbtable.rpc.thrift_server import RpcServer
from hbtable.rpc.thrift_transport import RpcTransport
from hbtable.runtime.gevent_runtime import GeventRuntime
from hbtable.runtime.network.sockets import serve
from hbtable.runtime.parallel import results, run_all
from hbtable.thrift.message import MessageReader

HOST = "127.0.0.1"
LONG_TIMEOUTS = RpcOptions(connect_seconds=60, read_seconds=60, write_seconds=60, census_seconds=60)
ANN = User("ann", frozenset(("readers", "team")))


class Service:
    """Remembers for whom it was called, and with what."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def _note(self, answer: Any, *arguments: Any) -> Any:
        user = acting_user()
        self.seen.append((user, arguments))
        if user == User("denied"):
            raise AccessDenied("Insufficient permissions for user 'denied' (table=t, action=READ)")
        return answer

    def mutate(self, *arguments: Any) -> Any:
        return self._note(None, *arguments)

    def read_rows(self, *arguments: Any) -> Any:
        return self._note([(b"r", [(b"f:q", 5, b"v")])], *arguments)

    def scan(self, *arguments: Any) -> Any:
        return self._note(ScanPage([], None), *arguments)

    def scan_with_times(self, *arguments: Any) -> Any:
        return self._note(ScanPage([], None), *arguments)

    def increment(self, *arguments: Any) -> Any:
        return self._note(7, *arguments)

    def append(self, *arguments: Any) -> Any:
        return self._note([(b"f:q", 5, b"v")], *arguments)

    def check_and_mutate(self, *arguments: Any) -> Any:
        return self._note(True, *arguments)

    def mutate_if(self, *arguments: Any) -> Any:
        return self._note(True, *arguments)

    def add_to_columns(self, *arguments: Any) -> Any:
        return self._note([(b"f:q", 5, b"v")], *arguments)

    def delete_range(self, *arguments: Any) -> Any:
        return self._note(None, *arguments)


class Port:
    """A tablet server in another process, as far as its callers can tell."""

    def __init__(self) -> None:
        self.runtime = GeventRuntime()
        self.service = Service()
        roles = LocalTransport()
        roles.register_server("s1", self.service, self.service)  # type: ignore[arg-type]
        self.server = RpcServer(self.runtime, roles, lambda handle: serve(HOST, 0, handle))
        port = self.server.start()
        self.transport = RpcTransport(self.runtime, lambda name: f"{HOST}:{port}", lambda: None, LONG_TIMEOUTS)
        self.tablets: TabletService = self.transport.tablet_service("s1")

    def close(self) -> None:
        self.transport.close()
        self.server.close()
        self.runtime.close()


@pytest.fixture
def port() -> Iterator[Port]:
    made = Port()
    yield made
    made.close()


MUTATION = RowMutation(b"r", [(PUT, b"f", b"q", 5, b"v")])
CALLS: dict[str, tuple[Any, ...]] = {
    "mutate": (1, [MUTATION]),
    "read_rows": (1, [b"r"], EVERYTHING),
    "scan": (1, ScanRequest()),
    "scan_with_times": (1, ScanRequest(), {b"f": (1, 5)}),
    "increment": (1, b"r", b"f", b"q", 3, 2**32 - 1),
    "append": (1, b"r", [(b"f", b"q", b"v")], 9, 77),
    "check_and_mutate": (1, b"r", b"f", b"q", None, MUTATION, 0),
    "mutate_if": (1, b"r", EVERYTHING, "", None, MUTATION, 0),
    "add_to_columns": (1, MUTATION),
    "delete_range": (1, b"r", b"s", 5),
}


@pytest.mark.parametrize("name", sorted(CALLS))
@pytest.mark.parametrize("user", [None, User("ben"), ANN], ids=["nobody", "without groups", "with groups"])
def test_the_user_of_a_call_goes_with_it(port: Port, name: str, user: User | None) -> None:
    with acting_as(user):
        answer = getattr(port.tablets, name)(*CALLS[name])
    ((seen, given_arguments),) = port.service.seen
    assert seen == user
    assert given_arguments[0] == 1
    assert len(given_arguments) == len(CALLS[name])
    assert answer == getattr(Service(), name)()
    assert acting_user() is None


def test_no_call_keeps_the_user_of_the_one_before(port: Port) -> None:
    for user in (ANN, None, User("ben"), None):
        with acting_as(user):
            port.tablets.read_rows(*CALLS["read_rows"])
    assert [user for user, _ in port.service.seen] == [ANN, None, User("ben"), None]


def test_parts_of_a_call_are_its_users(port: Port) -> None:
    with acting_as(ANN):
        jobs = [lambda: port.tablets.read_rows(*CALLS["read_rows"])] * 5
        results(run_all(port.runtime, 3, jobs, "parts"))
    assert [user for user, _ in port.service.seen] == [ANN] * 5


def test_a_refusal_comes_back_as_one(port: Port) -> None:
    with acting_as(User("denied")), pytest.raises(AccessDenied, match="user 'denied'"):
        port.tablets.read_rows(*CALLS["read_rows"])


def test_a_server_that_does_not_know_users_refuses_their_calls_by_name(
    port: Port, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would ask nobody whether the user may."""
    monkeypatch.setattr(calls, "BY_WIRE_NAME", METHODS)
    with acting_as(ANN), pytest.raises(UnsupportedFormat, match=r"read_rows_for_user.*upgrade the older one"):
        port.tablets.read_rows(*CALLS["read_rows"])
    port.tablets.read_rows(*CALLS["read_rows"])
    assert [user for user, _ in port.service.seen] == [None]


def test_every_call_to_tablets_can_be_a_users() -> None:
    assert (
        USERS_METHODS.keys()
        == CALLS.keys()
        == {name for name in METHODS if METHODS[name].role.value == "TabletService"}
    )
    assert len(calls.BY_WIRE_NAME) == len(METHODS) + len(USERS_METHODS)
    for name, method in USERS_METHODS.items():
        assert (method.timeout, method.repeatable) == (METHODS[name].timeout, METHODS[name].repeatable)


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=4), st.integers(0, 2**63 - 1))
def test_names_come_as_they_were(name: str, groups: list[str], number: int) -> None:
    method = USERS_METHODS["increment"]
    arguments = ("s1", name, groups, number, b"r", b"f", b"q", 1, 2)
    frame = method.request(1, arguments, lambda: None)
    _, _, _, position = read_head(frame[4:])
    assert method.read_arguments(MessageReader(frame[4:]), position) == arguments
