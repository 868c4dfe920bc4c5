"""A slice of `make soak`: what depends on no clock. The whole campaign compares processor times, too."""

from unittest.mock import patch

import pytest

from hbtable.tablet.compactions import planning
from hbtable.tablet.version import Version
from tests.campaigns.soak import PATTERNS, campaign, soak
from tests.campaigns.soak_lives import LIVES, connections
from tests.campaigns.soak_worn import bounds, leave_out_what_is_there, living_objects
from tests.harness.soak_bugs import SOAK_BUGS, SoakBug, descriptors_kept, planted
from tests.harness.tiers import long_test, taking_turns

MOST = 5 * planning.MANY_FROZEN
"""While a flush is under way more are frozen: here a schema changes every millisecond."""


@pytest.fixture(scope="module", autouse=True)
def without_the_tests_before() -> None:
    leave_out_what_is_there()


@long_test("patterns that wear a database out")
def test_wearing_patterns_of_use_leave_reads_disk_and_memory_as_they_were() -> None:
    results, wrong = campaign(scale=0.02, seed=1)
    assert not wrong
    assert len(results) == len(PATTERNS) + len(LIVES)


@pytest.mark.slow
def test_the_bounds_see_what_wears_out() -> None:
    worn = worn_by("lock", 30)
    assert bounds(worn) == []
    worn.last_cells, worn.files, worn.sstable_bytes = worn.first_cells * 2 + 1001, 41, 1_000_001
    worn.objects, worn.descriptors = 301, 6
    assert len(bounds(worn)) == 5


def test_what_earlier_tests_hold_is_not_looked_at_again() -> None:
    held = [[number] for number in range(100_000)]
    assert living_objects() > len(held)
    leave_out_what_is_there()
    assert living_objects() < len(held)


def worn_by(name: str, count: int):
    for one, run, _ in LIVES:
        if one == name:
            return run(count, 1)
    [(operation, family)] = [(operation, family) for one, operation, _, family in PATTERNS if one == name]
    return soak(name, operation, count, family, seed=1)


@pytest.mark.parametrize("bug", taking_turns(SOAK_BUGS, 4), ids=lambda bug: bug.pattern)
def test_a_pattern_is_within_its_bounds_and_a_planted_bug_is_not(bug: SoakBug) -> None:
    assert bounds(worn_by(bug.pattern, bug.count)) == []
    with planted(bug):
        found = bounds(worn_by(bug.pattern, bug.count))
    assert any(bug.says in line for line in found), found


@pytest.mark.verify
def test_descriptors_of_clients_that_left_are_found() -> None:
    with descriptors_kept():
        [found] = bounds(connections(50, 1))
    assert "descriptors stay" in found


def test_each_pattern_has_a_planted_bug() -> None:
    patterns = {name for name, *_ in PATTERNS} | {name for name, *_ in LIVES}
    assert {bug.pattern for bug in SOAK_BUGS} == patterns - {"regroup", "connections"}, "those two have their own tests"


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


@pytest.mark.slow
def test_regrouped_families_leave_few_frozen_memtables_behind() -> None:
    assert most_frozen() <= MOST
    with patch.object(planning, "MANY_FROZEN", 10_000):
        assert most_frozen() > MOST, "the test would not find them"
