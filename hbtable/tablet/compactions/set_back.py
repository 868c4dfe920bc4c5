"""The times of a tablet moved back, after an earlier server's clock was ahead (TabletOptions.set_back_clocks).

    later than `highest`          stays: no server gave it
    later than `now`              less (highest - now): the latest becomes now, and all keep their distances
    everything else               stays

So what a server timed while its clock was ahead gets the time at which it was written, or a little later, and the order
of a row's operations is kept. Keys stay in order: what moves is sorted in among the older versions of its column.
"""

from collections.abc import Iterable, Iterator

from hbtable.encoding.cell_key import SUFFIX_BYTES, Pair, parse_suffix, suffix
from hbtable.switches import switches


@switches
def moved(pairs: Iterable[Pair], now: int, highest: int) -> Iterator[Pair]:
    """`pairs` ascending by key; so is what comes out. Holds what moves of one column."""
    column = b""
    held: list[Pair] = []
    is_sorted = False
    for pair in pairs:
        key, value = pair
        if key[:-SUFFIX_BYTES] != column:
            yield from sorted(held)
            held, is_sorted = [], False
            column = key[:-SUFFIX_BYTES]
        timestamp, kind, sequence, flags = parse_suffix(key)
        if now < timestamp <= highest:
            at = max(1, timestamp - (highest - now))
            held.append((column + suffix(at, kind, sequence, flags), value))
            continue
        if held and not is_sorted:
            held.sort(reverse=True)
            is_sorted = True
        while held and held[-1] < pair:
            yield held.pop()
        yield pair
    yield from sorted(held)
