"""Reads of wide rows give the same whether they seek the next column or read up to it (harness/seek_differences.py)."""

import pytest

from hbtable.tablet.reads.sources import ReadSnapshot
from tests.harness.fresh_seed import fresh_seed, slice_of
from tests.harness.seek_differences import differences

SEEDS = 3
FRESH = 15
ENOUGH = 40
"""Seeds within which the bug below must be found."""


@pytest.mark.slow
def test_seeks_leave_nothing_out() -> None:
    for seed in range(SEEDS):
        assert differences(seed) == []


@pytest.mark.verify
def test_seeks_leave_nothing_out_with_seeds_that_no_run_has_seen() -> None:
    first = fresh_seed()
    for seed in range(first, first + slice_of(FRESH)):
        assert differences(seed) == []


@pytest.mark.verify
def test_a_bloom_filter_asked_of_the_rest_of_a_family_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of a family after a seek begins as a column does, and is none."""

    def without_columns(self: ReadSnapshot, file, ranges):  # type: ignore[no-untyped-def]
        return [span for span in ranges if span[0][-1:] != b"\x01" or file.reader.may_hold_column(span[0])]

    monkeypatch.setattr(ReadSnapshot, "_ranges_in", without_columns)
    assert any(differences(seed) for seed in range(ENOUGH))
