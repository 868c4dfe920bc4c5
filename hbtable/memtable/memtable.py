"""The memtable: recently committed cells of one locality group, sorted, in memory (paper, section 5.3).

Append-only until it is dropped after a minor compaction (5.4): a key is never removed, and the same key always has the
same value once its mutation is applied, because keys carry the mutation's sequence. So a scan may look again where it
stood after any number of writes, and the sequence decides what it sees. Nothing here switches.

Pairs lie here for as long as an hour, and memory may change meanwhile. So each call of add() brings the checksum that
its pairs had when their log record was made. After the pairs were written to a block, changed() says whether they still
have that checksum.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from operator import add
from sys import getrefcount
from typing import Final, final

from hbtable.crc32 import crc32
from hbtable.encoding.cell_key import INVERT, Pair
from hbtable.encoding.pairs_checksum import checksum_of
from hbtable.memtable.sorted_keys import SortedKeys
from hbtable.model.parts import parts_of

Portion = tuple[list[bytes], list[bytes]]
"""Keys, and their values."""

PAIR_OVERHEAD_BYTES: Final = 128
"""Memory of a pair beyond its bytes, measured with tracemalloc as 104 to 127: two bytes objects (33 each, rounded up to
16), an entry of a dict that is between one and two thirds full, a slot in a sorted run."""

MOST_CELLS: Final = 160_000
"""So many pairs or more are enough. The dict grows in one step: at 87,382 pairs in 3 ms, and when the 174,763rd comes
in 7 ms, which is more than others should wait; at the next step it would be 20."""

_ALL_BITS: Final = 0xFFFFFFFF

_CHECKED_AT_ONCE: Final = 512
"""Pairs that are looked at between two pauses. Each KiB of their values counts as one more."""
_CHECKED_TOGETHER: Final = 32

_MANY: Final = 512
"""Pairs of one call, above which fewer steps for each are worth the memory of another dict."""

_FREED_AT_ONCE: Final = 1024
_REFERENCES_ALONE: Final = 2
"""Ours, and that of the look."""

_FIRST_CHUNK: Final = 64
_LARGEST_CHUNK: Final = 1024


@final
class Memtable:
    """The recent cells of one locality group, sorted. `bytes_used` is real memory, `cells` the number of pairs; both
    sequences are 0 while it is empty."""

    __slots__ = (
        "_added",
        "_keys",
        "_values",
        "bytes_used",
        "cells",
        "first_sequence",
        "last_sequence",
    )

    def __init__(self) -> None:
        self._values: dict[bytes, bytes] = {}
        """In the order in which they came."""
        self._added = array("Q")
        """Of each call of add(): how many pairs it brought (above bit 32), and which checksum they had together."""
        self._keys = SortedKeys()
        self.bytes_used = 0
        self.cells = 0
        self.first_sequence = 0
        self.last_sequence = 0

    def add(self, pairs: Sequence[Pair], sequence: int, checksum: int) -> None:
        """The pairs of one or several mutations, whose keys carry sequences up to `sequence`; of equal keys the later
        stays. `checksum`: pairs_checksum.checksum_of(pairs) when they were made. Atomic: no switch."""
        values = self._values
        used = PAIR_OVERHEAD_BYTES * len(pairs)
        new: list[bytes] = []
        if len(pairs) > _MANY:
            used += sum([len(key) + len(value) for key, value in pairs])
            latest = dict(pairs)
            values.update(latest)
            added = len(values) - self.cells  # what is new stands at the end
            new = list(latest) if added == len(latest) else list(islice(reversed(values), added))[::-1]
            self._keys.add_many(new)
        else:
            for key, value in pairs:
                if key not in values:
                    new.append(key)
                values[key] = value
                used += len(key) + len(value)
            self._keys.add(new)
        if len(new) != len(pairs):
            checksum = self._without_repeated(pairs, new, checksum)
        if new:
            self._added.append(len(new) << 32 | checksum)
        self.bytes_used += used
        self.cells = len(values)
        if sequence > self.last_sequence:
            self.last_sequence = sequence
        if sequence < self.first_sequence or not self.first_sequence:
            self.first_sequence = sequence

    def _without_repeated(self, pairs: Sequence[Pair], new: Sequence[bytes], checksum: int) -> int:
        """The checksum of the new keys alone, each with the value that stayed; a wrong one if that of all the pairs is
        wrong already."""
        values = self._values
        whole = checksum_of(pairs) == checksum
        left = checksum_of([(key, values[key]) for key in new])
        return left if whole else left ^ _ALL_BITS  # which never matches

    def changed(self) -> Iterator[bool]:
        """Whether the pairs, some after the other, are not what add() was given, because bytes changed in memory. No
        add() may come in between."""
        items = iter(self._values.items())
        left = _CHECKED_AT_ONCE
        for added in self._added:
            count, found = added >> 32, 0
            if count == 1:
                count = 0
                key, value = next(items)
                found = crc32(value, crc32(key))
                left -= 1 + (len(value) >> 10)
            while count:
                part = list(islice(items, min(count, _CHECKED_TOGETHER)))
                count -= len(part)
                for piece in parts_of(part, _CHECKED_TOGETHER):
                    if left <= 0:
                        left = _CHECKED_AT_ONCE
                        yield False
                    found = checksum_of(piece, found)
                    left -= len(piece) + (sum([len(value) for _, value in piece]) >> 10)
            if found != added & _ALL_BITS:
                yield True
            elif left <= 0:
                left = _CHECKED_AT_ONCE
                yield False

    def is_read(self) -> bool:
        """Pairs that scan() promised are still to be taken from it."""
        return getrefcount(self._values) > _REFERENCES_ALONE

    def taken_apart(self) -> Iterator[None]:
        """Frees what it holds, a part at each step: all at once takes 15 ms for 400,000 pairs. Nobody may use it any
        more."""
        values = self._values
        left = _FREED_AT_ONCE
        while values:
            left -= 1 + (len(values.popitem()[1]) >> 10)
            if left <= 0:
                left = _FREED_AT_ONCE
                yield
        for _ in self._keys.taken_apart():
            yield

    def scan(self, start: bytes, stop: bytes, read_sequence: int) -> Iterator[Pair]:
        """Pairs with start <= key < stop (b"": to the end) and sequence <= `read_sequence`, ascending.

        Writes may happen between two steps; what they add is seen only if its sequence allows it.
        """
        chunk = self._keys.between(start, stop, _FIRST_CHUNK)
        if len(chunk) == _FIRST_CHUNK:
            return self._scan_on(chunk, stop, read_sequence)
        if self.last_sequence > read_sequence:
            chunk = _visible(chunk, read_sequence)
        return zip(chunk, map(self._values.__getitem__, chunk), strict=True)

    def portions(self, read_sequence: int, most: int, most_bytes: int) -> Iterator[Portion]:
        """All pairs with sequence <= `read_sequence`, ascending, in portions of one to `most` pairs,
        and of `most_bytes` unless a single one is larger. As scan(), in less than half of the time."""
        value_of = self._values.__getitem__
        after = b""
        while keys := self._keys.between(after, b"", most):
            after = keys[-1] + b"\x00"
            if self.last_sequence > read_sequence:
                keys = _visible(keys, read_sequence)
            values = list(map(value_of, keys))
            ends = list(accumulate(map(add, map(len, keys), map(len, values))))
            first = taken = 0
            while first < len(keys):
                stop = max(bisect_right(ends, taken + most_bytes), first + 1)
                yield keys[first:stop], values[first:stop]
                first, taken = stop, ends[stop - 1]

    def first(self, start: bytes, stop: bytes) -> Pair | None:
        """The first pair with start <= key < stop, of any sequence."""
        for key in self._keys.between(start, stop, 1):
            return key, self._values[key]
        return None

    def holds_any(self, start: bytes, stop: bytes) -> bool:
        """Whether there is a key with start <= key < stop (b"": to the end), of any sequence."""
        return bool(self._keys.between(start, stop, 1))

    def reverse_hint(self, stop: bytes, cells: int) -> bytes | None:
        """The key that stands `cells` (1 or more) pairs before `stop` (b"": the end), or the first one.

        None when no key lies before `stop`.
        """
        return self._keys.before(stop, cells)

    def _scan_on(self, chunk: list[bytes], stop: bytes, read_sequence: int) -> Iterator[Pair]:
        """From the first full chunk on. Each next one is looked up anew: positions do not survive an insert."""
        value_of = self._values.__getitem__
        size = _FIRST_CHUNK
        while chunk:
            is_last = len(chunk) < size
            after = chunk[-1] + b"\x00"  # the smallest key after it
            if self.last_sequence > read_sequence:
                chunk = _visible(chunk, read_sequence)
            yield from zip(chunk, map(value_of, chunk), strict=True)
            if is_last:
                return
            size = min(size + size, _LARGEST_CHUNK)
            chunk = self._keys.between(after, stop, size)


def _visible(keys: list[bytes], read_sequence: int) -> list[bytes]:
    """The visible keys: those of sequence <= `read_sequence`. It stands inverted in bytes -9 to -1 of a key: smaller is
    newer."""
    newest = (INVERT - read_sequence).to_bytes(8, "big")
    return [key for key in keys if key[-9:-1] >= newest]
