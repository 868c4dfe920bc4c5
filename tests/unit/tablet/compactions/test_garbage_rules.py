"""The pure rules by which deleted and expired data is due to go."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from hbtable.tablet.compactions.garbage import (
    Aging,
    Expiring,
    Masking,
    is_aged,
    jittered,
    masked_cells,
    wholly_expired,
)

DAY = 86_400_000
WEEK = 7 * DAY


@pytest.mark.parametrize(
    ("files", "masked"),
    [
        ([], 0),
        ([Masking(50_000, 0, 0, 5_000)], 0),
        # a family marker masks as many cells as a row has
        ([Masking(50_000, 0, 0, 5_000), Masking(5_000, 5_000, 5_000, 5_000)], 50_000),
        # a column's marker masks one
        ([Masking(50_000, 0, 0, 5_000), Masking(5_000, 5_000, 0, 5_000)], 5_000),
        # what the markers masked when the file was written, they don't mask in older files
        ([Masking(50_000, 0, 0, 50_000), Masking(5_000, 5_000, 5_000, 5_000, masked=5_000)], 0),
        # no more than there is
        ([Masking(10, 0, 0, 10), Masking(5_000, 5_000, 5_000, 5_000)], 10),
        # files of older hbtables say nothing
        ([Masking(50_000, 0), Masking(5_000, 5_000)], 0),
    ],
)
def test_what_markers_mask_is_estimated(files: list[Masking], masked: int) -> None:
    assert masked_cells(files) == masked


@given(st.lists(st.builds(Masking, *[st.integers(0, 10**6)] * 5)))
def test_no_estimate_is_absurd(files: list[Masking]) -> None:
    sound = [file._replace(markers=min(file.markers, file.cells)) for file in files]
    assert 0 <= masked_cells(sound) <= sum(file.cells - file.markers for file in sound)


AGINGS = st.lists(st.builds(Aging, st.integers(0, 3 * WEEK), st.booleans()), max_size=6)


@given(AGINGS, st.integers(0, WEEK), st.integers(0, 6 * WEEK), st.binary())
def test_everything_is_due_in_time_and_nothing_is_for_ever(
    files: list[Aging], period: int, now: int, seed: bytes
) -> None:
    due = is_aged(files, period, now, seed)
    waiting = files[1:] if files and files[0].is_clean else files
    oldest = min((file.since_millis for file in waiting), default=now)
    assert due or not period or now - oldest <= 1.5 * period
    assert not due or now - oldest > period // 2
    # what a major compaction leaves is due no more, and, when it is clean, never
    assert not is_aged([Aging(now, False)], period, now, seed)
    assert not is_aged([Aging(now, True)], period, now + 100 * WEEK, seed)


def test_tablets_are_due_at_different_times() -> None:
    periods = sorted(jittered(WEEK, b"%d" % number) for number in range(1000))
    assert WEEK / 2 <= periods[0] < 0.51 * WEEK
    assert 1.49 * WEEK < periods[-1] < 1.5 * WEEK
    assert 0.9 * WEEK < periods[500] < 1.1 * WEEK


@pytest.mark.parametrize(
    ("files", "elsewhere", "gone"),
    [
        ([], False, []),
        ([Expiring("a", 89, 0), Expiring("b", 90, 0)], False, ["a"]),
        ([Expiring("a", 90, 0), Expiring("b", 89, 0)], False, ["b"]),
        # what a marker masks in an older file would be seen again if the time to live were raised
        ([Expiring("a", 90, 0), Expiring("b", 89, 1)], False, []),
        ([Expiring("a", 89, 1), Expiring("b", 89, 1)], False, ["a", "b"]),
        ([Expiring("a", 89, 1), Expiring("b", 89, 0)], True, ["b"]),
    ],
)
def test_files_in_which_everything_has_expired(files: list[Expiring], elsewhere: bool, gone: list[str]) -> None:
    assert wholly_expired(files, 10, 100, elsewhere) == gone
    assert wholly_expired(files, 0, 100, elsewhere) == []  # what lives for ever
