"""Time ranges of single families: cells and markers outside of their family's are left out before visibility looks at
them.

That is the same as a time range in visibility itself: a cell out of range uses up no version, and of cells of one
timestamp all go or none. Markers pass, since they mask whatever range is asked for; raw reads show them as cells. Of a
family that keeps its deleted cells (KEEP_DELETED_CELLS) a read up to a time does not know of later markers.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from hbtable.encoding.cell_key import INVERT, TERMINATOR, Pair
from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.mutation import PUT
from hbtable.switches import switches

Times = tuple[int, int]
"""low <= timestamp < high, MAX_TIMESTAMP being no bound."""


@switches
def within_times(
    lists: Iterable[Iterable[Pair]], of_families: Mapping[bytes, Times], of_others: Times, markers_too: bool = False
) -> Iterator[Sequence[Pair]]:
    """As many lists as there are, perhaps empty ones. `of_families`: as they stand in cell keys; `of_others`: the range
    of all others. `markers_too`: markers have to lie in the range as well."""
    for pairs in lists:
        yield [
            pair
            for pair in pairs
            if (not markers_too and pair[0][-10] != PUT) or _is_within(pair[0], of_families, of_others)
        ]


@switches
def without_later_markers(lists: Iterable[Iterable[Pair]], bounds: Mapping[bytes, int]) -> Iterator[Sequence[Pair]]:
    """As many lists as there are, perhaps empty ones. `bounds`: families as they stand in cell keys -> the time from
    which on their markers are left out."""
    for pairs in lists:
        yield [pair for pair in pairs if pair[0][-10] == PUT or not _is_later(pair[0], bounds)]


def _is_later(key: bytes, bounds: Mapping[bytes, int]) -> bool:
    begin = key.index(TERMINATOR) + 2
    bound = bounds.get(key[begin : key.index(b"\x00", begin)])
    return bound is not None and INVERT - int.from_bytes(key[-18:-10], "big") >= bound


def _is_within(key: bytes, of_families: Mapping[bytes, Times], of_others: Times) -> bool:
    begin = key.index(TERMINATOR) + 2
    low, high = of_families.get(key[begin : key.index(b"\x00", begin)], of_others)
    timestamp = INVERT - int.from_bytes(key[-18:-10], "big")
    return low <= timestamp and (timestamp < high or high >= MAX_TIMESTAMP)
