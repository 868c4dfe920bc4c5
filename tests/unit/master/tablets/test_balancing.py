"""Which tablets should change servers: even in the end, never while the cluster is not calm."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hbtable.master.tablets.balancing import plan_moves
from hbtable.master.tablets.server_load import ServerLoad
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord


def tablet(tablet_id, owner, table_id=16):
    return TabletRecord(table_id, tablet_id, RowRange(b"%d" % tablet_id, b"%dz" % tablet_id), 1, owner)


def loads(tablets, servers, **changed):
    found = {name: ServerLoad(frozenset(one.tablet_id for one in tablets if one.owner == name)) for name in servers}
    return {name: load._replace(**changed.get(name, {})) for name, load in found.items()}


def test_a_server_that_joins_gets_tablets_of_every_table():
    tablets = [tablet(n, "a", 16 + n // 4) for n in range(8)]
    moves = plan_moves(tablets, loads(tablets, "ab"), frozenset(), 100)
    assert [move.target for move in moves] == ["b"] * 4
    assert sorted(move.record.table_id for move in moves) == [16, 16, 17, 17]


def test_an_even_cluster_is_left_alone():
    tablets = [tablet(n, "ab"[n % 2]) for n in range(7)]
    assert plan_moves(tablets, loads(tablets, "ab"), frozenset(), 100) == []
    assert plan_moves([tablet(1, "a")], loads([tablet(1, "a")], "a"), frozenset(), 100) == []


def test_nothing_moves_while_the_cluster_is_not_calm():
    tablets = [tablet(n, "a") for n in range(8)]
    assert plan_moves(tablets, loads(tablets, "ab"), frozenset("c"), 100) is None
    assert plan_moves(tablets, loads(tablets, "ab", b={"draining": True}), frozenset(), 100) is None
    for unplaced in (tablet(99, ""), tablet(99, "dead"), tablet(99, "a")):
        assert plan_moves([*tablets, unplaced], loads(tablets, "ab"), frozenset(), 100) is None


def test_metadatas_tablets_count_but_stay():
    tablets = [tablet(n, "a", METADATA_TABLE_ID) for n in range(1, 4)]
    assert plan_moves(tablets, loads(tablets, "ab"), frozenset(), 100) == []
    tablets += [tablet(n, "b") for n in range(10, 14)]
    assert plan_moves(tablets, loads(tablets, "ab"), frozenset(), 100) == []


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(16, 19)), max_size=40), st.integers(1, 5))
def test_rounds_come_to_an_end_with_servers_even(places, most):
    tablets = [tablet(n, "abcde"[server], table) for n, (server, table) in enumerate(places)]
    for _ in range(len(tablets) + 1):
        moves = plan_moves(tablets, loads(tablets, "abcde"), frozenset(), most)
        assert len(moves) <= most
        for move in moves:
            tablets[tablets.index(move.record)] = replace(move.record, owner=move.target)
        if not moves:
            break
    counts = [sum(one.owner == name for one in tablets) for name in "abcde"]
    assert max(counts) - min(counts) < 2
