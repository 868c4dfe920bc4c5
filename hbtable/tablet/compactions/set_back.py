"""The times of a tablet moved back, after an earlier server's clock was ahead (TabletOptions.set_back_clocks).

    later than `highest`          stays: no server gave it
    later than `now`              less (highest - now): the latest becomes now, and all keep their distances. What would
                                  then be older than what came before it goes right behind that
    everything else               stays

So what a server timed while its clock was ahead gets the time at which it was written, or a later one: a clock that was
ahead for longer than its lead gave times that have passed by now. These stay, as they cannot be told from right ones.
The order of a column's operations is kept, and of a family's where family markers hide cells of all its columns.
Different times stay different, so keys stay in order.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from hbtable.encoding.cell_key import SUFFIX_BYTES, TERMINATOR, Pair, parse_suffix, row_of, suffix
from hbtable.errors import LimitExceeded
from hbtable.model.mutation import DELETE_FAMILY, DELETE_FAMILY_VERSION
from hbtable.model.values import shown
from hbtable.switches import switches

_FAMILY_MARKERS: Final = (DELETE_FAMILY, DELETE_FAMILY_VERSION)
_MOST_HELD_BYTES: Final = 256 << 20
LATEST_MILLIS: Final = 1000
"""Behind `now`, where thousands of versions have to go right behind one that was given just before it."""


@switches
def moved(pairs: Iterable[Pair], now: int, highest: int) -> Iterator[Pair]:
    """`pairs` ascending by key; so is what comes out. No time that was not later than `highest` is later than `now` by
    more than LATEST_MILLIS. Holds the pairs of a column, or of a family with markers of its own in a row.
    LimitExceeded: these have more than 256 MiB, or too many versions to go behind one."""
    for held in _in_units(pairs):
        times = _times(held, now, highest)
        if not times:
            yield from held
            continue
        for pair in held:
            key, value = pair
            timestamp, kind, sequence, flags = parse_suffix(key)
            at = times.get(timestamp)
            yield pair if at is None else (key[:-SUFFIX_BYTES] + suffix(at, kind, sequence, flags), value)


@switches
def _in_units(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """Those whose order among each other decides what is seen."""
    held: list[Pair] = []
    size = 0
    unit = family = b""
    for pair in pairs:
        key, value = pair
        column = key[:-SUFFIX_BYTES]
        if column != unit and not (family and column.startswith(family)):
            if held:
                yield held
            held, size, family = [], 0, b""
        unit = column
        held.append(pair)
        size += len(key) + len(value)
        if size > _MOST_HELD_BYTES:
            raise LimitExceeded(
                f"row {shown(row_of(key))} has more than {_MOST_HELD_BYTES >> 20} MiB whose order would have to be kept"
            )
        if not family and parse_suffix(key)[1] in _FAMILY_MARKERS:  # these come first in their family
            family = column[: column.index(b"\x00", column.index(TERMINATOR) + 2) + 1]
    if held:
        yield held


def _times(held: list[Pair], now: int, highest: int) -> dict[int, int]:
    """The new time of each that gets another one."""
    found: dict[int, int] = {}
    before = -1
    for timestamp in sorted({parse_suffix(key)[0] for key, _ in held}):
        if timestamp > highest:
            break
        before = timestamp if timestamp <= now else max(timestamp - (highest - now), before + 1)
        if before != timestamp:
            found[timestamp] = before
    if before > now + LATEST_MILLIS:
        raise LimitExceeded(
            f"row {shown(row_of(held[0][0]))} has too many versions that would get one and the same time"
        )
    return found
