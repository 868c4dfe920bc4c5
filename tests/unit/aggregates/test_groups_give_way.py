"""Neither very many values nor very many groups keep others waiting, or take much memory before anybody counts it."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any
from unittest import mock

import pytest

from hbtable.aggregates import groups
from hbtable.aggregates.distinct import Distinct
from hbtable.aggregates.groups import Groups
from hbtable.aggregates.states import Total
from hbtable.model.aggregation import MOST_AGGREGATES, Aggregate, Aggregation
from hbtable.model.cell import Row
from hbtable.model.read import AGGREGATED_ROWS, RowsByColumn, ScanRequest
from hbtable.tablet.reads.aggregated_pages import _with_few_states

MANY = tuple(Aggregate("distinct", b"f", b"%d" % number) for number in range(MOST_AGGREGATES))


def by_row(found: Groups, number: int, pause: Callable[[], object]) -> None:
    rows: list[Row] = [(b"r%06d" % row, [(b"f:a", 1, b"%d" % row)]) for row in range(number)]
    found.add_rows(rows, pause)


def by_column(found: Groups, number: int, pause: Callable[[], object]) -> None:
    rows = [b"r%06d" % row for row in range(number)]
    found.add_columns([RowsByColumn(rows, [[b"%d" % row for row in range(number)]])], [(b"f", b"a")], pause)


@pytest.mark.parametrize("add", [by_row, by_column])
@pytest.mark.parametrize("state", [Total, Distinct])
def test_a_state_gets_some_hundred_values_at_a_time(
    add: Callable[[Groups, int, Callable[[], object]], None], state: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []
    add_all = state.add

    def counted(self: Any, values: Any) -> None:
        given.append(len(values))
        add_all(self, values)

    monkeypatch.setattr(state, "add", counted)
    aggregates = (Aggregate("sum", b"f", b"a", "number"), Aggregate("distinct", b"f", b"a"))
    found = Groups(Aggregation(aggregates))
    add(found, 20_000, lambda: None)
    assert sum(given) == 20_000
    assert max(given) <= 512
    assert found.results()[b""][0] == sum(range(20_000))


@pytest.mark.parametrize(
    ("rows", "cells"), [(1, 40_000), (64, 600), (10_000, 4)], ids=["a long row", "some long rows", "many rows"]
)
@pytest.mark.parametrize(
    "aggregation",
    [
        Aggregation((Aggregate("count", b"f", b"none"),)),
        Aggregation((Aggregate("count", b"f", b"none"),), row_bytes=2),
        Aggregation((Aggregate("rows", b"", b""),), by_column=True),
    ],
    ids=["all", "by row", "by column"],
)
def test_others_have_a_turn_between_some_hundred_cells(aggregation: Aggregation, rows: int, cells: int) -> None:
    """64 rows of 4,000 cells took 30 ms in one go: each row was too short for a pause, and the rows too few."""
    row = [(b"f:%06d" % number, 1, b"v") for number in range(cells)]
    looked: list[int] = [0]
    found = Groups(aggregation)
    sources_of, seen = found._sources_of, 0

    def counted(column: bytes) -> tuple[int, ...]:
        nonlocal seen
        seen += 1
        return sources_of(column)

    with mock.patch.object(Groups, "_sources_of", lambda _, column: counted(column)):
        found.add_rows([(b"r%06d" % number, row) for number in range(rows)], lambda: looked.append(seen))
    assert seen == rows * cells
    assert max(after - before for before, after in pairwise([*looked, seen])) <= 512 + cells % 512


def test_others_have_a_turn_between_some_hundred_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made, told and merged: 200 groups of 64 aggregates took 100 ms in one go."""
    made: list[int] = []
    turns = [0]
    make = groups.state_of

    def counted(aggregate: Aggregate) -> Any:
        made.append(1)
        return make(aggregate)

    monkeypatch.setattr(groups, "state_of", counted)
    aggregation = Aggregation(MANY, row_bytes=100)
    found, merged = Groups(aggregation), Groups(aggregation)
    by_row(found, 200, lambda: turns.append(len(made)))
    assert max(after - before for before, after in pairwise([*turns, len(made)])) <= 512
    turns[:] = [0]
    told = found.told(lambda: turns.append(0))
    assert len(turns) >= 40
    made.clear()
    turns[:] = [0]
    merged.merge(told, lambda: turns.append(len(made)))
    assert max(after - before for before, after in pairwise([*turns, len(made)])) <= 512
    assert merged.results() == found.results()


def test_many_groups_are_freed_a_few_at_a_time() -> None:
    found = Groups(Aggregation(MANY[:2], row_bytes=100))
    by_row(found, 5000, lambda: None)
    left = [len(found)]
    found.let_go(lambda: left.append(len(found)))
    assert (left[0], len(found)) == (5000, 0)
    assert max(before - after for before, after in pairwise([*left, 0])) <= 128


def test_a_page_that_may_make_very_many_states_is_smaller() -> None:
    """64 estimates of each of 10,000 rows took 800 MB, of which the limit of the answer heard afterwards."""
    request = ScanRequest(max_rows=AGGREGATED_ROWS)
    assert _with_few_states(request, Aggregation(MANY)) == request
    assert _with_few_states(request, Aggregation(MANY[:4], row_bytes=3)) == request
    assert _with_few_states(request, Aggregation(MANY, row_bytes=3)).max_rows == 781
    assert _with_few_states(request, Aggregation(MANY, row_delimiter=b"/")).max_rows == 781
    assert _with_few_states(request, Aggregation(MANY, by_column=True)).max_bytes == 781 * 16
