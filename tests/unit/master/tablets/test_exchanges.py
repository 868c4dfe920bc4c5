"""Tablets that change places: the cost falls with each change, it comes to an end, and a table is spread."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hbtable.master.tablets.exchanges import Exchanges, plan_exchanges
from hbtable.master.tablets.placement_cost import LEAST, PlacementCost
from hbtable.master.tablets.server_load import TabletLoad
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord

SERVERS = "abcde"
BUSY = LEAST.reads


def tablet(tablet_id: int, owner: str, table_id: int = 16) -> TabletRecord:
    return TabletRecord(table_id, tablet_id, RowRange(b"%06d" % tablet_id, b"%06dz" % tablet_id), 0, owner)


def planned(
    tablets: list[TabletRecord],
    loads: Mapping[int, TabletLoad] | None = None,
    resting: tuple[int, ...] = (),
    most: int = 100,
    servers: str = SERVERS,
) -> Exchanges:
    counts = {name: sum(one.owner == name for one in tablets) for name in servers}
    return plan_exchanges(tablets, counts, loads or {}, resting, most)


def moved(tablets: list[TabletRecord], plan: Exchanges) -> list[TabletRecord]:
    """The tablets after it."""
    owners = {change.record.tablet_id: change.target for change, _ in plan.changes}
    owners |= {change.back.tablet_id: change.record.owner for change, _ in plan.changes if change.back}
    assert len(owners) == sum(2 if change.back else 1 for change, _ in plan.changes), "each moves once in a plan"
    return [replace(one, owner=owners.get(one.tablet_id, one.owner)) for one in tablets]


def total(tablets: list[TabletRecord], loads: Mapping[int, TabletLoad], servers: str = SERVERS) -> float:
    return PlacementCost(tablets, servers, loads).total()


def reads(tablets: list[TabletRecord], loads: Mapping[int, TabletLoad]) -> Counter[str]:
    found: Counter[str] = Counter()
    for one in tablets:
        found[one.owner] += int(loads[one.tablet_id].reads)
    return found


def test_the_tablets_of_a_table_leave_the_server_that_has_them_all() -> None:
    tablets = [tablet(n, "a", 17) for n in range(100, 103)] + [tablet(n, "bc"[n % 2], 18) for n in range(200, 206)]
    plan = planned(tablets, servers="abc")
    after = moved(tablets, plan)
    assert Counter(one.owner for one in after) == {"a": 3, "b": 3, "c": 3}
    assert {one.owner for one in after if one.table_id == 17} == {"a", "b", "c"}
    assert "3 and 0 tablets of its table" in plan.changes[0][1]
    assert planned(after, servers="abc") == Exchanges([], "")


def test_hot_tablets_of_one_server_are_exchanged_for_cold_ones() -> None:
    tablets = [tablet(100 + n, SERVERS[n % 5], 16 + n) for n in range(50)]
    hot = [one.tablet_id for one in tablets if one.owner == "a"][:5]
    loads = {one.tablet_id: TabletLoad(1000.0 if one.tablet_id in hot else 1.0, 0.0, 0) for one in tablets}
    plan = planned(tablets, loads)
    after = moved(tablets, plan)
    found = reads(after, loads)
    assert max(found.values()) < 1.5 * min(found.values()), found
    assert len(plan.changes) == 4
    assert "reads/s" in plan.changes[0][1]
    assert planned(after, loads) == Exchanges([], "")


def test_one_tablet_that_has_all_the_requests_stays_and_it_is_said() -> None:
    tablets = [tablet(100 + n, SERVERS[n % 5], 16 + n) for n in range(10)]
    loads = {one.tablet_id: TabletLoad(0.0, 5000.0 if one.tablet_id == 100 else 1.0, 0) for one in tablets}
    plan = planned(tablets, loads)
    assert not plan.changes
    assert plan.rests.startswith("a has 5.0 times the writes of a server in the mean")


def test_little_load_and_small_differences_move_nothing() -> None:
    tablets = [tablet(100 + n, SERVERS[n % 5], 16 + n) for n in range(50)]
    little = {one.tablet_id: TabletLoad(BUSY * 2, 0.0, 0) for one in tablets if one.tablet_id == 100}
    assert planned(tablets, little) == Exchanges([], "")
    even = {one.tablet_id: TabletLoad(1000.0 + (200.0 if one.owner == "a" else 0), 0.0, 0) for one in tablets}
    assert planned(tablets, even) == Exchanges([], "")


def test_what_moved_lately_stays_and_so_does_metadata() -> None:
    tablets = [tablet(100 + n, "ab"[n % 2], 16 + n) for n in range(8)]
    mine = [one.tablet_id for one in tablets if one.owner == "a"]
    loads = {one.tablet_id: TabletLoad(1000.0 if one.owner == "a" else 0.0, 0.0, 0) for one in tablets}
    plan = planned(tablets, loads, tuple(mine[:3]), servers="ab")
    assert {change.record.tablet_id for change, _ in plan.changes} == {mine[3]}
    of_metadata = [replace(one, table_id=METADATA_TABLE_ID) if one.owner == "a" else one for one in tablets]
    assert not planned(of_metadata, loads, servers="ab").changes


def test_a_plan_is_the_same_each_time_and_no_longer_than_it_may_be() -> None:
    tablets = [tablet(100 + n, "a" if n % 2 else SERVERS[n % 5], 16 + n % 7) for n in range(60)]
    loads = {one.tablet_id: TabletLoad(one.tablet_id * 10.0, 0.0, 0) for one in tablets}
    plan = planned(tablets, loads, most=3)
    assert len(plan.changes) == 3
    assert planned(tablets, loads, most=3) == plan
    assert planned(tablets[::-1], loads, most=3) == plan


def test_an_exchange_for_the_table_of_the_other_one_alone_says_so() -> None:
    """Its reasons were none, in the log and in the tablet's history."""
    reads = {100: 300.0, 102: 100.0, 103: 300.0, 106: 100.0}
    owners = {100: "b", 101: "a", 102: "a", 103: "a", 104: "a", 105: "b", 106: "b"}
    tablets = [tablet(number, owner, 17 if number in (101, 104) else 16) for number, owner in owners.items()]
    plan = planned(tablets, {number: TabletLoad(reads.get(number, 0.0), 0.0, 0) for number in owners}, servers="ab")
    assert [why for _, why in plan.changes] == [
        "tablet 105 goes from b to a, and tablet 101 back: they have 0 and 2 tablets of the other's table"
    ]


