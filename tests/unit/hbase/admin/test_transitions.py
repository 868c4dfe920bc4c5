"""What rit and the lists of dead and unknown servers say of rows and servers as they stand."""

from dataclasses import replace

import pytest

from hbtable.hbase.admin.transitions import dead_servers, transitions, unknown_servers
from hbtable.model.ranges import RowRange
from hbtable.model.table import TableState
from hbtable.model.tablet import METADATA_TABLE_ID, NO_LOG, LogRef, MergesInto, TabletRecord

TABLES = {16: TableState.ENABLED, 17: TableState.DISABLED, 18: TableState.DISABLING, 19: TableState.ENABLING}


def tablet(owner: str = "", table: int = 16, *logs: str, merges: bool = False) -> TabletRecord:
    into = MergesInto(b"z", 99, 1) if merges else None
    refs = tuple(LogRef(name, 5) for name in logs)
    return TabletRecord(table, 20, RowRange(b"a", b"m"), 7, owner, 3, logs=refs, merges_into=into)


@pytest.mark.parametrize(
    ("record", "state"),
    [
        (tablet("serves"), None),
        (tablet("silent"), None),
        (tablet("idle"), "OPENING"),
        (tablet("dead"), "ABNORMALLY_CLOSED"),
        (tablet(), "OFFLINE"),
        (tablet(merges=True), "MERGING"),
        (tablet(table=17), None),
        (tablet("serves", 18), "CLOSING"),
        (tablet("", 18), None),
        (tablet("idle", 19), "OPENING"),
        (tablet(table=METADATA_TABLE_ID), "OFFLINE"),
        (tablet("dead", METADATA_TABLE_ID), "ABNORMALLY_CLOSED"),
        (tablet("dead", 77), None),
        (replace(tablet("idle"), withheld_millis=5), "OFFLINE"),
    ],
)
def test_each_state_has_its_word(record: TabletRecord, state: str | None) -> None:
    found = transitions([record], TABLES, {"serves", "idle", "silent"}, {"serves": {20}, "idle": {21}})
    assert [one.state for one in found] == ([state] if state else [])


def test_servers_that_are_gone_are_dead_while_their_log_is_needed_and_unknown_without_one() -> None:
    records = [tablet("a", 16, "a", "old"), tablet("b", 16, NO_LOG), tablet("old", 16, "older", "old"), tablet("odd")]
    dead = dead_servers(records, {"a", "b"})
    assert dead == ["old", "older"]
    assert unknown_servers(records, {"a", "b"}, dead) == ["odd"]
    assert dead_servers(records, {"a", "b", "old", "older"}) == []
