"""A tablet server's accounts of column families: what its tablets keep, and the shared block cache has of them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

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


def family_samples(usages: Sequence[FamilyUsage]) -> Iterator[tuple[Labels, Sequence[float]]]:
    """The thousand families with the most bytes on disk and in memtables: a scraper keeps a series for each."""
    largest = sorted(usages, key=lambda one: one.file_bytes + one.memtable_bytes, reverse=True)
    for one in largest[:_MOST_SHOWN]:
        texts = one.texts()
        yield (("family", texts["families"]), ("table", texts["table"])), one[2:]