def assert_reasons(plan: Exchanges) -> None:
    """Operators read them in the log and in a tablet's history."""
    assert not [why for _, why in plan.changes if why.endswith("they have ")]


amounts = st.sampled_from([0.0, 1.0, 40.0, 300.0, 5000.0])
places = st.lists(
    st.tuples(st.sampled_from(SERVERS), st.integers(16, 20), amounts, amounts, st.sampled_from([0, 1 << 20, 1 << 32])),
    max_size=40,
)


@given(places, st.integers(1, 5))
def test_the_cost_falls_with_every_plan_until_there_is_none(
    found: list[tuple[str, int, float, float, int]], most: int
) -> None:
    tablets = [tablet(100 + n, server, table) for n, (server, table, *_) in enumerate(found)]
    loads = {100 + n: TabletLoad(*load) for n, (_, _, *load) in enumerate(found)}
    before = total(tablets, loads)
    for _ in range(500):
        numbers = Counter(one.owner for one in tablets)
        plan = planned(tablets, loads, most=most)
        assert len(plan.changes) <= most
        assert_reasons(plan)
        if not plan.changes:
            break
        tablets = moved(tablets, plan)
        after = total(tablets, loads)
        assert after < before
        before = after
        spread = max(numbers[name] for name in SERVERS) - min(numbers[name] for name in SERVERS)
        now = Counter(one.owner for one in tablets)
        assert max(now[name] for name in SERVERS) - min(now[name] for name in SERVERS) <= max(spread, 1)
    else:
        raise AssertionError("it never rests")


@given(st.lists(st.integers(16, 22), min_size=5, max_size=60), st.randoms(use_true_random=False))
def test_no_server_keeps_more_of_a_table_than_its_share(tables: list[int], chance: st.DataObject) -> None:
    """All servers have as many tablets, and none is busy."""
    tables = sorted(tables[: len(tables) // 5 * 5])
    tablets = [tablet(100 + n, SERVERS[n * 5 // len(tables)], table) for n, table in enumerate(tables)]
    for _ in range(100):
        plan = planned(tablets)
        assert_reasons(plan)
        if not plan.changes:
            break
        tablets = moved(tablets, plan)
    cost = PlacementCost(tablets, SERVERS, {})
    assert all(max(numbers.values()) <= cost.shares[table] for table, numbers in cost.of_tables.items())
