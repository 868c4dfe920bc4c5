"""k-way merge of sorted pair iterators (paper, section 5.3: reads see "a merged view of the sequence of SSTables and
the memtable").

Invariant: every source ascends by key, so does the result. A key held by two sources comes twice, the earlier source's
first; visibility and compaction take the first of equals. Sources are advanced only as far as the result is consumed
(one pair ahead).
"""

from collections.abc import Iterator
from heapq import heapify, heappop, heapreplace

from hbtable.encoding.cell_key import Pair
from hbtable.switches import switches


@switches
def merge(sources: list[Iterator[Pair]]) -> Iterator[Pair]:
    """All pairs of all sources, keys ascending. One source costs nothing; runs that no other source interrupts cost
    one comparison a pair."""
    if len(sources) == 1:
        return sources[0]
    return _merge_many(sources)


@switches
def _merge_many(sources: list[Iterator[Pair]]) -> Iterator[Pair]:
    # (head's key, place among the sources, head, the source): the place decides before pairs are ever compared.
    heap: list[tuple[bytes, int, Pair, Iterator[Pair]]] = []
    for place, source in enumerate(sources):
        for pair in source:
            heap.append((pair[0], place, pair, source))
            break
    heapify(heap)
    while len(heap) > 1:
        _, place, pair, source = heap[0]
        rival = heap[1][0]
        if len(heap) > 2 and heap[2][0] < rival:
            rival = heap[2][0]
        yield pair
        for pair in source:
            key = pair[0]
            if key < rival:
                yield pair
            else:
                heapreplace(heap, (key, place, pair, source))
                break
        else:
            heappop(heap)
    if heap:
        yield heap[0][2]
        yield from heap[0][3]
