"""The block cache: blocks of SSTables that were read from the file system (paper, section 6).

Least recently used goes first. Blocks of in-memory families have a share of the capacity in which other blocks cannot
push them out; beyond the share they compete like all others. What counts is the real memory of a block, in the form it
has now. One per process, used by all tablets. Nothing here switches.
"""

from collections import OrderedDict
from typing import final

from hbtable.metrics.registry import Counter
from hbtable.sstable.block import Block

_Place = tuple[str, int]


@final
class BlockCache:
    """The block cache of one process. `used_bytes` <= `capacity_bytes` after every call. Evicting forgets: readers in
    the middle of a block keep it."""

    __slots__ = (
        "_blocks",
        "_offsets",
        "_protected",
        "_protected_share_bytes",
        "capacity_bytes",
        "denied",
        "evictions",
        "hits",
        "misses",
        "protected_bytes",
        "used_bytes",
    )

    def __init__(
        self,
        capacity_bytes: int,
        hits: Counter | None = None,
        misses: Counter | None = None,
        evictions: Counter | None = None,
        in_memory_share: float = 0.5,
        denied: Counter | None = None,
    ) -> None:
        """`in_memory_share` of the capacity is for in-memory families first; unused, it serves all."""
        self.capacity_bytes = capacity_bytes
        self.hits = hits if hits is not None else Counter()
        self.misses = misses if misses is not None else Counter()
        self.evictions = evictions if evictions is not None else Counter()
        self.denied = denied if denied is not None else Counter()
        """Not the cache's own: reads that a Bloom filter made unnecessary. All readers of a process share it."""
        self.used_bytes = 0
        self.protected_bytes = 0
        self._protected_share_bytes = int(capacity_bytes * in_memory_share)
        self._blocks: OrderedDict[_Place, Block] = OrderedDict()
        self._protected: OrderedDict[_Place, Block] = OrderedDict()
        self._offsets: dict[str, set[int]] = {}

    def __len__(self) -> int:
        return len(self._blocks) + len(self._protected)

    def get(self, path: str, offset: int) -> Block | None:
        """Counts a hit or a miss and makes the block the most recently used."""
        place = (path, offset)
        block = self._blocks.get(place)
        if block is not None:
            self._blocks.move_to_end(place)
            self.hits.value += 1
            return block
        block = self._protected.get(place)
        if block is not None:
            self._protected.move_to_end(place)
            self.hits.value += 1
            return block
        self.misses.value += 1
        return None

    def peek(self, path: str, offset: int) -> Block | None:
        """Like get, but leaves no trace: for scans that must not disturb the cache."""
        place = (path, offset)
        return self._blocks.get(place) or self._protected.get(place)

    def put(self, path: str, offset: int, block: Block, in_memory: bool = False) -> None:
        """Two readers may have loaded the same block at the same time: the first one put stays."""
        place = (path, offset)
        if place in self._blocks or place in self._protected or block.memory_bytes > self.capacity_bytes:
            return
        if in_memory:
            self._protected[place] = block
        else:
            self._blocks[place] = block
        block.is_protected = in_memory
        self._offsets.setdefault(path, set()).add(offset)
        self._charge(block, block.memory_bytes)
        self._shrink()

    def resize(self, capacity_bytes: int) -> None:
        """Holds so much from now on. The share of in-memory families stays what it was of the first capacity."""
        self.capacity_bytes = capacity_bytes
        self._shrink()

    def recount(self, block: Block) -> None:
        """Counts a block again whose `memory_bytes` changed. Nothing happens if it is not in the cache any more."""
        if block.charged_bytes:
            self._charge(block, block.memory_bytes)
            self._shrink()

    def bytes_of(self, path: str) -> int:
        """Memory of all blocks of a file. Takes about a microsecond for four of them."""
        places = [(path, offset) for offset in self._offsets.get(path, ())]
        blocks = [self._blocks.get(place) or self._protected[place] for place in places]
        return sum([block.charged_bytes for block in blocks])

    def drop_file(self, path: str) -> None:
        """Forgets all blocks of a file. A read still running may put one back; it ages out."""
        for offset in self._offsets.pop(path, ()):
            place = (path, offset)
            block = self._blocks.pop(place, None) or self._protected.pop(place, None)
            if block is not None:
                self._charge(block, 0)

    def _charge(self, block: Block, memory_bytes: int) -> None:
        change = memory_bytes - block.charged_bytes
        block.charged_bytes = memory_bytes
        self.used_bytes += change
        if block.is_protected:
            self.protected_bytes += change

    def _shrink(self) -> None:
        while self.used_bytes > self.capacity_bytes:
            over_share = self.protected_bytes > self._protected_share_bytes
            victims = self._protected if over_share or not self._blocks else self._blocks
            (path, offset), block = victims.popitem(last=False)
            self._charge(block, 0)
            self.evictions.value += 1
            offsets = self._offsets[path]
            offsets.discard(offset)
            if not offsets:
                del self._offsets[path]
