"""Writes of all kinds of the same rows, in every order that a seed leads to (harness/write_races.py; bug class 12)."""

from typing import Any

import pytest

from hbtable.tablet.writes.gate import Gate
from hbtable.tablet.writes.row_locks import RowLocks
from hbtable.tablet.writes.writing import TabletWriter
from tests.harness.fresh_seed import fresh_seed
from tests.harness.write_races import violations

FRESH = 300
ENOUGH = 600
"""Seeds within which a bug must be found: one in thirty finds the rarest."""


@pytest.mark.parametrize("seed", range(30))
def test_one_order_explains_every_answer(seed: int) -> None:
    assert not violations(seed)


@pytest.mark.verify
def test_one_order_explains_every_answer_with_seeds_that_no_run_has_seen() -> None:
    first = fresh_seed()
    for seed in range(first, first + FRESH):
        assert not violations(seed), seed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "name", "wrong"),
    [
        (Gate, "stops_now", False),  # a batch waits at the gate, and holds only some of its rows
        (RowLocks, "wait_until_visible", lambda self, row: None),
        (RowLocks, "acquire_all", lambda self, rows: []),  # a batch does not wait for rows that are held
        (TabletWriter, "_check_as_read", lambda self, ranges_deleted: None),
    ],
    ids=["some rows held", "writes under way not seen", "held rows written", "deleted ranges not seen"],
)
def test_a_planted_bug_is_found(where: Any, name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, name, wrong)
    assert any(violations(seed) for seed in range(ENOUGH))
