"""Memtables of very many pairs, made before their write goes to the log.

To put 200,000 pairs into the memtable of a tablet takes 80 ms of the processor, and all of it has to be one stretch: a
reader sees all pairs of a write or none. So the pairs are put into a memtable of their own before the log has them, in
turns with other tasks. After that only two memtables are exchanged (Version.with_prepared).
"""

from collections.abc import Callable, Sequence
from typing import Final

from hbtable.encoding.cell_key import Pair
from hbtable.encoding.pairs_checksum import checksum_of
from hbtable.memtable.memtable import Memtable
from hbtable.model.parts import parts_of
from hbtable.switches import switches

ADDED_AT_ONCE: Final = 10_000
"""Pairs that go into the memtable that there is: 3 to 6 ms of the processor. Fewer: more memtables, in each of which
every read has to look."""
_PART: Final = 1000


@switches
def prepared_memtable(pairs: Sequence[Pair], sequence: int, pause: Callable[[], None]) -> Memtable | None:
    """A memtable with the pairs, whose keys carry sequences up to `sequence`. *Switches* between parts. None: they are
    so few that they can be added in one stretch."""
    if len(pairs) <= ADDED_AT_ONCE:
        return None
    memtable = _filled(pairs, sequence, pause)
    if memtable.cells < len(pairs):  # a key came twice, and the checksum of its first pair says nothing any more
        latest: dict[bytes, bytes] = {}
        for part in parts_of(pairs, _PART):
            latest.update(part)
            pause()
        memtable = _filled(list(latest.items()), sequence, pause)
    return memtable


@switches
def _filled(pairs: Sequence[Pair], sequence: int, pause: Callable[[], None]) -> Memtable:
    memtable = Memtable()
    for part in parts_of(pairs, _PART):
        memtable.add(part, sequence, checksum_of(part))
        pause()
    return memtable
