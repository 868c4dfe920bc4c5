"""Which servers a tablet is not given to any more because they could not load it."""

import pytest

from hbtable.master.tablets.assignment import Assign, ClusterSnapshot, Load, Reassign, plan
from hbtable.master.tablets.failed_loads import REST_SECONDS, TRIES, FailedLoads
from hbtable.master.tablets.server_load import ServerLoad
from hbtable.model.ranges import EVERY_ROW
from hbtable.model.tablet import TabletRecord

TABLET = TabletRecord(16, 20, EVERY_ROW, 0, "a")
IDLE = ServerLoad(frozenset())
BUSY = ServerLoad(frozenset({7, 8, 9}))


def fail(loads: FailedLoads, server: str, times: int = TRIES) -> None:
    for number in range(times):
        loads.failed(20, server, f"no memory, try {number + 1}")


def test_a_server_is_refused_after_a_few_tries_and_not_before() -> None:
    loads = FailedLoads(lambda: 0.0)
    fail(loads, "a", TRIES - 1)
    assert loads.refusals(["a", "b"]) == {}
    fail(loads, "a", 1)
    assert loads.refusals(["a", "b"]) == {20: frozenset("a")}
    assert loads.reason(20, "a") == "no memory, try 1"
    loads.served(20)
    assert loads.refusals(["a", "b"]) == {}


def test_when_all_have_failed_it_goes_round_again() -> None:
    loads = FailedLoads(lambda: 0.0)
    fail(loads, "a")
    fail(loads, "b")
    assert loads.refusals(["a", "b", "c"]) == {20: frozenset("ab")}
    assert loads.refusals(["a", "b"]) == {20: frozenset("b")}
    fail(loads, "a")
    assert loads.refusals(["a", "b"]) == {20: frozenset("a")}


def test_tablets_that_are_no_more_are_forgotten() -> None:
    loads = FailedLoads(lambda: 0.0)
    fail(loads, "a")
    loads.keep_only([20, 21])
    assert loads.refusals(["a", "b"])
    loads.keep_only([21])
    assert loads.refusals(["a", "b"]) == {}


def test_a_tablet_is_taken_from_the_owner_that_cannot_load_it() -> None:
    refusals = {20: frozenset("a")}
    (action,) = plan(ClusterSnapshot([TABLET], {"a": IDLE, "b": BUSY}, refusals=refusals))
    assert action == Reassign(TABLET, "b", "tablet 20 goes to b because its owner a could not load it")


def test_without_another_server_its_owner_is_asked_again() -> None:
    refusals = {20: frozenset("a")}
    for others in ({}, {"b": BUSY._replace(draining=True)}, {"b": BUSY._replace(decommissioned=True)}):
        (action,) = plan(ClusterSnapshot([TABLET], {"a": IDLE, **others}, refusals=refusals))
        assert isinstance(action, Load)


def test_whoever_failed_it_gets_a_tablet_without_owner_only_when_nobody_else_can() -> None:
    tablets = [TabletRecord(16, 20, EVERY_ROW, 0)]
    (action,) = plan(ClusterSnapshot(tablets, {"a": IDLE, "b": BUSY}, refusals={20: frozenset("a")}))
    assert (type(action), action.server) == (Assign, "b")
    (action,) = plan(ClusterSnapshot(tablets, {"a": IDLE}, refusals={20: frozenset("a")}))
    assert (type(action), action.server) == (Assign, "a")


def test_a_server_on_which_load_after_load_fails_comes_last_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    now = 1.0
    loads = FailedLoads(lambda: now)
    for tablet_id in range(20, 20 + TRIES):
        assert not loads.struggling()
        assert not caplog.messages
        loads.failed(tablet_id, "a", "no memory")
    assert loads.struggling() == frozenset("a")
    (said,) = caplog.messages
    assert "3 loads in a row failed on a" in said
    assert said.endswith("the last was of tablet 22: no memory")
    loads.failed(30, "a", "no memory")
    assert len(caplog.messages) == 1, "not once more for each"
    loads.loaded(40, "a")
    assert not loads.struggling(), "it was one tablet's fault, or is over"
    fail(loads, "a")
    now += REST_SECONDS
    assert not loads.struggling()
    idle = IDLE._replace(struggling=True)
    tablets = [TabletRecord(16, 20, EVERY_ROW, 0)]
    assert plan(ClusterSnapshot(tablets, {"a": idle, "b": BUSY}))[0].server == "b"
    assert plan(ClusterSnapshot(tablets, {"a": idle, "b": BUSY._replace(draining=True)}))[0].server == "a"
