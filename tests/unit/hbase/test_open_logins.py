"""A connection that was let in, and whose user would not be let in any more."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from hbtable.access.accounts import Accounts
from hbtable.access.options import AuthOptions
from hbtable.access.passwords import new_token, parts_of_token
from hbtable.access.verification import Verifier
from hbtable.errors import Unavailable
from hbtable.hbase.audit import AuditTrail
from hbtable.hbase.open_logins import LoginWatch, OpenLogin
from hbtable.hbase.security import GatewaySecurity
from hbtable.runtime.network.tls import TlsOptions
from hbtable.testing.simulated.runtime import SimulatedRuntime
from tests.harness.cheap_passwords import cheap
from tests.unit.hbase.test_sasl import COMPLETE, frames, inside, message, negotiation

PASSWORD = cheap(b"correct horse")
LIFE_MILLIS = 60_000
NOW_MILLIS = 1_000_000
"""The time of the fake runtime when a test begins."""


class Kept:
    def __init__(self) -> None:
        token, record = new_token(NOW_MILLIS + LIFE_MILLIS)
        self.token = token.encode()
        self.token_id = record.token_id
        self.accounts = Accounts().with_user("ann", PASSWORD).with_token("ann", record, 0).with_user("root", PASSWORD)
        self.failure: Unavailable | None = None

    def read(self, latest: bool = False) -> Accounts:
        if self.failure is not None:
            raise self.failure
        return self.accounts

    def change(self, edit: Callable[[Accounts], Accounts]) -> None:
        self.accounts = edit(self.accounts)


def again(accounts: Accounts) -> Accounts:
    return accounts.without_user("ann").with_user("ann", cheap(b"correct horse", b"another salt"))


CHANGES: dict[str, tuple[Callable[[Kept, Accounts], Accounts], str, str]] = {
    "removed": (lambda _, accounts: accounts.without_user("ann"), "both", "the user ann was removed"),
    "removed, and added with the same password": (lambda _, accounts: again(accounts), "both", "ann"),
    "another password": (lambda _, accounts: accounts.with_password("ann", cheap(b"staple")), "password", "changed"),
    "token revoked": (lambda kept, accounts: accounts.without_token("ann", kept.token_id), "token", "was revoked"),
    "token expired": (lambda _, accounts: accounts, "token", "has expired"),
    "another user's": (lambda _, accounts: accounts.without_user("root"), "neither", ""),
}


class Rig:
    """The gateway with users, and the lines of its audit."""

    def __init__(self, gateway: Any) -> None:
        self.gateway = gateway
        self.kept = Kept()
        self.lines: list[str] = []
        options = AuthOptions(enabled=True, superusers="root", plain_text=True)
        self.verifier = Verifier(gateway.runtime, self.kept, options)
        gateway.context.security = security = GatewaySecurity(TlsOptions(), options)
        security.ask(self.verifier, AuditTrail(self.lines.append, gateway.runtime.wall_millis))

    def change(self, edit: Callable[[Kept, Accounts], Accounts], seconds: float) -> None:
        self.kept.change(lambda accounts: edit(self.kept, accounts))
        self.gateway.runtime.now += seconds


@pytest.fixture
def rig(gateway: Any) -> Rig:
    return Rig(gateway)


@pytest.mark.parametrize("by", ["password", "token"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("protocol", ["binary", "loose", "compact"])
def test_the_next_call_is_refused_and_says_why(
    rig: Rig, connect: Callable[..., Any], protocol: str, framed: bool, change: str, by: str
) -> None:
    edit, ends, why = CHANGES[change]
    seconds = LIFE_MILLIS / 1000 if change == "token expired" else 1.0
    client = connect(rig.gateway, protocol, framed=framed)
    call = frames(client.encode("getTableNames"), 1000)
    secret = rig.kept.token if by == "token" else b"correct horse"
    said = rig.gateway.talk(negotiation(b"\0ann\0" + secret), call, lambda: rig.change(edit, seconds), call, call).sent
    assert said[:5] == message(COMPLETE, b"")
    first, *others = inside(said[5:])
    assert client.decode(first, "getTableNames") == [b"t"]
    assert len(others) == 2
    if ends not in ("both", by):
        assert [client.decode(one, "getTableNames") for one in others] == [[b"t"]] * 2
        assert rig.lines == []
        return
    for answer in others:
        with pytest.raises(client.thrift.IOError) as refused:
            client.decode(answer, "getTableNames")
        assert b"AccessDeniedException: this connection was let in as ann, and is so no more" in refused.value.message
        assert why.encode() in refused.value.message
    (line,) = map(json.loads, rig.lines)  # one, however often it calls
    assert (line["user"], line["from"], line["call"], line["outcome"]) == ("ann", "client:1", "login", "denied")
    assert why in line["why"]
    assert parts_of_token(rig.kept.token)[1].decode() not in str(rig.lines)  # type: ignore[index]


def test_who_acts_for_another_is_the_one_whose_login_counts(rig: Rig, connect: Callable[..., Any]) -> None:
    client = connect(rig.gateway)
    call = frames(client.encode("getTableNames"), 1000)

    def both(_: Kept, accounts: Accounts) -> Accounts:
        return accounts.without_user("root")

    said = rig.gateway.talk(negotiation(b"ann\0root\0correct horse"), call, lambda: rig.change(both, 1.0), call).sent
    first, second = inside(said[5:])
    assert client.decode(first, "getTableNames") == [b"t"]
    with pytest.raises(client.thrift.IOError, match="the user root was removed"):
        client.decode(second, "getTableNames")
    (line,) = map(json.loads, rig.lines)
    assert (line["user"], line["through"]) == ("ann", "root")


def test_nobody_goes_on_by_a_list_that_cannot_be_read(rig: Rig, connect: Callable[..., Any]) -> None:
    """A server that does not hear of a change refuses for now; when it hears again, the connection goes on."""
    client = connect(rig.gateway)
    call = frames(client.encode("getTableNames"), 1000)

    def fail(failure: Unavailable | None) -> None:
        rig.kept.failure = failure
        rig.gateway.runtime.now += 1.0

    said = rig.gateway.talk(
        negotiation(), call, lambda: fail(Unavailable("secret fault")), call, lambda: fail(None), call
    ).sent
    first, second, third = inside(said[5:])
    assert client.decode(first, "getTableNames") == client.decode(third, "getTableNames") == [b"t"]
    with pytest.raises(client.thrift.IOError, match="the list of users cannot be read now") as refused:
        client.decode(second, "getTableNames")
    assert b"secret fault" not in refused.value.message
    assert rig.lines == []


def with_new_user(kept: Kept, accounts: Accounts) -> Accounts:
    token, record = new_token(NOW_MILLIS + LIFE_MILLIS)
    kept.token = token.encode()
    return accounts.with_user("new", PASSWORD).with_token("new", record, 0)


def with_new_proof(kept: Kept, accounts: Accounts) -> Accounts:
    token, record = new_token(NOW_MILLIS + LIFE_MILLIS)
    kept.token = token.encode()
    return accounts.with_password("ann", cheap(b"correct horse", b"another salt")).with_token("ann", record, 0)


NEW_LOGINS = {"new": with_new_user, "ann": with_new_proof}


@pytest.mark.parametrize("by", ["password", "token"])
@pytest.mark.parametrize("name", NEW_LOGINS)
def test_a_login_is_not_ended_by_an_older_list(rig: Rig, connect: Callable[..., Any], name: str, by: str) -> None:
    """The list that calls are checked against may be a second old, and the login is by a newer one."""
    rig.verifier.look()
    rig.gateway.runtime.now += 0.1
    rig.change(NEW_LOGINS[name], 0.1)
    client = connect(rig.gateway)
    call = frames(client.encode("getTableNames"), 1000)
    secret = rig.kept.token if by == "token" else b"correct horse"

    def remove() -> None:
        rig.change(lambda _, accounts: accounts.without_user(name), 1.0)

    said = rig.gateway.talk(negotiation(f"\0{name}\0".encode() + secret), call, call, remove, call).sent
    assert said[:5] == message(COMPLETE, b"")
    first, second, third = inside(said[5:])
    assert [client.decode(one, "getTableNames") for one in (first, second)] == [[b"t"]] * 2
    with pytest.raises(client.thrift.IOError, match=f"the user {name} was removed"):
        client.decode(third, "getTableNames")
    assert len(rig.lines) == 1


class Open:
    """A connection that is silent, or in the middle of a call."""

    def __init__(self, login: OpenLogin | None, busy: bool = False) -> None:
        self.login = login
        self.busy = busy
        self.closed_at: float | None = None

    def close(self) -> None:
        self.closed_at = self.closed_at or self.now()

    now: Callable[[], float]


def test_idle_ones_are_closed_after_a_while_and_others_stay(rig: Rig) -> None:
    runtime = SimulatedRuntime(1)
    rig.verifier = Verifier(runtime, rig.kept, rig.gateway.context.security.auth)
    context = rig.gateway.context
    context.security.verifier = rig.verifier
    context.clock = runtime.clock_seconds
    Open.now = staticmethod(runtime.clock_seconds)  # type: ignore[method-assign,assignment]

    def opened(name: str) -> OpenLogin:
        login = rig.verifier.log_in(name, b"correct horse", "host")
        return OpenLogin(login, login.user, f"{name}:1", context)

    changes: list[tuple[str, str]] = []

    def heard(name: str, change: str) -> None:
        changes.append((name, change))

    def run() -> None:
        idle, busy, other, nobodys = Open(opened("ann")), Open(opened("ann"), True), Open(opened("root")), Open(None)
        watch = LoginWatch(runtime, rig.verifier, [idle, busy, other, nobodys], lambda: None, heard)
        runtime.sleep(5.0)
        assert rig.lines == []
        assert changes == []
        removed = runtime.clock_seconds()
        rig.kept.change(lambda accounts: accounts.without_user("ann"))
        runtime.sleep(1.0)
        assert len(rig.lines) == 2  # at once, although nobody called
        runtime.sleep(20.0)
        assert idle.closed_at is not None
        assert 9.0 < idle.closed_at - removed < 12.0
        assert (busy.closed_at, other.closed_at, nobodys.closed_at) == (None, None, None)
        busy.busy = False
        runtime.sleep(1.0)
        assert busy.closed_at is not None
        assert len(rig.lines) == 2
        assert changes == [("ann", "removed")]
        watch.stop()

    runtime.run(run)


class Watched:
    """Connections of a gateway that are looked after, in simulated time."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.runtime = runtime = SimulatedRuntime(1)
        rig.verifier = Verifier(runtime, rig.kept, rig.gateway.context.security.auth)
        rig.gateway.context.security.verifier = rig.verifier
        rig.gateway.context.clock = runtime.clock_seconds
        Open.now = staticmethod(runtime.clock_seconds)  # type: ignore[method-assign,assignment]

    def log_in(self, name: str) -> OpenLogin:
        login = self.rig.verifier.log_in(name, b"correct horse", "host")
        return OpenLogin(login, login.user, f"{name}:1", self.rig.gateway.context)

    def add(self, name: str) -> None:
        self.rig.kept.change(lambda accounts: accounts.with_user(name, PASSWORD))

    def watch(self, connections: list[Open], pause: Callable[[], None] = lambda: None) -> LoginWatch:
        return LoginWatch(self.runtime, self.rig.verifier, connections, pause, lambda name, change: None)


