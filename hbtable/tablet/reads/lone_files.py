"""Stretches of rows that one SSTable alone holds, block after block: nothing has to be merged there, so what is made of
a block at once is what a scan would have given of its rows one by one.

A page that is filled so ends where the stretch does; who asks for such pages goes on with the next.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from hbtable.encoding.cell_key import range_key
from hbtable.errors import Corruption, FileNotFound
from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.ranges import RowRange
from hbtable.model.read import ScanRequest
from hbtable.sstable.reader import SSTableReader
from hbtable.switches import switches
from hbtable.tablet.damage import UnreadableFile
from hbtable.tablet.layout import LocalityGroupLayout
from hbtable.tablet.pacing import Pacer
from hbtable.tablet.reads.time_limit import TimeLimit
from hbtable.tablet.version import Stack

Alone = Callable[[bytes, bytes], bool]
"""Whether nothing but one file holds anything from one key up to another."""
T = TypeVar("T")


class BlockPage(Protocol[T]):
    """A page that is made of blocks, or of the pairs of their rows."""

    def takes(self, stack: Stack) -> bool:
        """Asked before its blocks are read."""

    @switches
    def parts(
        self, reader: SSTableReader, start: bytes, stop: bytes, keep: bool, is_alone: Alone
    ) -> Iterator[tuple[T, bytes]]:
        """As SSTableReader.blocks_of_whole_rows."""

    def add(self, part: T, start: bytes, behind: bytes, keep: bool) -> bool:
        """The rows of the part from the key `start` on that still fit. `behind` lies between the keys of its rows and
        all behind them. `keep`: its block stays in the cache. False when the page ends here, with the rows added or
        before a part of which none can be."""


def asks_for_whole_rows(request: ScanRequest) -> bool:
    """Whether a scan takes rows as they are: forward, whole, without a filter or bounds of time."""
    spec, position = request.spec, request.position
    return (
        not (request.reversed or request.cells_per_row or spec.raw or spec.filter is not None)
        and spec.min_timestamp <= 0
        and spec.max_timestamp >= MAX_TIMESTAMP
        and not request.family_times
        and (position is None or not (position.cells_done or position.filter_state))
    )


def asks_for_all_cells(request: ScanRequest, layout: LocalityGroupLayout) -> bool:
    """Whether it takes such rows with all that they have."""
    columns = request.spec.columns
    return (
        asks_for_whole_rows(request)
        and (columns is None or (columns.keys() == layout.stored.keys() and set(columns.values()) == {None}))
        and request.spec.max_versions > 0
    )


def places(keys: Sequence[bytes], start: bytes, stop: bytes, behind: bytes) -> tuple[int, int]:
    """The first of a part's keys from `start` on, and the first one that is not before `stop` (b"": to the end).
    `behind`: as for BlockPage.add."""
    return bisect_left(keys, start), bisect_left(keys, stop) if stop and behind > stop else len(keys)


@switches
def fill(
    page: BlockPage[T],
    stacks: Sequence[Stack],
    bounds: RowRange,
    caches: Callable[[Stack], bool],
    pacer: Pacer,
    limit: TimeLimit,
) -> bool:
    """Whether the bounds hold no further row in these stacks."""
    if bounds.is_empty() or not _is_readable(stacks):
        return False
    start, stop = range_key(bounds.start), range_key(bounds.stop)
    while not (stop and start >= stop):
        found = _first_file(stacks, start, stop)
        if found is None:  # nothing but memtables could hold a row
            return _is_alone(stacks, None, start, stop)
        stack, reader = found
        if not page.takes(stack):
            return False
        before, keep = start, caches(stack)
        try:
            for part, behind in page.parts(reader, start, stop, keep, _alone(stacks, reader)):
                if not page.add(part, start, behind, keep):
                    return False
                start = behind
                pacer.pause()
                if limit.is_over():
                    return bool(stop) and start >= stop
        except (Corruption, FileNotFound):
            return False  # met again by who reads row by row
        if start == before or start <= reader.properties.last_key:
            return bool(stop) and start >= stop
    return True


def _is_readable(stacks: Sequence[Stack]) -> bool:
    return not any(isinstance(file.reader, UnreadableFile) for stack in stacks for file in stack.files)


def _first_file(stacks: Sequence[Stack], start: bytes, stop: bytes) -> tuple[Stack, SSTableReader] | None:
    """The first file by its first key, of those with anything in the range, and its stack."""
    found: tuple[Stack, SSTableReader] | None = None
    for stack in stacks:
        for file in stack.files:
            reader = file.reader
            if isinstance(reader, UnreadableFile) or not _overlaps(reader, start, stop):
                continue
            if found is None or reader.properties.first_key < found[1].properties.first_key:
                found = stack, reader
    return found


def _alone(stacks: Sequence[Stack], reader: SSTableReader) -> Alone:
    return lambda start, stop: _is_alone(stacks, reader, start, stop)


def _is_alone(stacks: Sequence[Stack], reader: SSTableReader | None, start: bytes, stop: bytes) -> bool:
    """Whether nothing but the file can hold anything with start <= key < stop (b"": to the end)."""
    for stack in stacks:
        for memtable in stack.memtables():
            if memtable.cells and memtable.holds_any(start, stop):
                return False
        for file in stack.files:
            if file.reader is not reader and _overlaps(file.reader, start, stop):
                return False
            if file.deleted and file.deletes_any(start, stop):
                return False
    return True


def _overlaps(reader: SSTableReader | UnreadableFile, start: bytes, stop: bytes) -> bool:
    properties = reader.properties
    return properties.last_key >= start and not (stop and properties.first_key >= stop)
