"""A clock that was ahead is set back: no later operation of a row loses against an earlier one by that."""

import random
from collections import defaultdict
from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import given

from hbtable.encoding.cell_key import Pair, cell_key, parse
from hbtable.errors import LimitExceeded
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_VERSION, PUT, RowMutation
from hbtable.model.read import ReadSpec
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.compactions import set_back
from hbtable.tablet.compactions.set_back import LATEST_MILLIS, moved
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench, put

MINUTE = 60_000

CELLS = st.tuples(
    st.sampled_from([b"a", b"b"]),
    st.sampled_from([b"f", b"g"]),
    st.sampled_from([b"", b"q", b"r"]),
    st.integers(0, 9000),
    st.sampled_from([PUT, PUT, DELETE_COLUMN, DELETE_VERSION, DELETE_FAMILY]),
    st.integers(0, 50),
)


@given(st.lists(CELLS, max_size=40, unique=True), st.integers(0, 8000), st.integers(0, 9000))
def test_what_comes_out_has_the_order_of_what_went_in(
    cells: list[tuple[bytes, bytes, bytes, int, int, int]], now: int, lead: int
) -> None:
    highest = now + lead
    keys = {
        cell_key(row, family, b"" if kind == DELETE_FAMILY else qualifier, time, kind, sequence)
        for row, family, qualifier, time, kind, sequence in cells
    }
    pairs: list[Pair] = [(key, b"%d" % place) for place, key in enumerate(sorted(keys))]
    found = list(moved(iter(pairs), now, highest))
    assert [key for key, _ in found] == sorted(key for key, _ in found)
    assert [value for _, value in found] == [value for _, value in pairs]
    marked = {parse(key)[:2] for key, _ in pairs if parse(key)[4] == DELETE_FAMILY}
    times: dict[tuple[bytes, ...], dict[int, int]] = defaultdict(dict)
    for (before, _), (after, _) in zip(pairs, found, strict=True):
        row, family, qualifier, old, *others = parse(before)
        new = parse(after)[3]
        assert parse(after) == (row, family, qualifier, new, *others)
        unit = (row, family) if (row, family) in marked else (row, family, qualifier)
        assert times[unit].setdefault(old, new) == new, "cells of one time have two now"
    for unit in times.values():
        assert sorted(unit.values()) == [unit[old] for old in sorted(unit)]
        assert len(set(unit.values())) == len(unit), "two times became one"
        given_by_servers = [old for old in unit if old <= highest]
        assert all(unit[old] == old for old in unit if old > highest)
        if given_by_servers and (newest := max(given_by_servers)) > now:
            assert all(unit[old] == old for old in given_by_servers if old <= now), "what was right was moved"
            assert all(old - lead <= unit[old] <= old for old in given_by_servers)
            assert unit[newest] <= now + len(unit)
        else:
            assert all(unit[old] == old for old in unit)


def visible(tablet: Tablet) -> dict[bytes, list[tuple[bytes, bytes]]]:
    """All versions, the newest first, without their times."""
    found = tablet.read_rows((b"a", b"b"), ReadSpec(max_versions=100))
    return {row: [(column, value) for column, _, value in cells] for row, cells in found}


@pytest.mark.parametrize("regrouped", [True, False])
@pytest.mark.parametrize("flushed", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_what_is_seen_after_a_set_back_is_what_was_seen_before(seed: int, flushed: bool, regrouped: bool) -> None:
    """The clock is ahead for about twice as long as its lead."""
    chance = random.Random(seed)
    families = {name: FamilySchema(name, max_versions=100) for name in (b"f", b"g")}
    bench = Bench(seed, schema=TableSchema(b"t", families))
    lead = chance.randrange(6, 12) * MINUTE
    seen = {}

    def change(tablet: Tablet, number: int) -> None:
        kind = chance.choice((PUT, PUT, PUT, DELETE_COLUMN, DELETE_FAMILY))
        qualifier = b"" if kind == DELETE_FAMILY else chance.choice((b"", b"q"))
        operation = (kind, chance.choice((b"f", b"g")), qualifier, SERVER_TIME, b"%d" % number if kind == PUT else b"")
        tablet.mutate([RowMutation(chance.choice((b"a", b"b")), [operation])])

    def wrong() -> None:
        tablet = bench.open()
        for number in range(40):
            change(tablet, number)
            if flushed and chance.random() < 0.1:
                tablet.flush()
            if regrouped and number == 25:
                grouped = {name: replace(family, locality_group="x") for name, family in families.items()}
                bench.schema = tablet.schema = TableSchema(b"t", grouped, 2)
            bench.runtime.sleep(chance.choice((0.0, 0.001, chance.random() * lead / 3000)))
        seen.update(visible(tablet))
        tablet.mutate([put(b"other", b"f:q", b"v")])  # now, so that the tablet is far enough ahead
        if flushed:
            tablet.flush()

    def right() -> None:
        bench.crash()
        bench.options = replace(TabletOptions(), set_back_clocks=True)
        tablet = bench.open()
        assert tablet.clock_ahead_millis <= LATEST_MILLIS + 1
        assert visible(tablet) == seen

    bench.runtime.wall_offset_millis = lead
    bench.run(wrong)
    bench.runtime.wall_offset_millis = 0
    bench.run(right)


def test_what_would_have_to_be_held_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_back, "_MOST_HELD_BYTES", 1000)
    columns = [(cell_key(b"r", b"f", b"%03d" % number, 7000, PUT, 1), b"v" * 20) for number in range(100)]
    assert len(list(moved(columns, 6000, 8000))) == 100
    with pytest.raises(LimitExceeded, match="b'r' has more than"):
        list(moved([(cell_key(b"r", b"f", b"", 6500, DELETE_FAMILY, 2), b""), *columns], 6000, 8000))
