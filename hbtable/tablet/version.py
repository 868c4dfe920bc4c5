"""A tablet's version is all that it is made of at one moment: per stack an active memtable, frozen memtables and
SSTables (Figure 5).

Invariants
    immutable     a Version is swapped whole, in one stretch without a switch; a reader keeps the one it began with, so
                  a flush or compaction never tears a row or loses one in between (bug class 13)
    order         frozen memtables and files oldest first; every sequence in a file < every one in a frozen memtable <=
                  every one in the active memtable of the same stack. A very large write may lie in both: no key of it
                  does (prepared.py)
    closing       nobody closes readers: the last Version, scan or split child that holds an SSTable lets go of it, and
                  with it goes the file handle (SharedFile)
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import final

from hbtable.encoding.cell_key import range_key
from hbtable.fs.interface import RandomReadFile
from hbtable.memtable.memtable import Memtable
from hbtable.merge.range_deletes import Scan, deleted_keys, without_deleted
from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import SSTableRef
from hbtable.sstable.reader import SSTableReader
from hbtable.switches import switches
from hbtable.tablet.damage import UnreadableFile
from hbtable.tablet.layout import LocalityGroupLayout, families_of_key


@final
class SharedFile:
    """A file handle that lives as long as someone can read through it: a reader, or an iterator of one."""

    __slots__ = ("_file",)

    def __init__(self, file: RandomReadFile) -> None:
        self._file = file

    @switches
    def read_at(self, offset: int, size: int) -> bytes:
        return self._file.read_at(offset, size)

    def __del__(self) -> None:
        # Reference counting is the reader count that the design asks for: split children and scans share freely.
        self._file.close()


@final
class LoadedFile:
    """An SSTable as METADATA names it, and its reader, or what stands for one of a damaged file. `scan` is the
    reader's, without the rows that were deleted as ranges."""

    __slots__ = ("deleted", "reader", "ref", "scan")

    def __init__(self, ref: SSTableRef, reader: SSTableReader | UnreadableFile) -> None:
        self.ref = ref
        self.reader = reader
        self.deleted = deleted_keys(ref.deleted)
        self.scan: Scan = reader.scan
        if self.deleted:
            readable = isinstance(reader, SSTableReader)
            latest = reader.properties.max_timestamp if readable else MAX_TIMESTAMP
            self.scan = without_deleted(reader.scan, self.deleted, latest)

    def bytes_in(self, key_range: tuple[bytes, bytes]) -> int:
        """About how many bytes of the file belong to this range of cell keys."""
        between = self.reader.bytes_between
        whole = self.ref.length_bytes if self.inside(key_range) else between(*key_range)
        if not self.deleted:
            return whole
        start, stop = key_range
        gone = 0
        for first, behind, _ in self.deleted:
            first = max(first, start)
            behind = min(behind, stop) if behind and stop else behind or stop
            if not behind or first < behind:
                gone += between(first, behind)
        return max(0, whole - gone)

    def deletes_any(self, start: bytes, stop: bytes) -> bool:
        """Whether any of start <= key < stop (b"": to the end) was deleted as a range."""
        return any((not behind or start < behind) and (not stop or first < stop) for first, behind, _ in self.deleted)

    def inside(self, key_range: tuple[bytes, bytes]) -> bool:
        """False for a file shared with a split's other child."""
        start, stop = key_range
        properties = self.reader.properties
        return start <= properties.first_key and (not stop or properties.last_key < stop)


