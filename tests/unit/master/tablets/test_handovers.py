"""Which tablets of servers that stop are handed over, and to whom."""

from hbtable.master.servers.server_reports import ServerReports
from hbtable.master.tablets.handovers import given_up, targets, to_hand_over
from hbtable.master.tablets.server_load import ServerLoad
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord


def tablet(number: int, owner: str, table_id: int = 7) -> TabletRecord:
    return TabletRecord(table_id, number, RowRange(b"%d" % number, b"%d" % (number + 1)), 0, owner=owner, generation=3)


def load(*tablets: TabletRecord, draining: bool = False, decommissioned: bool = False) -> ServerLoad:
    return ServerLoad(frozenset(one.tablet_id for one in tablets), 0, draining, decommissioned)


MINE = [tablet(number, "stops") for number in range(100, 106)]
OTHERS = [tablet(number, "a") for number in range(106, 110)]


def reports(**loads: ServerLoad) -> ServerReports:
    return ServerReports(loads, frozenset())


def test_what_a_stopping_server_serves_goes_and_nothing_else() -> None:
    gone, of_metadata = tablet(120, "stops"), tablet(121, "stops", METADATA_TABLE_ID)
    seen = reports(stops=load(*MINE, of_metadata, draining=True), a=load(*OTHERS), b=load())
    assert to_hand_over([*MINE, *OTHERS, gone, of_metadata], seen) == MINE
    assert given_up([*MINE, *OTHERS, gone, tablet(122, "silent")], seen) == [gone]


def test_nothing_goes_while_nobody_takes_it() -> None:
    stopping = load(*MINE, draining=True)
    assert to_hand_over(MINE, reports(stops=stopping)) == []
    assert to_hand_over(MINE, reports(stops=stopping, a=load(draining=True), b=load(decommissioned=True))) == []


def test_they_go_to_the_servers_with_the_fewest_and_keep_their_records() -> None:
    seen = reports(stops=load(*MINE, draining=True), a=load(*OTHERS), b=load())
    found = targets(MINE, seen)
    assert [record for record, _ in found] == MINE
    given = [server for _, server in found]
    assert (given.count("a"), given.count("b")) == (1, 5), "the two have as many in the end, within one"
    assert targets([], seen) == []
