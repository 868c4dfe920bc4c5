"""Ranges that were deleted of one SSTable, put together."""

import itertools

import hypothesis.strategies as st
from hypothesis import example, given

from hbtable.model.mutation import MAX_ROW_BYTES
from hbtable.model.range_delete import (
    MAX_RANGES,
    RangeDelete,
    are_too_many,
    call_for_compaction,
    ranges_since,
    with_range,
    with_ranges,
)
from hbtable.model.ranges import RowRange

BOUNDS = st.sampled_from([b"", b"a", b"b", b"b\x00", b"c", b"d"])
RANGES = st.builds(RangeDelete, BOUNDS, BOUNDS, st.integers(0, 3)).filter(
    lambda one: not RowRange(one.start, one.stop).is_empty()
)


def timestamp_at(ranges: list[RangeDelete], row: bytes) -> int:
    return max([one.timestamp for one in ranges if RowRange(one.start, one.stop).holds(row)], default=-1)


@given(st.lists(RANGES, min_size=1, max_size=8))
def test_they_cover_what_each_of_them_does_and_are_apart(added: list[RangeDelete]) -> None:
    found: tuple[RangeDelete, ...] = ()
    for one in added:
        found = with_range(found, one)
    for row in (b"", b"A", b"a", b"a0", b"b", b"b\x00", b"bb", b"c", b"cc", b"d", b"dd"):
        assert timestamp_at(list(found), row) == timestamp_at(added, row)
    for before, after in itertools.pairwise(found):
        assert before.stop
        assert before.stop <= after.start
        assert before.stop < after.start or before.timestamp != after.timestamp
    assert found == tuple(sorted(found))


@given(st.lists(RANGES, max_size=5), st.lists(RANGES, max_size=5))
def test_what_came_since_covers_where_more_is_deleted_now(before: list[RangeDelete], added: list[RangeDelete]) -> None:
    old = with_ranges((), before)
    new = with_ranges(old, added)
    since = ranges_since(old, new)
    for row in (b"", b"A", b"a", b"a0", b"b", b"b\x00", b"bb", b"c", b"cc", b"d", b"dd"):
        now = timestamp_at(list(new), row)
        assert timestamp_at(list(since), row) == (now if now > timestamp_at(list(old), row) else -1)
    assert with_ranges(old, since) == new


def test_neighbours_of_one_time_are_one() -> None:
    ranges = with_range((RangeDelete(b"a", b"b", 5), RangeDelete(b"c", b"d", 5)), RangeDelete(b"b", b"c", 5))
    assert ranges == (RangeDelete(b"a", b"d", 5),)
    assert with_range(ranges, RangeDelete(b"", b"", 5)) == (RangeDelete(b"", b"", 5),)
    assert with_range(ranges, RangeDelete(b"b", b"c", 4)) == ranges


def test_how_many_they_may_be() -> None:
    many = tuple(RangeDelete(b"%03d" % row, b"%03d+" % row, 1) for row in range(MAX_RANGES))
    assert not are_too_many(many)
    assert are_too_many((*many, RangeDelete(b"x", b"y", 1)))
    assert call_for_compaction(many[: MAX_RANGES // 4])
    assert not call_for_compaction(many[: MAX_RANGES // 4 - 1])
    long = RangeDelete(b"a" * MAX_ROW_BYTES, b"b" * MAX_ROW_BYTES, 1)
    assert not are_too_many((long,)), "a single one is taken however long its rows are"
    assert are_too_many((long, long, long))
    assert call_for_compaction((long,))


LENGTHS = st.sampled_from([1, 2, 500, 2000, 4000, 8000, 16000, MAX_ROW_BYTES])
LONG_ROWS = st.one_of(st.just(b""), st.builds(lambda letter, length: letter * length, st.sampled_from([
    b"a", b"b", b"c", b"d", b"e", b"f"]), LENGTHS))  # fmt: skip
LONG_RANGES = st.builds(RangeDelete, LONG_ROWS, LONG_ROWS, st.integers(0, 3)).filter(
    lambda one: not RowRange(one.start, one.stop).is_empty()
)


@given(st.lists(LONG_RANGES, max_size=40))
@example([RangeDelete(b"b", b"x", 5), RangeDelete(b"m" * MAX_ROW_BYTES, b"n" * MAX_ROW_BYTES, 9)])
@example([RangeDelete(b"c", b"d" * 16000, 5), RangeDelete(b"b" * MAX_ROW_BYTES, b"e" * MAX_ROW_BYTES, 2)])
def test_whatever_is_refused_has_called_for_a_compaction(added: list[RangeDelete]) -> None:
    """Who is refused waits for one: if none is due, he waits for ever."""
    ranges: tuple[RangeDelete, ...] = ()
    for one in added:
        more = with_range(ranges, one)
        if are_too_many(more):
            assert call_for_compaction(ranges)
        else:
            ranges = more


def test_one_range_fits_beside_the_most_that_call_for_no_compaction() -> None:
    """The worst case: it cuts all of them, and lies between parts of two."""
    row = b"%c" + b"0" * (546)  # 30 bounds of 546 bytes: one less than enough
    most = tuple(RangeDelete(row % (65 + 2 * place), row % (66 + 2 * place), 9) for place in range(14))
    assert not call_for_compaction(most)
    cut = RangeDelete(b"A" + b"1" * (MAX_ROW_BYTES - 1), b"\x5b" + b"1" * (MAX_ROW_BYTES - 1), 2)
    assert not are_too_many(with_range(most, cut))
