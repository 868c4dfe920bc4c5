"""Chooses the memtables and SSTables that a read has to look into, and the part of their rows (paper, sections 5.3 and
6).

A Snapshot is a version and the last visible sequence: what it reads does not change, however long the read takes (bug
class 13). Bloom filters leave out files that hold nothing of the row or columns; files whose cells all lie outside the
time range are left out, too.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, final

from hbtable.encoding.cell_key import Pair, row_prefix
from hbtable.filters.evaluate import RowFilter
from hbtable.merge.merging import merge
from hbtable.merge.tally import Tally
from hbtable.model.read import ScanRequest
from hbtable.runtime.request_budget import RequestBudget
from hbtable.sstable.reader import Meter
from hbtable.switches import switches
from hbtable.tablet.layout import LocalityGroupLayout
from hbtable.tablet.portions import Portions
from hbtable.tablet.reads.column_selection import ColumnSelection, Tails
from hbtable.tablet.reads.hot_columns import behind, skipping_settled
from hbtable.tablet.reads.seeking import SOUGHT_AFTER, ColumnSeeker
from hbtable.tablet.version import LoadedFile, Stack, Version

_FEW: Final = 64
"""A row of fewer pairs is simply read."""

_FEW_OF_COLUMNS: Final = 16

_FIRST_LIST: Final = 16

Span = tuple[bytes, bytes, bool]
"""From one key to another; whether the read asks for what is there, else only for family markers."""


_SMALL_PAGE: Final = 256


def keeping_blocks(request: ScanRequest, layout: LocalityGroupLayout) -> Callable[[Stack], bool]:
    """Whether the blocks of a stack that a scan reads stay in the cache."""
    # A client that takes a few rows at a time comes back to the same block at once: then it has to be kept.
    small = request.max_rows <= _SMALL_PAGE or request.reversed
    cache_blocks = request.spec.cache_blocks

    def keeps(stack: Stack) -> bool:
        return cache_blocks and (small or layout.caches_scans(stack.key))

    return keeps


@final
class ReadSnapshot:
    """A version as one read sees it. Hears of the blocks that are read for it (sstable.reader.Meter)."""

    __slots__ = (
        "_portions", "_seeker", "_selection", "_sequence", "_stacks", "_tails", "_tally", "budget", "pause",
        "row_filter", "version",
    )  # fmt: skip

    def __init__(
        self,
        version: Version,
        sequence: int,
        selection: ColumnSelection,
        tally: Tally,
        budget: RequestBudget | None = None,
    ) -> None:
        self.version = version
        self.budget = budget
        """Hears of the cells and blocks of long reads."""
        self._tally = tally
        self._sequence = sequence
        self._selection = selection
        families = selection.families
        self._stacks: Sequence[Stack] = version.stacks if families is None else version.holding(families)
        tails = selection.tails()
        if tails is not None and len(tails) == 1 and len(self._stacks) == 1 and len(self._stacks[0].families) == 1:
            tails = None  # one whole family that is alone in its stack: the whole row there, in one seek
        self._tails = tails
        self._portions: Portions | None = None
        """As soon as what is read may be large."""
        self.row_filter: RowFilter | None = None
        """The filter that sees what is read, if any: cells that it does not care about may be left out."""
        self._seeker: ColumnSeeker | None = None
        self.pause: Callable[[], object] = lambda: None
        """Lets other tasks run during long work on what the read asks for."""

    def several_blocks(self) -> None:
        if self._portions is None:
            self._portions = Portions()

    def read(self, block_bytes: int) -> None:
        if self._portions is not None:
            self._portions.read(block_bytes)
        if self.budget is not None:
            self.budget.read_bytes += block_bytes

    @switches
    def _list(self, pairs: Iterator[Pair], most: int) -> list[Pair]:
        """The next pairs; not all of `most` where blocks that hold them are large."""
        if self._portions is None:
            return list(islice(pairs, most))
        return self._portions.take(pairs, most)

    @switches
    def row(self, row: bytes, cache_blocks: bool) -> Iterable[Sequence[Pair]] | None:
        """The pairs of one row that matter, in lists, a tuple where there is but one; None when there are no pairs for
        sure. May switch. Hot."""
        prefix = row_prefix(row)
        stop = prefix[:-1] + b"\x02"
        sources = self._row_sources(prefix, prefix, stop, cache_blocks)
        if not sources:
            return None
        pairs = sources[0] if len(sources) == 1 else merge(sources)
        # Most columns hold few versions; more than these are read only if the column is not settled by them.
        few = _FEW if self._tails is None else _FEW_OF_COLUMNS
        portions = self._portions
        first = list(islice(pairs, few)) if portions is None else portions.take(pairs, few)
        if len(first) < few and (portions is None or not portions.was_cut):
            return (first,)

        def reopen(start: bytes, stop: bytes) -> Iterator[Pair]:
            return merge(self._row_sources(prefix, start, stop, cache_blocks))

        pairs = behind(first, pairs, reopen, stop, self._selection)
        lists = skipping_settled(pairs, reopen, stop, self._selection, _FEW, self._list, self._target)
        return chain((first,), self._counted(lists))

    @switches
    def range_in_lists(self, start: bytes, stop: bytes, cache: Callable[[Stack], bool]) -> Iterator[list[Pair]]:
        """All pairs of the wanted stacks with start <= key < stop (b"": to the end) that a read may see, ascending, in
        lists: short ones first, because a page may need only one row. May switch."""

        def reopen(start: bytes, stop: bytes) -> Iterator[Pair]:
            return self.range(start, stop, cache)

        pairs = reopen(start, stop)
        return self._counted(
            skipping_settled(pairs, reopen, stop, self._selection, _FIRST_LIST, self._list, self._target)
        )

    @switches
    def _target(self, pairs: list[Pair]) -> bytes | None:
        """The key at which to read on behind a list, None: at the next one."""
        if len(pairs) < SOUGHT_AFTER and not (self._portions is not None and self._portions.was_cut):
            return None
        columns = self._selection.columns
        if columns is None and self.row_filter is None:
            return None
        if self._seeker is None or self._seeker.row_filter is not self.row_filter:
            self._seeker = ColumnSeeker(columns, self.row_filter, self.pause)
        return self._seeker.target(pairs)

    @switches
    def _counted(self, lists: Iterator[list[Pair]]) -> Iterator[list[Pair]]:
        for one in lists:
            self._tally.examined += len(one)
            if self.budget is not None:
                self.budget.cells += len(one)
            yield one

    @switches
    def range(self, start: bytes, stop: bytes, cache: Callable[[Stack], bool]) -> Iterator[Pair]:
        """All pairs of the wanted stacks with start <= key < stop (b"": to the end), ascending. May switch."""
        sources: list[Iterator[Pair]] = []
        for stack in self._stacks:
            cache_blocks = cache(stack)
            for memtable in stack.memtables():
                if memtable.cells:
                    sources.append(memtable.scan(start, stop, self._sequence))
            for file in stack.files:
                if not (self._selection.timed and self._untimely(file)):
                    sources.append(file.scan(start, stop, cache_blocks, self))
        return merge(sources)

    def reverse_hint(self, stop: bytes, cells: int) -> bytes | None:
        """The greatest key at which some source suggests to begin reading towards `stop`; None: nothing lies before."""
        found: bytes | None = None
        for stack in self._stacks:
            hints = [memtable.reverse_hint(stop, cells) for memtable in stack.memtables()]
            hints += [file.reader.reverse_hint(stop) for file in stack.files]
            for hint in hints:
                if hint is not None and (found is None or hint > found):
                    found = hint
        return found

    @switches
    def _row_sources(self, prefix: bytes, start: bytes, stop: bytes, cache_blocks: bool) -> list[Iterator[Pair]]:
        """The sources that may hold pairs of the row, each giving those of [start, stop) that the read asks for."""
        if self._tails is not None:
            return self._column_sources(prefix, start, stop, self._tails, cache_blocks)
        sources: list[Iterator[Pair]] = []
        timed = self._selection.timed
        for stack in self._stacks:
            active = stack.active
            if active is not None and active.cells:
                sources.append(active.scan(start, stop, self._sequence))
            for memtable in stack.frozen:
                sources.append(memtable.scan(start, stop, self._sequence))
            for file in stack.files:
                reader = file.reader
                if reader.may_hold_row(prefix) and not (timed and self._untimely(file)):
                    sources.append(file.scan(start, stop, cache_blocks, self))
        return sources

    @switches
    def _column_sources(
        self, prefix: bytes, start: bytes, stop: bytes, tails: Tails, cache_blocks: bool
    ) -> list[Iterator[Pair]]:
        ranges = [(prefix + tail, prefix + tail_stop, is_asked) for tail, tail_stop, is_asked in tails]
        if start != prefix or stop != prefix[:-1] + b"\x02":
            ranges = [
                (max(first, start), min(last, stop), is_asked)
                for first, last, is_asked in ranges
                if first < stop and start < last
            ]
        sources: list[Iterator[Pair]] = []
        for stack in self._stacks:
            for memtable in stack.memtables():
                if memtable.cells:
                    sources.append(_memtable_ranges(memtable.scan, ranges, self._sequence))
            for file in stack.files:
                reader = file.reader
                if not reader.may_hold_row(prefix) or (self._selection.timed and self._untimely(file)):
                    continue
                wanted = self._ranges_in(file, ranges)
                if wanted:
                    sources.append(_file_ranges(file.scan, wanted, cache_blocks, self))
        return sources

    def _ranges_in(self, file: LoadedFile, ranges: list[Span]) -> list[Span]:
        """Without the columns that the file's Bloom filter denies, and without looking for markers in a file that has
        none. (The filter knows nothing of a range that is not one column: of a family, or of what is left of one.)"""
        reader = file.reader
        has_markers = reader.properties.markers > 0
        return [
            span
            for span in ranges
            if (span[2] or has_markers) and (span[1] != span[0][:-1] + b"\x02" or reader.may_hold_column(span[0]))
        ]

    def _untimely(self, file: LoadedFile) -> bool:
        """Whether no cell of the file can be in the time range asked for. Markers mask whatever the range is."""
        properties = file.reader.properties
        selection = self._selection
        return properties.markers == 0 and (
            properties.max_timestamp < selection.min_timestamp or properties.min_timestamp >= selection.max_timestamp
        )


def _memtable_ranges(
    scan: Callable[[bytes, bytes, int], Iterator[Pair]], ranges: list[Span], sequence: int
) -> Iterator[Pair]:
    for start, stop, _ in ranges:
        yield from scan(start, stop, sequence)


@switches
def _file_ranges(
    scan: Callable[[bytes, bytes, bool, Meter], Iterator[Pair]], ranges: list[Span], cache_blocks: bool, meter: Meter
) -> Iterator[Pair]:
    for start, stop, _ in ranges:
        yield from scan(start, stop, cache_blocks, meter)