@final
class Stack:
    """The memtables and files of one set of families. `active` is None where nothing is written any more."""

    __slots__ = ("active", "families", "files", "frozen", "key")

    def __init__(
        self, key: str, active: Memtable | None, frozen: tuple[Memtable, ...], files: tuple[LoadedFile, ...]
    ) -> None:
        self.key = key
        self.families = frozenset(families_of_key(key))
        """As they stand in cell keys."""
        self.active = active
        self.frozen = frozen
        self.files = files

    def memtables(self) -> Sequence[Memtable]:
        """Oldest first."""
        return self.frozen if self.active is None else (*self.frozen, self.active)

    def sound_runs(self, damaged: Container[str]) -> list[tuple[LoadedFile, ...]]:
        """The files, oldest first, in runs of neighbours between those that are damaged."""
        runs: list[list[LoadedFile]] = [[]]
        for file in self.files:
            if file.ref.path in damaged:
                runs.append([])
            else:
                runs[-1].append(file)
        return [tuple(run) for run in runs if run]

    def is_empty(self) -> bool:
        return not self.files and not any(memtable.cells for memtable in self.memtables())


@final
class Version:
    """Stacks: first those of the layout, by place, then those of earlier groupings."""

    __slots__ = ("layout", "stacks")

    def __init__(self, layout: LocalityGroupLayout, stacks: tuple[Stack, ...]) -> None:
        self.layout = layout
        self.stacks = stacks

    def frozen(self) -> "Version":
        """Active memtables that hold anything become frozen ones, with fresh ones in their place."""
        return Version(self.layout, tuple(map(_freeze, self.stacks)))

    def full_ones_frozen(self, cells: int) -> "Version":
        """Active memtables of so many cells or more become frozen ones, with fresh ones in their place."""
        full = [stack.active is not None and stack.active.cells >= cells for stack in self.stacks]
        stacks = (_freeze(stack) if is_full else stack for stack, is_full in zip(self.stacks, full, strict=True))
        return Version(self.layout, tuple(stacks))

    def with_prepared(self, prepared: Sequence[Sequence[Memtable]]) -> "Version":
        """The last of `prepared`, by place of its stack, is written to from now on; what was until now is frozen."""
        stacks = list(self.stacks)
        for place, memtables in enumerate(prepared):
            if memtables:
                stack = _retire(stacks[place])
                stacks[place] = Stack(stack.key, memtables[-1], (*stack.frozen, *memtables[:-1]), stack.files)
        return Version(self.layout, tuple(stacks))

    @switches
    def flushed(self, key: str, memtables: tuple[Memtable, ...], file: LoadedFile | None) -> "Version":
        """The stack's frozen `memtables` are in `file` now, or nothing of them had to be kept."""
        stack = self.stack(key)
        frozen = tuple(memtable for memtable in stack.frozen if memtable not in memtables)
        files = stack.files if file is None else in_order((*stack.files, file))
        return self._with(Stack(key, stack.active, frozen, files))

    @switches
    def compacted(self, key: str, inputs: tuple[LoadedFile, ...], output: LoadedFile | None) -> "Version":
        """`output` stands for the `inputs` of the stack now; files that arrived meanwhile stay. The stack may be gone:
        it was empty, and the schema does not have its families any more."""
        stack = next((stack for stack in self.stacks if stack.key == key), None) or Stack(key, None, (), ())
        paths = {file.ref.path for file in inputs}
        files = tuple(file for file in stack.files if file.ref.path not in paths)
        if output is not None:
            files = in_order((*files, output))
        return self._with(Stack(key, stack.active, stack.frozen, files))

    def with_refs(self, refs: Mapping[str, SSTableRef | None]) -> "Version":
        """The same, with other references to some SSTables, by path; None: without it."""
        stacks = []
        for stack in self.stacks:
            files = []
            for file in stack.files:
                ref = refs.get(file.ref.path, file.ref)
                if ref is not None:
                    files.append(file if ref is file.ref else LoadedFile(ref, file.reader))
            stacks.append(Stack(stack.key, stack.active, stack.frozen, tuple(files)))
        return Version(self.layout, tuple(stacks)).without_empty_stacks()

    def with_layout(self, layout: LocalityGroupLayout) -> "Version":
        """The same content under another schema. Stacks that the schema no longer has take no more writes."""
        old = {stack.key: stack for stack in self.stacks}
        current = []
        for key in layout.keys:
            stack = old.pop(key, None)
            if stack is None:
                stack = Stack(key, Memtable(), (), ())
            elif stack.active is None:
                stack = Stack(key, Memtable(), stack.frozen, stack.files)
            current.append(stack)
        for stack in map(_retire, old.values()):
            if not stack.is_empty():
                current.append(stack)
        return Version(layout, tuple(current))

    def stack(self, key: str) -> Stack:
        """KeyError when there is none."""
        for stack in self.stacks:
            if stack.key == key:
                return stack
        raise KeyError(key)

    def holding(self, families: frozenset[bytes]) -> list[Stack]:
        """The stacks in which cells of any of the families (as they stand in cell keys) may lie."""
        return [stack for stack in self.stacks if not families.isdisjoint(stack.families)]

    def shares_families(self, stack: Stack) -> bool:
        """Whether another stack may hold cells of the same families: older cells may lie there then."""
        return any(other is not stack and not stack.families.isdisjoint(other.families) for other in self.stacks)

    def dropped(self) -> list[Stack]:
        """Stacks that have SSTables, and none of the schema's families in them."""
        current = len(self.layout.keys)
        return [
            stack for stack in self.stacks[current:] if stack.files and stack.families.isdisjoint(self.layout.places)
        ]

    def is_regrouped(self) -> bool:
        """Whether stacks of an earlier grouping remain."""
        return len(self.stacks) > len(self.layout.keys)

    def without_empty_stacks(self) -> "Version":
        places = len(self.layout.keys)
        kept = [stack for place, stack in enumerate(self.stacks) if place < places or not stack.is_empty()]
        return Version(self.layout, tuple(kept))

    def memtable_bytes(self) -> int:
        return sum(memtable.bytes_used for stack in self.stacks for memtable in stack.memtables() if memtable.cells)

    def stamp_of_full(self) -> tuple[object, ...]:
        """The same as long as the layout, the files, the number of memtables and their bytes are. It keeps no memtable:
        one that was flushed is to be freed."""
        stacks = self.stacks
        frozen = [len(stack.frozen) for stack in stacks]
        return self.layout, [stack.files for stack in stacks], frozen, self.memtable_bytes()

    def memtables_empty(self) -> bool:
        return not any(memtable.cells for stack in self.stacks for memtable in stack.memtables())

    def sstable_bytes(self, rows: RowRange) -> int:
        keys = key_range(rows)
        return sum(file.bytes_in(keys) for stack in self.stacks for file in stack.files)

    def most_files(self, damaged: Container[str] = ()) -> int:
        """The most of one stack that a compaction could make fewer."""
        return max((len(run) for stack in self.stacks for run in stack.sound_runs(damaged)), default=0)

    def _with(self, changed: Stack) -> "Version":
        stacks = tuple(changed if stack.key == changed.key else stack for stack in self.stacks)
        return Version(self.layout, stacks if changed in stacks else (*stacks, changed)).without_empty_stacks()


def key_range(rows: RowRange) -> tuple[bytes, bytes]:
    """The half-open range of cell keys of a range of rows."""
    return range_key(rows.start), range_key(rows.stop)


@switches
def in_order(files: Iterable[LoadedFile]) -> tuple[LoadedFile, ...]:
    return tuple(sorted(files, key=lambda file: (file.ref.first_sequence, file.ref.path)))


def _freeze(stack: Stack) -> Stack:
    if stack.active is None or not stack.active.cells:
        return stack
    return Stack(stack.key, Memtable(), (*stack.frozen, stack.active), stack.files)


def _retire(stack: Stack) -> Stack:
    if stack.active is None:
        return stack
    frozen = (*stack.frozen, stack.active) if stack.active.cells else stack.frozen
    return Stack(stack.key, None, frozen, stack.files)
