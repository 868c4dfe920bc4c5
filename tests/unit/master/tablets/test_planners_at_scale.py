"""What a planner does for one tablet does not grow with the number of servers and tablets. Work is counted in calls of
functions, never timed."""

import sys
from collections.abc import Callable

import pytest

from hbtable.master.servers.decommissions import departures
from hbtable.master.servers.server_reports import ServerReports
from hbtable.master.tablets.assignment import ClusterSnapshot, plan
from hbtable.master.tablets.balancing import plan_moves
from hbtable.master.tablets.exchanges import Exchanges, plan_exchanges
from hbtable.master.tablets.handovers import targets
from hbtable.master.tablets.server_load import ServerLoad, TabletLoad
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import TabletRecord
from tests.harness.tiers import long_marks

FEW, MANY = 20, 640
"""Servers."""
EACH = 20
"""Tablets of a server."""
TABLES = 10


def cluster(servers: int, each: int) -> tuple[list[TabletRecord], dict[str, ServerLoad]]:
    """Every server has as many tablets; of each table as many, or one less."""
    names = [f"server{number:06d}" for number in range(servers)]
    tablets, served = [], {}
    for number, name in enumerate(names):
        ids = range(100 + number * each, 100 + (number + 1) * each)
        served[name] = ServerLoad(frozenset(ids), user_tablets=each)
        tablets += [
            TabletRecord(16 + one % TABLES, one, RowRange(b"%012d" % one, b"%012d" % (one + 1)), 0, name) for one in ids
        ]
    return tablets, served


def calls(work: Callable[[], object]) -> int:
    """How many functions are called."""
    count = 0

    def seen(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def start_of_all(servers: int, each: int) -> tuple[int, int]:
    """Nobody owns anything."""
    tablets, served = cluster(servers, each)
    unowned = [_without_owner(one) for one in tablets]
    empty = {name: ServerLoad(frozenset()) for name in served}
    found = []
    count = calls(lambda: found.extend(plan(ClusterSnapshot(unowned, empty))))
    given = dict.fromkeys(served, 0)
    for action in found:
        given[action.server] += 1
    assert set(given.values()) == {each}
    return count, len(found)


def death_of_a_tenth(servers: int, each: int) -> tuple[int, int]:
    tablets, served = cluster(servers, each)
    for name in sorted(served)[: servers // 10]:
        del served[name]
    found = []
    count = calls(lambda: found.extend(plan(ClusterSnapshot(tablets, served))))
    assert len(found) == servers // 10 * each
    return count, len(tablets)


def new_servers(servers: int, each: int) -> tuple[int, int]:
    """A twentieth more: each gets its share."""
    tablets, served = cluster(servers, each)
    fresh = [f"server9{number:06d}" for number in range(servers // 20)]
    served |= {name: ServerLoad(frozenset()) for name in fresh}
    found = []
    count = calls(lambda: found.extend(plan_moves(tablets, served, frozenset(), len(tablets)) or []))
    share = len(tablets) // len(served)
    assert len(found) >= share * len(fresh)
    assert {move.target for move in found} == set(fresh)
    return count, len(tablets)


def a_tenth_leaves(servers: int, each: int) -> tuple[int, int]:
    tablets, served = cluster(servers, each)
    for name in sorted(served)[: servers // 10]:
        served[name] = served[name]._replace(decommissioned=True, leaving=True)
    found = []
    count = calls(lambda: found.extend(departures(tablets, served)))
    assert len(found) == servers // 10 * each
    return count, len(tablets)


def a_tenth_stops(servers: int, each: int) -> tuple[int, int]:
    tablets, served = cluster(servers, each)
    stopping = set(sorted(served)[: servers // 10])
    for name in stopping:
        served[name] = served[name]._replace(draining=True)
    mine = [one for one in tablets if one.owner in stopping]
    found = []
    count = calls(lambda: found.extend(targets(mine, ServerReports(served, frozenset()))))
    assert len(found) == len(mine)
    return count, len(tablets)


def _without_owner(tablet: TabletRecord) -> TabletRecord:
    return TabletRecord(tablet.table_id, tablet.tablet_id, tablet.range, 0)


def nothing_to_do(servers: int, each: int) -> tuple[int, int]:
    """Everything is served, and evenly."""
    tablets, served = cluster(servers, each)
    snapshot = ClusterSnapshot(tablets, served)
    counts, loads = dict.fromkeys(served, each), {one.tablet_id: TabletLoad(9.0, 9.0, 1 << 25) for one in tablets}

    def every_plan() -> None:
        plan(snapshot)
        plan_moves(tablets, served, frozenset(), 1000)
        departures(tablets, served)
        assert plan_exchanges(tablets, counts, loads, (), 16) == Exchanges([], "")

    return calls(every_plan), len(tablets)


CASES = [start_of_all, death_of_a_tenth, new_servers, a_tenth_leaves, a_tenth_stops, nothing_to_do]


@pytest.mark.parametrize("case", CASES)
def test_the_work_for_a_tablet_stays(case: Callable[[int, int], tuple[int, int]]) -> None:
    grows_at_most_twice(case, (FEW, EACH), (MANY, EACH))


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=long_marks(f"plans for a million tablets: {case.__name__}")) for case in CASES]
)
def test_the_work_for_a_tablet_stays_up_to_a_million_on_a_thousand_servers(
    case: Callable[[int, int], tuple[int, int]],
) -> None:
    each = 250 if case is start_of_all else 1000  # a decision for every tablet takes minutes on a busy machine
    grows_at_most_twice(case, (20, 50), (1000, each))


def grows_at_most_twice(
    case: Callable[[int, int], tuple[int, int]], small: tuple[int, int], large: tuple[int, int]
) -> None:
    few, tablets_of_few = case(*small)
    many, tablets_of_many = case(*large)
    growth = (many / tablets_of_many) / (few / tablets_of_few)
    assert growth <= 2, f"{few} calls for {tablets_of_few} tablets, {many} for {tablets_of_many}: {growth:.1f} times"
