"""Where the tablets of decommissioned servers go, and in which order."""

from hbtable.master.servers.decommissions import departures
from hbtable.model.tablet import METADATA_TABLE_ID
from tests.unit.master.tablets.test_balancing import loads, tablet

LEAVING = {"decommissioned": True, "leaving": True}
ROOT, META = tablet(1, "a", METADATA_TABLE_ID), tablet(2, "a", METADATA_TABLE_ID)


def test_the_root_tablet_goes_last_and_the_others_are_spread():
    tablets = [ROOT, META, *(tablet(n, "a") for n in range(20, 24)), tablet(30, "b")]
    moves = departures(tablets, loads(tablets, "abc", a=LEAVING))
    assert [move.record.tablet_id for move in moves] == [20, 21, 22, 23, 2, 1]
    assert [move.target for move in moves] == ["c", "b", "c", "b", "c", "b"]


def test_only_what_a_leaving_server_serves_goes_and_only_where_tablets_are_taken():
    tablets = [tablet(20, "a"), tablet(21, "b"), tablet(22, "c"), tablet(23, "a"), tablet(24, "dead")]
    servers = loads(tablets, "abc", a=LEAVING, c={"decommissioned": True})
    servers["a"] = servers["a"]._replace(tablet_ids=frozenset({20}))
    assert [(move.record.tablet_id, move.target) for move in departures(tablets, servers)] == [(20, "b")]
    assert departures(tablets, {name: servers[name] for name in "ac"}) == []
    servers["a"] = servers["a"]._replace(draining=True)
    assert departures(tablets, servers) == [], "it unloads them by itself"
