"""Making one SSTable of the pairs of a compaction: what decides its bytes, and the one loop over its cells.

Pure, so that it runs in this process as well as in another one (worker_job.py): pairs in, bytes out.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from hbtable.encoding.cell_key import Pair
from hbtable.merge.compacting import compacted
from hbtable.merge.rules import FamilyRules
from hbtable.merge.tally import Tally
from hbtable.sstable.builder import SSTableBuilder, SSTableOptions
from hbtable.sstable.properties import SSTableIdentity
from hbtable.switches import switches
from hbtable.tablet.compactions.regroup import of_families
from hbtable.tablet.compactions.set_back import moved


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """The settings that decide what is written of given pairs."""

    options: SSTableOptions
    identity: SSTableIdentity
    rules: Mapping[bytes, FamilyRules]
    now_millis: int
    drop_markers: bool
    """Every older cell of these families is among the pairs."""
    earliest_put: int
    """No put among the pairs has an earlier time."""
    masked_before: int
    """Cells that markers of the inputs had masked when those were written."""
    output_bytes: int
    older_until: int = -1
    """No older cell of these families that is not among the pairs has a later time, but for times of the future; -1:
    there is none."""
    families: frozenset[bytes] | None = None
    """Of these alone, as they stand in keys; None: all."""
    set_back: tuple[int, int] | None = None
    """Now, and the latest time that is to be moved to it (set_back.moved)."""


class Made(NamedTuple):
    """The file that was made, as METADATA has to know it."""

    length_bytes: int
    footer_checksum: int
    first_sequence: int
    last_sequence: int
    cells: int


@switches
def make(
    pairs: Iterator[Pair],
    spec: OutputSpec,
    append: Callable[[bytes], object],
    pause: Callable[[], None],
) -> Made | None:
    """Hands the SSTable to `append`, piece by piece; None, and nothing is appended, when no pairs are left. `pairs`
    ascend, equals allowed. `pause` is called after each block, and while the Bloom filter is made."""
    if spec.families is not None:
        pairs = of_families(pairs, spec.families)
    if spec.set_back is not None:
        pairs = moved(pairs, *spec.set_back)
    tally = Tally()
    kept = compacted(pairs, spec.rules, spec.now_millis, spec.drop_markers, tally, spec.earliest_put, spec.older_until)
    first = next(kept, None)
    if first is None:
        return None
    builder = SSTableBuilder(spec.options, spec.identity)
    add = builder.add
    for key, value in chain((first,), kept):
        if add(key, value):  # a block is complete: one of large cells takes its time
            if builder.waiting_bytes >= spec.output_bytes:
                append(builder.take())
            pause()
    builder.masked = 0 if spec.drop_markers else spec.masked_before + tally.dead
    append(builder.finish(pause))
    properties = builder.properties
    assert properties is not None
    return Made(
        builder.length_bytes,
        builder.footer_checksum,
        properties.first_sequence,
        properties.last_sequence,
        properties.cells,
    )
