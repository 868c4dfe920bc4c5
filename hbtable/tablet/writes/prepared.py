"""Memtables of very many pairs, made before their write goes to the log.

To put 200,000 pairs into the memtable of a tablet takes 80 ms of the processor, and all of it has to be one stretch: a
reader sees all pairs of a write or none. So the pairs are put into a memtable of their own before the log has them, in
turns with other tasks. After that only memtables are exchanged (Version.with_prepared).

A dict grows in one step: of a million pairs it takes 70 ms. So there are several memtables, each for a share of the
keys, where the pairs are more than one may hold. The share is told by Python's hash of the key, which no client can
compute (unless PYTHONHASHSEED is set): by a checksum, he could choose keys that all come into one dict.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Final

from hbtable.encoding.cell_key import Pair
from hbtable.encoding.pairs_checksum import checksum_of
from hbtable.memtable.memtable import Memtable
from hbtable.model.parts import parts_of
from hbtable.switches import switches

ADDED_AT_ONCE: Final = 10_000
"""Pairs that go into the memtable that there is: 3 to 6 ms of the processor. Fewer: more memtables, in each of which
every read has to look."""
_PART: Final = 600
_BITS_OF_DICTS: Final = 32
"""Of a hash: by these a dict places its keys. Were the shares made by them, keys of a share would meet there."""
_MOST: Final = 150_000
"""Pairs of one memtable, about: its dict grows the last time at 87,382, which takes 3 ms. Fewer: more memtables, in
each of which every read has to look until they are flushed."""


@switches
def prepared_memtables(pairs: Sequence[Pair], sequence: int, pause: Callable[[], None]) -> Sequence[Memtable]:
    """Memtables with the pairs, whose keys carry sequences up to `sequence`; none has a key of another one. *Switches*
    between parts. None at all: the pairs are so few that they can be added in one stretch."""
    if len(pairs) <= ADDED_AT_ONCE:
        return ()
    count = -(-len(pairs) // _MOST)
    if count == 1:
        return (_prepared(pairs, sequence, pause),)
    shares: list[list[Pair]] = [[] for _ in range(count)]
    for part in parts_of(pairs, _PART):
        for pair in part:
            # Equal keys meet in one of them, in their order.
            shares[(hash(pair[0]) >> _BITS_OF_DICTS) % count].append(pair)
        pause()
    found = []
    while shares:
        found.append(_prepared(shares.pop(), sequence, pause))
    return [memtable for memtable in found if memtable.cells]


@switches
def _prepared(pairs: Sequence[Pair], sequence: int, pause: Callable[[], None]) -> Memtable:
    memtable = _filled(parts_of(pairs, _PART), sequence, pause)
    if memtable.cells < len(pairs):  # a key came twice, and the checksum of its first pair says nothing any more
        latest: dict[bytes, bytes] = {}
        for part in parts_of(pairs, _PART):
            latest.update(part)
            pause()
        for _ in memtable.taken_apart():
            pause()
        items = iter(latest.items())
        memtable = _filled(iter(lambda: list(islice(items, _PART)), []), sequence, pause)
        while latest:
            for _ in range(min(len(latest), _PART)):
                latest.popitem()
            pause()
    return memtable


@switches
def _filled(parts: Iterable[Sequence[Pair]], sequence: int, pause: Callable[[], None]) -> Memtable:
    memtable = Memtable()
    for part in parts:
        memtable.add(part, sequence, checksum_of(part))
        pause()
    return memtable
