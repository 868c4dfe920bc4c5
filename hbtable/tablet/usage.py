"""Disk and memory of a tablet's locality groups."""

from collections.abc import Iterator
from typing import NamedTuple

from hbtable.encoding.cell_key import family_name
from hbtable.model.ranges import RowRange
from hbtable.model.usage import FamilyUsage
from hbtable.tablet.layout import families_of_key
from hbtable.tablet.request_counts import GroupCounts
from hbtable.tablet.state import TabletState
from hbtable.tablet.version import LoadedFile, Stack, key_range


class GroupUsage(NamedTuple):
    """A locality group's usage without the cache, which a server's tablets share, and the paths of its SSTables."""

    usage: FamilyUsage
    paths: tuple[str, ...]


def usage_of(state: TabletState) -> Iterator[GroupUsage]:
    """Groups of earlier groupings included, of which several may have the same families. Does not switch."""
    table = state.version.layout.table
    stacks = {stack.key: stack for stack in state.version.stacks}
    for key in stacks | state.counts.by_key:
        counts = state.counts.by_key.get(key, _NONE)
        families = tuple(sorted(set(map(family_name, families_of_key(key)))))
        kept = _kept(stacks[key], state.range) if key in stacks else (0, 0, 0, 0, 0)
        files = stacks[key].files if key in stacks else ()
        usage = FamilyUsage(table, families, *kept, 0, counts.read_rows, counts.written_cells)
        yield GroupUsage(usage, tuple(file.ref.path for file in files))


_NONE = GroupCounts()


def _kept(stack: Stack, rows: RowRange) -> tuple[int, int, int, int, int]:
    """Files, their bytes, their cells, memtables' bytes and cells."""
    keys = key_range(rows)
    sizes = [(file, file.bytes_in(keys)) for file in stack.files]
    memtables = [memtable for memtable in stack.memtables() if memtable.cells]
    return (
        len(sizes),
        sum(size for _, size in sizes),
        sum(_cells(file, size) for file, size in sizes),
        sum(memtable.bytes_used for memtable in memtables),
        sum(memtable.cells for memtable in memtables),
    )


def _cells(file: LoadedFile, size_bytes: int) -> int:
    """The cells in a part of the file, by its share of the bytes."""
    length = file.ref.length_bytes
    return file.ref.cells * size_bytes // length if size_bytes < length else file.ref.cells