@pytest.mark.parametrize("seconds", [0.2, 1.7])
@pytest.mark.parametrize("looks_before", [0, 1])
def test_a_look_that_was_under_way_when_somebody_logged_in_does_not_end_the_login(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, looks_before: int, seconds: float
) -> None:
    """The answer of a lock service is as old as its question, or older."""
    kept = rig.kept

    def read(latest: bool = False) -> Accounts:
        found = kept.accounts
        if latest:
            runtime.sleep(seconds)
        return found

    monkeypatch.setattr(kept, "read", read)
    watched = Watched(rig)
    runtime = watched.runtime

    def run() -> None:
        for _ in range(looks_before):
            rig.verifier.look()
        idle, removed = Open(None), Open(watched.log_in("root"))
        watch = watched.watch([idle, removed])
        runtime.sleep(seconds / 2)  # it has asked
        watched.add("new")
        idle.login = watched.log_in("new")
        runtime.sleep(20.0)
        assert rig.lines == []
        idle.login.check()
        kept.change(lambda accounts: accounts.without_user("root"))
        runtime.sleep(20.0)  # also while each answer takes longer than it is good for
        assert (idle.closed_at, removed.closed_at is not None) == (None, True)
        watch.stop()

    runtime.run(run)


def test_who_logs_in_while_many_are_looked_at_is_not_judged_by_the_list_from_before(rig: Rig) -> None:
    watched = Watched(rig)

    def run() -> None:
        late = Open(None)

        def pause() -> None:
            if late.login is None:
                watched.runtime.sleep(0.01)
                watched.add("new")
                late.login = watched.log_in("new")

        others = [Open(watched.log_in("root"))] * 1000
        watch = watched.watch([*others, late], pause)
        watched.runtime.sleep(5.0)
        assert late.login is not None
        late.login.check()
        assert rig.lines == []
        watch.stop()

    watched.runtime.run(run)
