"""A slice of `make soak`: what depends on no clock. The whole campaign compares processor times, too."""

import pytest

from tests.campaigns.soak import bounds, campaign


@pytest.mark.slow
def test_wearing_patterns_of_use_leave_reads_and_disk_as_they_were() -> None:
    results, wrong = campaign(scale=0.02, seed=1)
    assert not wrong
    assert len(results) == 5


def test_the_bounds_see_what_wears_out() -> None:
    results, _ = campaign(scale=0.001, seed=1)
    worn = results[0]
    assert bounds(worn) == []
    worn.last_cells, worn.files, worn.sstable_bytes = worn.first_cells * 2 + 1001, 41, 1_000_001
    assert len(bounds(worn)) == 3
