"""The assignment planner: order of levels, choice of server, reasons."""

from hbtable.master.tablets.assignment import Assign, ClusterSnapshot, Load, Reassign, plan
from hbtable.master.tablets.server_load import ServerLoad
from hbtable.model.ranges import EVERY_ROW
from hbtable.model.tablet import TabletRecord


def record(tablet_id: int, owner: str = "", table_id: int = 16) -> TabletRecord:
    return TabletRecord(table_id, tablet_id, EVERY_ROW, 0, owner)


ROOT = record(1, table_id=0)
META = record(2, table_id=0)


def servers(**served: set[int]) -> dict[str, ServerLoad]:
    return {name: ServerLoad(frozenset(ids)) for name, ids in served.items()}


def test_without_servers_nothing_can_be_done() -> None:
    assert plan(ClusterSnapshot([ROOT], {})) == []


def test_root_then_metadata_then_users() -> None:
    live = servers(a=set())
    assert [one.record.tablet_id for one in plan(ClusterSnapshot([record(20), META, ROOT], live))] == [1]
    served_root = record(1, "a", 0)
    live = servers(a={1})
    assert [one.record.tablet_id for one in plan(ClusterSnapshot([record(20), META, served_root], live))] == [2]


def test_served_tablets_stay() -> None:
    assert plan(ClusterSnapshot([record(20, "a")], servers(a={20}, b=set()))) == []


def test_a_dead_owners_tablets_go_to_the_server_with_the_fewest() -> None:
    actions = plan(
        ClusterSnapshot([record(20, "dead"), record(21, "dead"), record(22, "dead")], servers(a={9}, b=set()))
    )
    assert [(type(one), one.server) for one in actions] == [(Assign, "b"), (Assign, "a"), (Assign, "b")]
    assert actions[0].why == "tablet 20 goes to b because its owner dead is dead"


def test_a_new_table_is_spread_over_all_servers_though_one_has_both_tablets_of_metadata() -> None:
    for fullest in "abc":
        live = servers(**{name: {1, 2} if name == fullest else set() for name in "abc"})
        actions = plan(ClusterSnapshot([record(tablet_id) for tablet_id in range(20, 26)], live))
        assert {one.server for one in actions} == {"a", "b", "c"}, fullest


def test_equals_with_fewer_tablets_of_the_same_table_come_first() -> None:
    tablets = [record(20, "a"), record(21, "b", table_id=17), record(22)]
    assert [one.server for one in plan(ClusterSnapshot(tablets, servers(a={20}, b={21})))] == ["b"]
    tablets = [record(20, "a", table_id=17), record(21, "b"), record(22)]
    assert [one.server for one in plan(ClusterSnapshot(tablets, servers(a={20}, b={21})))] == ["a"]


def test_bytes_decide_between_equals() -> None:
    live = {"a": ServerLoad(frozenset({9}), 10), "b": ServerLoad(frozenset({8}), 5)}
    assert [one.server for one in plan(ClusterSnapshot([record(20)], live))] == ["b"]


def test_a_living_owner_that_does_not_serve_is_asked_again_and_nothing_is_written() -> None:
    actions = plan(ClusterSnapshot([record(20, "a")], servers(a=set(), b=set())))
    assert actions == [Load(record(20, "a"), "a", "a owns tablet 20 but does not serve it")]


def test_a_silent_server_keeps_its_tablets() -> None:
    snapshot = ClusterSnapshot([record(20, "quiet"), record(21, "dead")], servers(a=set()), frozenset({"quiet"}))
    assert [one.record.tablet_id for one in plan(snapshot)] == [21]


def test_a_draining_server_gets_nothing_new_and_gives_up_by_itself() -> None:
    live = {"a": ServerLoad(frozenset({20}), draining=True), "b": ServerLoad(frozenset())}
    tablets = [record(20, "a"), record(21, "a"), record(22)]
    assert [(one.record.tablet_id, one.server) for one in plan(ClusterSnapshot(tablets, live))] == [(22, "b")]
    assert plan(ClusterSnapshot(tablets, {"a": live["a"]})) == []


def test_a_decommissioned_server_gets_nothing_new_and_serves_what_it_was_given() -> None:
    live = {"a": ServerLoad(frozenset({20}), decommissioned=True), "b": ServerLoad(frozenset({1, 2, 3}))}
    tablets = [record(20, "a"), record(21, "a"), record(22), record(23, "dead")]
    found = [(type(one), one.record.tablet_id, one.server) for one in plan(ClusterSnapshot(tablets, live))]
    assert found == [(Load, 21, "a"), (Assign, 22, "b"), (Assign, 23, "b")], "who may be loading it is not passed over"
    assert [one.record.tablet_id for one in plan(ClusterSnapshot(tablets, {"a": live["a"]}))] == [21]


def test_metadata_goes_to_a_server_that_is_stopping_rather_than_to_none_and_users_tablets_do_not() -> None:
    done = ServerLoad(frozenset({1}), draining=True)
    busy = ServerLoad(frozenset({21, 22}), draining=True, user_tablets=2)
    tablets = [record(1, "b", 0), META, record(20)]
    live = {"a": busy, "b": done}
    assert [(one.record.tablet_id, one.server) for one in plan(ClusterSnapshot(tablets, live))] == [(2, "a")]
    live["c"] = ServerLoad(frozenset(range(30, 40)))
    assert [(one.record.tablet_id, one.server) for one in plan(ClusterSnapshot(tablets, live))] == [(2, "c")]
    assert plan(ClusterSnapshot(tablets, {"b": done})) == [], "it has nothing that needs METADATA"
    assert plan(ClusterSnapshot([record(20)], {"a": busy})) == []
    keeps = ServerLoad(frozenset({2}), draining=True)
    found = plan(ClusterSnapshot([record(1, "", 0), META], {"a": keeps, "b": ServerLoad(frozenset(), draining=True)}))
    assert [(one.record.tablet_id, one.server) for one in found] == [(1, "a")], (
        "to give METADATA's others up it is needed"
    )


def test_metadata_that_a_stopping_owner_does_not_serve_is_taken_from_it() -> None:
    stops = ServerLoad(frozenset({20}), draining=True, user_tablets=1)
    tablets = [record(1, "b", 0), record(2, "a", 0), record(20, "a")]
    live = {"a": stops, "b": ServerLoad(frozenset({1}))}
    (action,) = plan(ClusterSnapshot(tablets, live))
    assert (type(action), action.record.tablet_id, action.server) == (Reassign, 2, "b")
    assert action.why == "METADATA tablet 2 goes to b because its owner a stops and does not serve it"
    (action,) = plan(ClusterSnapshot([record(1, "a", 0)], live))
    assert (type(action), action.record.tablet_id, action.server) == (Reassign, 1, "b")


def test_metadata_that_nobody_else_takes_is_asked_for_again_where_it_is_needed() -> None:
    busy = ServerLoad(frozenset({20}), draining=True, user_tablets=1)
    done = ServerLoad(frozenset({1}), draining=True)
    tablets = [record(1, "b", 0), record(2, "a", 0)]
    found = [(type(one), one.server) for one in plan(ClusterSnapshot(tablets, {"a": busy, "b": done}))]
    assert found == [(Load, "a")]
    tablets = [record(1, "b", 0), record(2, "b", 0)]
    found = [(type(one), one.server) for one in plan(ClusterSnapshot(tablets, {"a": busy, "b": done}))]
    assert found == [(Reassign, "a")]
    assert plan(ClusterSnapshot(tablets, {"b": done})) == [], "nobody has anything to give up"
