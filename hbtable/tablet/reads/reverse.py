"""Scans from the end of a range to its beginning (HBase's reversed scan).

SSTables and memtables are read forward only. So a reversed scan takes the range in chunks, last first: the sources say
where reading towards the upper bound could begin (a block's first key, say), the chunk begins with that key's row, is
read forward, and given out backward. Chunks end at row boundaries, so no row is torn; a chunk is about a block of one
source, and all rows of a chunk are in memory at once.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from hbtable.encoding.cell_key import TERMINATOR
from hbtable.model.cell import Row
from hbtable.switches import switches

_MEMTABLE_CELLS: Final = 256


@switches
def descending(
    start: bytes,
    stop: bytes,
    hint: Callable[[bytes, int], bytes | None],
    rows_between: Callable[[bytes, bytes], Iterable[Row]],
    ends_before: Callable[[bytes], bool],
) -> Iterator[Row]:
    """Rows of [start, stop), both bounds keys that begin a row (b"": unbounded), in descending order.

    `hint(stop, cells)`: the key where a chunk before `stop` may begin, None when nothing lies before it.
    `ends_before(lower)`: asked after each chunk but the last whether the rows below `lower` are not to be read now.
    """
    upper = stop
    while True:
        suggested = hint(upper, _MEMTABLE_CELLS)
        if suggested is None or suggested < start:
            lower = start
        else:
            lower = suggested[: suggested.index(TERMINATOR) + 2]
        if suggested is not None:
            yield from reversed(list(rows_between(lower, upper)))
        # lower < upper: the hint lies before upper, and upper begins a row
        if suggested is None or lower <= start or ends_before(lower):
            return
        upper = lower
