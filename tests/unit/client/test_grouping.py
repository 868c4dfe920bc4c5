"""Puts in columns are divided among tablets as a list of the same mutations is, and a row's changes stay together."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from hbtable.client.grouping import mutations_by_tablet, mutations_within
from hbtable.errors import InvalidRequest
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import RowMutation
from hbtable.model.put_batch import PutBatch
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import TabletRecord

BOUNDS = [b"", b"c", b"m", b""]
TABLETS = [
    TabletRecord(table_id=9, tablet_id=number, range=RowRange(start, stop), created_millis=0)
    for number, (start, stop) in enumerate(pairwise(BOUNDS))
]


def find(table_id: int, row: bytes) -> TabletRecord:
    return next(one for one in TABLETS if one.range.start <= row and (not one.range.stop or row < one.range.stop))


def rows_and_values(groups: Sequence[Sequence[RowMutation]]) -> list[list[tuple[bytes, object]]]:
    return [[(one.row, one.operations) for one in group] for group in groups]


@pytest.mark.parametrize("seed", range(20))
def test_puts_are_divided_as_their_mutations(seed: int) -> None:
    choose = random.Random(seed)
    rows = [choose.choice((b"a", b"b", b"c", b"d", b"m", b"z")) for _ in range(choose.randrange(1, 12))]
    puts = PutBatch(b"f", b"q", SERVER_TIME, rows, [b"%d" % number for number in range(len(rows))])
    groups = mutations_by_tablet(find, 9, puts)
    within = [mutations_within(puts, one) for one in TABLETS]
    assert puts.in_columns
    assert all(type(group) is PutBatch and group.in_columns for group in groups)
    assert rows_and_values(groups) == rows_and_values(mutations_by_tablet(find, 9, list(puts)))
    assert within == [mutations_within(list(puts), one) for one in TABLETS]
    assert within == [all(find(9, row) is one for row in rows) for one in TABLETS]


@pytest.mark.parametrize("in_columns", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_a_row_is_in_one_group_while_tablets_split_and_merge(seed: int, in_columns: bool) -> None:
    """Groups are written in parallel: of two puts of a row in two of them, the earlier one could win."""
    choose = random.Random(seed)
    bounds, number = [b"", b"g", b""], 0

    def find_changing(table_id: int, row: bytes) -> TabletRecord:
        nonlocal number
        if choose.random() < 0.5:  # a look at METADATA teaches what became of other tablets, too
            inner = sorted(choose.sample((b"c", b"g", b"m", b"p"), choose.randrange(5)))
            bounds[:] = [b"", *inner, b""]
        number += 1
        start, stop = next(
            (start, stop) for start, stop in pairwise(bounds) if start <= row and (row < stop or not stop)
        )
        return TabletRecord(9, number, RowRange(start, stop), 0)

    rows = [choose.choice((b"a", b"d", b"h", b"n", b"z")) for _ in range(12)]
    puts = PutBatch(b"f", b"q", SERVER_TIME, rows, [b"%d" % place for place in range(len(rows))])
    groups = rows_and_values(mutations_by_tablet(find_changing, 9, puts if in_columns else list(puts)))
    assert sorted(one[0] for group in groups for one in group) == sorted(rows)
    assert sum(len({row for row, _ in group}) for group in groups) == len(set(rows)), "a row is in several groups"
    given = rows_and_values([list(puts)])[0]
    for group in groups:
        places = [given.index(one) for one in group]
        assert places == sorted(places)


def test_a_row_that_is_no_bytes() -> None:
    puts = PutBatch(b"f", b"q", SERVER_TIME, [b"a", "b"], [b"", b""])  # type: ignore[list-item]
    assert not mutations_within(puts, TABLETS[0])
    assert mutations_within(puts, replace(TABLETS[0], range=RowRange()))  # the tablet tells
    with pytest.raises(InvalidRequest, match="the row"):
        mutations_by_tablet(find, 9, puts)
