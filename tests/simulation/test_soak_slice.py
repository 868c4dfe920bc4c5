"""A slice of `make soak`: what depends on no clock. The whole campaign compares processor times, too."""

from unittest.mock import patch

import pytest

from hbtable.metadata.locator import Locator
from hbtable.tablet.compactions import planning
from hbtable.tablet.version import Version
from tests.campaigns.soak import PATTERNS, bounds, campaign, soak

MOST = 5 * planning.MANY_FROZEN
"""While a flush is under way more are frozen: here a schema changes every millisecond."""


@pytest.mark.verify
def test_wearing_patterns_of_use_leave_reads_disk_and_memory_as_they_were() -> None:
    results, wrong = campaign(scale=0.02, seed=1)
    assert not wrong
    assert len(results) == len(PATTERNS) == 8


def test_the_bounds_see_what_wears_out() -> None:
    worn = worn_by("lock", 30)
    assert bounds(worn) == []
    worn.last_cells, worn.files, worn.sstable_bytes = worn.first_cells * 2 + 1001, 41, 1_000_001
    worn.objects = 301
    assert len(bounds(worn)) == 4


def worn_by(name: str, count: int):
    [(operation, family)] = [(operation, family) for one, operation, _, family in PATTERNS if one == name]
    return soak(name, operation, count, family, seed=1)


def test_locations_of_dropped_tables_that_stay_are_found() -> None:
    with patch.object(Locator, "forget_table", lambda self, table_id: None):
        [found] = bounds(worn_by("tables", 150))
    assert "objects stay" in found


def most_frozen() -> int:
    """In one stack, while families are regrouped again and again."""
    most, inner = 0, Version.with_layout

    def counted(version, layout):
        nonlocal most
        after = inner(version, layout)
        most = max(most, *(len(stack.frozen) for stack in after.stacks))
        return after

    with patch.object(Version, "with_layout", counted):
        assert bounds(worn_by("regroup", 400)) == []
    return most


def test_regrouped_families_leave_few_frozen_memtables_behind() -> None:
    assert most_frozen() <= MOST
    with patch.object(planning, "MANY_FROZEN", 10_000):
        assert most_frozen() > MOST, "the test would not find them"
