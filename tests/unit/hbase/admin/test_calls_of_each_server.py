"""Operators' calls that tablet servers carry out: on those that are named, or on all, and answered by server."""

from types import SimpleNamespace
from typing import Annotated

import pytest

from hbtable.hbase.admin.chores import AdminChoreCalls
from hbtable.hbase.admin.declared import OFFERED, OFFERED_BY_SERVERS, DeclaredAdminCalls
from hbtable.hbase.cluster_backend import LivingServer
from hbtable.hbase.errors import BadArgument
from hbtable.hbase.server_names import ServerNames
from hbtable.rpc.declaration import ADDED, CallTimeout, Service, call, calls_of

PLACES = {"a1": (b"here", 1), "b1": (b"here", 2), "c1": (b"there", 1)}


@pytest.fixture
def asked():
    return []


@pytest.fixture
def calls(asked):
    class Server:
        def __init__(self, name):
            self._name = name

        def roll_log(self):
            asked.append((self._name, "roll_log"))

        def switch_compactions(self, on):
            asked.append((self._name, on))
            return self._name != "b1"

    cluster = SimpleNamespace(
        servers=lambda: [LivingServer(name, 5) for name in PLACES], operations=SimpleNamespace(on_server=Server)
    )
    return DeclaredAdminCalls(SimpleNamespace(canonical=None), cluster, ServerNames(cluster, PLACES.get), lambda: None)


@pytest.mark.parametrize("name", OFFERED_BY_SERVERS)
def test_a_server_that_nobody_has_is_refused_before_any_is_asked(calls, asked, name: str) -> None:
    values = [None] * len(OFFERED_BY_SERVERS[name].parameters)
    with pytest.raises(BadArgument, match="nowhere"):
        getattr(calls, name)(*values, [b"here,1", b"nowhere"])
    assert asked == []


def test_a_call_without_an_answer(calls, asked) -> None:
    assert calls.adminRollLog([b"here,2"]) is None
    assert asked == [("b1", "roll_log")]


def test_without_servers_all_are_asked_and_their_answers_come_by_server(calls, asked) -> None:
    for nobody in (None, []):
        assert calls.adminCompactionSwitch(True, nobody) == {"here,1,5": True, "here,2,5": False, "there,1,5": True}
    assert asked == [(name, True) for name in PLACES] * 2


def test_of_servers_that_are_named_each_is_asked_once(calls, asked) -> None:
    assert calls.adminCompactionSwitch(False, [b"here", b"here,1,5"]) == {"here,1,5": True, "here,2,5": False}
    assert asked == [("a1", False), ("b1", False)]


@pytest.mark.parametrize("servers", [[], [b"here"]])
def test_a_switch_of_which_the_call_does_not_say_where_it_goes_stays_as_it_is(calls, asked, servers) -> None:
    """It went off."""
    with pytest.raises(BadArgument, match="the call has no value for on: true or false"):
        calls.adminCompactionSwitch(None, servers)
    assert asked == []


def test_a_toggle_of_which_the_call_does_not_say_where_it_goes_stays_as_it_is() -> None:
    toggles = SimpleNamespace(turn=lambda name, on: pytest.fail("it was turned"))
    chores = AdminChoreCalls(None, SimpleNamespace(toggles=toggles), None, None)
    with pytest.raises(BadArgument, match="the call has no value for on: true or false"):
        chores.adminSwitch(b"splits", None)


def test_a_parameter_that_a_call_got_later_means_its_default_to_programs_that_do_not_send_it(monkeypatch) -> None:
    class Grown(Service):
        @call(CallTimeout.READ)
        def grow(self, on: Annotated[bool, ADDED] = True) -> bool:
            """As an example."""

    monkeypatch.setitem(OFFERED, "adminGrow", calls_of(Grown)["grow"])
    cluster = SimpleNamespace(admin=Grown(lambda _, arguments: arguments[0]))
    calls = DeclaredAdminCalls(SimpleNamespace(canonical=None), cluster, ServerNames(cluster, PLACES.get), lambda: None)
    assert calls.adminGrow(None) is True
    assert calls.adminGrow(False) is False
