"""A tablet server's accounts of column families: what its tablets keep, and the shared block cache has of them."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, final

from hbtable.metrics.registry import Labels, Measure
from hbtable.model.usage import FamilyUsage, summed
from hbtable.runtime.interface import Runtime
from hbtable.runtime.slices import in_slices
from hbtable.sstable.cache import BlockCache
from hbtable.switches import switches
from hbtable.tablet.tablet import Tablet

_MOST_UNSUMMED: Final = 1000


@switches
def family_usage(runtime: Runtime, tablets: Sequence[Tablet], cache: BlockCache) -> list[FamilyUsage]:
    """One for each table and group, ascending. Not a snapshot: it *switches* among many tablets."""
    found: list[FamilyUsage] = []
    paths: defaultdict[tuple[str, tuple[bytes, ...]], set[str]] = defaultdict(set)
    for tablet in in_slices(runtime, tablets):
        for usage, files in tablet.usage():
            found.append(usage)
            paths[usage[:2]].update(files)
        if len(found) > _MOST_UNSUMMED:
            found = summed(found)
    for (table, families), together in paths.items():  # each once: halves of a split tablet share files
        cached = sum(cache.bytes_of(path) for path in in_slices(runtime, list(together)))
        found.append(FamilyUsage(table, families, cache_bytes=cached))
    return summed(found)


FAMILY_MEASURES: Final[list[Measure]] = [
    (
        "hbtable_family_files",
        "SSTables, by table and column family; '/' stands between those of a locality group.",
        False,
    ),
    ("hbtable_family_file_bytes", "Bytes of SSTables, by table and column family.", False),
    ("hbtable_family_file_cells", "Cells and markers in SSTables, by table and column family.", False),
    ("hbtable_family_memtable_bytes", "Memory of memtables, by table and column family.", False),
    ("hbtable_family_memtable_cells", "Cells and markers in memtables, by table and column family.", False),
    ("hbtable_family_cache_bytes", "Memory of blocks in the block cache, by table and column family.", False),
    ("hbtable_family_read_rows_total", "Rows read, by table and column family.", True),
    ("hbtable_family_written_cells_total", "Cells and markers written, by table and column family.", True),
]
"""One for each of model.usage.FIGURES."""

_MOST_SHOWN: Final = 1000


_Place = tuple[str, tuple[bytes, ...]]
"""Table and families."""


@final
class FamilySamples:
    """The usages as samples. Does not switch.

    The counts of a tablet go with it when it is moved, split or merged. A sum that fell would be a restart to
    Prometheus, and all that is left of it an increase; so what went is added from then on, as long as there is
    something of the table."""

    __slots__ = ("_gone", "_last")

    def __init__(self) -> None:
        self._last: dict[_Place, FamilyUsage] = {}
        self._gone: dict[_Place, tuple[int, int]] = {}
        """Rows read and cells written."""

    def of(self, usages: Sequence[FamilyUsage]) -> list[tuple[Labels, Sequence[float]]]:
        """The thousand families with the most bytes on disk and in memtables: a scraper keeps a series for each.
        `usages`: one for each table and group."""
        self._gone = {one[:2]: self._gone_of(one) for one in usages}
        self._last = {one[:2]: one for one in usages}
        largest = sorted(usages, key=lambda one: one.file_bytes + one.memtable_bytes, reverse=True)
        return [self._sample(one) for one in largest[:_MOST_SHOWN]]

    def _gone_of(self, now: FamilyUsage) -> tuple[int, int]:
        last = self._last.get(now[:2], now)
        rows, cells = self._gone.get(now[:2], (0, 0))
        return rows + max(0, last.read_rows - now.read_rows), cells + max(0, last.written_cells - now.written_cells)

    def _sample(self, one: FamilyUsage) -> tuple[Labels, Sequence[float]]:
        rows, cells = self._gone[one[:2]]
        texts = one.texts()
        counted = one._replace(read_rows=one.read_rows + rows, written_cells=one.written_cells + cells)
        return (("family", texts["families"]), ("table", texts["table"])), counted[2:]
