"""Rows of an SSTable that were deleted as a range, without a delete marker in each (tablet.compactions.range_deleting).

A range delete takes what is there when it is made, and no later write: it stands beside the SSTables of that moment, in
the tablet's record, and goes with each of them. Its ranges are kept apart from each other, ascending, so that a read
finds its place among them.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from hbtable.model.mutation import MAX_ROW_BYTES

MAX_RANGES: Final = 64
"""Of one SSTable. More have to wait for a compaction: each read of the file looks for its place among them, and each
change of the tablet writes them all."""
_ENOUGH_BYTES: Final = 16 << 10
_ENOUGH_RANGES: Final = MAX_RANGES // 4
"""Of one SSTable: a compaction is due."""
MAX_RANGE_BYTES: Final = 2 * _ENOUGH_BYTES + 4 * MAX_ROW_BYTES
"""Of the bounds of one SSTable's ranges together. So one range more always fits, of whatever rows, before a compaction
is due: it may cut those that are there, whose bounds count twice then, as its own do between two of them. Otherwise it
would be refused until a compaction that nobody begins."""
MAX_RECORD_BYTES: Final = 3 << 20
"""Of the ranges of all SSTables of a tablet, as its record has them. While it splits its row holds them twice, beside
all else that the record tells of its SSTables: together they stay below MAX_METADATA_CELL_BYTES."""
_ENOUGH_RECORD_BYTES: Final = MAX_RECORD_BYTES // 3
"""A compaction of each SSTable that has ranges is due, one after the other."""
_NUMBERS_BYTES: Final = 16
"""At most, of a range in a record: its time, and how long its bounds are."""


class RangeDelete(NamedTuple):
    """Cells with start <= row < stop (b"": to the end) and a timestamp <= this one are gone from a file."""

    start: bytes
    stop: bytes
    timestamp: int


def with_range(ranges: Sequence[RangeDelete], added: RangeDelete) -> tuple[RangeDelete, ...]:
    """All of them, apart from each other, ascending, as `ranges` are; where `added` meets one the later time counts."""
    every = (*ranges, added)
    bounds = sorted({one.start for one in every} | {one.stop for one in every if one.stop})
    found: list[RangeDelete] = []
    place = 0
    for number, start in enumerate(bounds):
        stop = bounds[number + 1] if number + 1 < len(bounds) else b""
        while place < len(ranges) and ranges[place].stop and ranges[place].stop <= start:
            place += 1
        timestamp = max(_timestamp_at(start, added), _timestamp_at(start, *ranges[place : place + 1]))
        if timestamp < 0:
            continue
        if found and found[-1].stop == start and found[-1].timestamp == timestamp:
            start = found.pop().start
        found.append(RangeDelete(start, stop, timestamp))
    return tuple(found)


def with_ranges(ranges: Sequence[RangeDelete], added: Sequence[RangeDelete]) -> tuple[RangeDelete, ...]:
    for one in added:
        ranges = with_range(ranges, one)
    return tuple(ranges)


def ranges_since(before: Sequence[RangeDelete], after: Sequence[RangeDelete]) -> tuple[RangeDelete, ...]:
    """The part of `after` that deletes more than `before`, of which it was made; ascending, apart from each other."""
    every = (*before, *after)
    bounds = sorted({one.start for one in every} | {one.stop for one in every if one.stop})
    found: list[RangeDelete] = []
    for number, start in enumerate(bounds):
        timestamp = _timestamp_at(start, *after)
        if timestamp > _timestamp_at(start, *before):
            found.append(RangeDelete(start, bounds[number + 1] if number + 1 < len(bounds) else b"", timestamp))
    return with_ranges((), found)


def _timestamp_at(row: bytes, *ranges: RangeDelete) -> int:
    """-1: the row is in none."""
    return max([one.timestamp for one in ranges if one.start <= row and (not one.stop or row < one.stop)], default=-1)


def bytes_of(ranges: Sequence[RangeDelete]) -> int:
    """The bytes of their bounds."""
    return sum(len(one.start) + len(one.stop) for one in ranges)


def record_bytes(every: Iterable[Sequence[RangeDelete]]) -> int:
    """In a record, of these ranges of its SSTables."""
    return sum(bytes_of(ranges) + _NUMBERS_BYTES * len(ranges) for ranges in every)


def are_much_together(in_record: int) -> bool:
    """`in_record`: record_bytes of a tablet."""
    return in_record >= _ENOUGH_RECORD_BYTES


def are_too_many(ranges: Sequence[RangeDelete]) -> bool:
    return len(ranges) > MAX_RANGES or bytes_of(ranges) > MAX_RANGE_BYTES


def share_of_most(ranges: Sequence[RangeDelete]) -> float:
    """1: hardly another one fits."""
    return max(len(ranges) / MAX_RANGES, bytes_of(ranges) / MAX_RANGE_BYTES)


def call_for_compaction(ranges: Sequence[RangeDelete]) -> bool:
    """Long before they are too many, so that deletes need not wait."""
    return len(ranges) >= _ENOUGH_RANGES or bytes_of(ranges) >= _ENOUGH_BYTES
