"""Which memtables and SSTables a read has to look into, and which part of their rows (paper, sections 5.3 and 6).

A Snapshot is a version and the last visible sequence: what it reads does not change, however long the read takes (bug
class 13). A Want is what a ReadSpec means for one layout.

When qualifiers are given, only their columns are read, and the empty qualifier of each family, where family markers sit
(those mask whatever column is asked for). Bloom filters leave out files that hold nothing of the row or columns.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, final

from hbtable.encoding.cell_key import row_prefix
from hbtable.merge.merging import Pair, merge
from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.read import ReadSpec
from hbtable.tablet.apply import no_such_family
from hbtable.tablet.layout import Layout
from hbtable.tablet.version import LoadedFile, Stack, Version

_MOST_RANGES: Final = 16
"""With more columns than this, whole rows are read: seeks cost more than cells skipped."""

Tails = tuple[tuple[bytes, bytes], ...]
"""Ranges of keys within a row: what follows the row's prefix, from and to."""


@final
class Want:
    """The families, columns, times and versions of a read, for one layout."""

    __slots__ = ("columns", "layout", "max_timestamp", "max_versions", "min_timestamp", "rules", "timed")

    def __init__(self, layout: Layout, spec: ReadSpec, every_version: bool) -> None:
        """`every_version`: for a filter that looks at older ones. NoSuchFamily."""
        self.layout = layout
        self.rules = layout.rules
        self.columns = spec.columns
        if spec.columns is not None:
            for family in spec.columns:
                if family not in layout.rules:
                    raise no_such_family(layout, family)
        self.min_timestamp = spec.min_timestamp
        self.max_timestamp = spec.max_timestamp
        self.timed = spec.min_timestamp > 0 or spec.max_timestamp < MAX_TIMESTAMP
        self.max_versions = 2**31 - 1 if every_version else spec.max_versions

    def tails(self) -> Tails | None:
        """The parts of a row to read; None: all of it."""
        columns = self.columns
        if columns is None:
            return None
        tails: list[tuple[bytes, bytes]] = []
        for family in sorted(columns):
            qualifiers = columns[family]
            start = family + b"\x00"
            if qualifiers is None:
                tails.append((start, family + b"\x01"))
                continue
            tails.append((start + b"\x00\x01", start + b"\x00\x02"))
            for qualifier in sorted(qualifiers):
                if qualifier:
                    escaped = qualifier.replace(b"\x00", b"\x00\xff") if b"\x00" in qualifier else qualifier
                    tails.append((start + escaped + b"\x00\x01", start + escaped + b"\x00\x02"))
        return tuple(tails) if len(tails) <= _MOST_RANGES else None


@final
class Snapshot:
    """A version as one read sees it."""

    __slots__ = ("_caching", "_sequence", "_stacks", "_tails", "_want", "version")

    def __init__(self, version: Version, sequence: int, want: Want) -> None:
        self.version = version
        self._sequence = sequence
        self._want = want
        columns = want.columns
        self._stacks: Sequence[Stack] = version.stacks if columns is None else version.holding(columns)
        tails = want.tails()
        if tails is not None and len(tails) == 1 and len(self._stacks) == 1 and len(self._stacks[0].families) == 1:
            tails = None  # one whole family that is alone in its stack: the whole row there, in one seek
        self._tails = tails

    def row(self, row: bytes, cache_blocks: bool) -> Iterator[Pair] | None:
        """The pairs of one row that matter; None when there are none for sure. May switch."""
        prefix = row_prefix(row)
        tails = self._tails
        if tails is not None:
            return self._columns(prefix, tails, cache_blocks)
        stop = prefix[:-1] + b"\x02"
        sources: list[Iterator[Pair]] = []
        timed = self._want.timed
        for stack in self._stacks:
            active = stack.active
            if active is not None and active.cells:
                sources.append(active.scan(prefix, stop, self._sequence))
            for memtable in stack.frozen:
                sources.append(memtable.scan(prefix, stop, self._sequence))
            for file in stack.files:
                reader = file.reader
                if reader.may_hold_row(prefix) and not (timed and self._untimely(file)):
                    sources.append(reader.scan(prefix, stop, cache_blocks))
        if len(sources) == 1:
            return sources[0]
        return merge(sources) if sources else None

    def range(self, start: bytes, stop: bytes, cache: Callable[[Stack], bool]) -> Iterator[Pair]:
        """All pairs of the wanted stacks with start <= key < stop (b"": to the end), ascending. May switch."""
        sources: list[Iterator[Pair]] = []
        for stack in self._stacks:
            cache_blocks = cache(stack)
            for memtable in stack.memtables():
                if memtable.cells:
                    sources.append(memtable.scan(start, stop, self._sequence))
            for file in stack.files:
                if not (self._want.timed and self._untimely(file)):
                    sources.append(file.reader.scan(start, stop, cache_blocks))
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

    def _columns(self, prefix: bytes, tails: Tails, cache_blocks: bool) -> Iterator[Pair]:
        ranges = [(prefix + start, prefix + stop) for start, stop in tails]
        sources: list[Iterator[Pair]] = []
        for stack in self._stacks:
            for memtable in stack.memtables():
                if memtable.cells:
                    sources.append(_memtable_ranges(memtable.scan, ranges, self._sequence))
            for file in stack.files:
                reader = file.reader
                if not reader.may_hold_row(prefix) or (self._want.timed and self._untimely(file)):
                    continue
                wanted = self._ranges_in(file, ranges)
                if wanted:
                    sources.append(_file_ranges(reader.scan, wanted, cache_blocks))
        return merge(sources)

    def _ranges_in(self, file: LoadedFile, ranges: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Without the columns that the file's Bloom filter denies. (A range whose start is no column's prefix is a
        whole family: the filter knows nothing of those.)"""
        reader = file.reader
        return [span for span in ranges if span[0][-1:] != b"\x01" or reader.may_hold_column(span[0])]

    def _untimely(self, file: LoadedFile) -> bool:
        """Whether no cell of the file can be in the time range asked for. Markers mask whatever the range is."""
        properties = file.reader.properties
        want = self._want
        return properties.markers == 0 and (
            properties.max_timestamp < want.min_timestamp or properties.min_timestamp >= want.max_timestamp
        )


def _memtable_ranges(
    scan: Callable[[bytes, bytes, int], Iterator[Pair]], ranges: list[tuple[bytes, bytes]], sequence: int
) -> Iterator[Pair]:
    for start, stop in ranges:
        yield from scan(start, stop, sequence)


def _file_ranges(
    scan: Callable[[bytes, bytes, bool], Iterator[Pair]], ranges: list[tuple[bytes, bytes]], cache_blocks: bool
) -> Iterator[Pair]:
    for start, stop in ranges:
        yield from scan(start, stop, cache_blocks)
