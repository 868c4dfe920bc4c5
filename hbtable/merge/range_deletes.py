"""An SSTable without the rows that were deleted of it as ranges (model.range_delete). Pure: it is given the file's
scan. It passes over deleted rows without reading them, unless some of their cells are later than the delete.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from hbtable.encoding.cell_key import INVERT, Pair, range_key
from hbtable.model.range_delete import RangeDelete
from hbtable.sstable.reader import Meter
from hbtable.switches import switches

Scan = Callable[[bytes, bytes, bool, Meter | None], Iterator[Pair]]
"""As SSTableReader.scan."""


class DeletedKeys(NamedTuple):
    """A range delete, in cell keys: start <= key < stop (b"": to the end)."""

    start: bytes
    stop: bytes
    timestamp: int


def deleted_keys(ranges: Sequence[RangeDelete]) -> tuple[DeletedKeys, ...]:
    return tuple(DeletedKeys(range_key(one.start), range_key(one.stop), one.timestamp) for one in ranges)


def without_deleted(scan: Scan, deleted: Sequence[DeletedKeys], max_timestamp: int) -> Scan:
    """`scan` without what is deleted; `max_timestamp`: of any cell or marker of the file."""
    return partial(_remaining, scan, deleted, max_timestamp) if deleted else scan


@switches
def _remaining(
    scan: Scan,
    deleted: Sequence[DeletedKeys],
    max_timestamp: int,
    start: bytes,
    stop: bytes,
    cache_blocks: bool = True,
    meter: Meter | None = None,
) -> Iterator[Pair]:
    at = start
    for first, behind, timestamp in deleted:
        if stop and first >= stop:
            break
        if behind and behind <= at:
            continue
        if first > at:
            yield from scan(at, first, cache_blocks, meter)
            at = first
        if max_timestamp > timestamp:
            within = behind if behind and not (stop and stop < behind) else stop
            for pair in scan(at, within, cache_blocks, meter):
                if INVERT - int.from_bytes(pair[0][-18:-10], "big") > timestamp:
                    yield pair
        if not behind:
            return
        at = behind
    if not stop or at < stop:
        yield from scan(at, stop, cache_blocks, meter)
