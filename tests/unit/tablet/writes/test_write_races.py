"""Writes of all kinds of the same rows, in every order that a seed leads to (harness/write_races.py; bug class 12)."""

from typing import Any

import pytest

from hbtable.tablet.writes.gate import Gate
from hbtable.tablet.writes.read_modify_write import ReadModifyWriter
from hbtable.tablet.writes.row_locks import InFlightWrite, RowLocks
from hbtable.tablet.writes.writing import TabletWriter
from tests.harness.fresh_seed import fresh_seed, slice_of
from tests.harness.tiers import quick_first
from tests.harness.write_races import violations


def _any_counter_under_way(self: ReadModifyWriter, row: bytes, family: bytes, qualifier: bytes) -> InFlightWrite | None:
    under_way = [write for write in self._state.row_locks.in_flight if row in write.rows and write.counter is not None]
    return under_way[-1] if under_way else None


FRESH = 300
ENOUGH = 600
"""Seeds within which a bug must be found: one in thirty finds the rarest."""


@pytest.mark.parametrize("seed", quick_first(range(30), 10, 15))
def test_one_order_explains_every_answer(seed: int) -> None:
    assert not violations(seed)


@pytest.mark.verify
def test_one_order_explains_every_answer_with_seeds_that_no_run_has_seen() -> None:
    first = fresh_seed()
    for seed in range(first, first + slice_of(FRESH)):
        assert not violations(seed), seed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "name", "wrong"),
    [
        (Gate, "stops_now", False),  # a batch waits at the gate, and holds only some of its rows
        (RowLocks, "wait_until_visible", lambda self, row: None),
        (RowLocks, "acquire_all", lambda self, rows: []),  # a batch does not wait for rows that are held
        (TabletWriter, "_check_as_read", lambda self, ranges_deleted: None),
        (ReadModifyWriter, "_counter_under_way", _any_counter_under_way),
    ],
    ids=[
        "some rows held",
        "writes under way not seen",
        "held rows written",
        "deleted ranges not seen",
        "another counter followed",
    ],
)
def test_a_planted_bug_is_found(where: Any, name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, name, wrong)
    assert any(violations(seed) for seed in range(ENOUGH))
