r"""The index of an SSTable: one entry per block, held in memory while the file is open (paper, section 4).

Stored as a block (sstable.block) of its own. Key: the first key of a data block. Value:

    varint   length of the separator: the shortest prefix of the first key that is greater than the block before
    varint   sealed length of the block
    4        the block's checksum

A block's offset is the sum of the lengths before it: data blocks stand without gaps from the beginning of the file.
Separators decide where a search begins: a row that begins with a block is not looked for in the block before.
"""

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import final

from hbtable.encoding import varint
from hbtable.errors import Corruption
from hbtable.sstable.block import Block, encode_block, shared_length
from hbtable.sstable.layout import Handle


@final
class IndexBuilder:
    """Collects the entries while blocks are written."""

    __slots__ = ("_interval", "_keys", "_values")

    def __init__(self, interval: int) -> None:
        self._interval = interval
        self._keys: list[bytes] = []
        self._values: list[bytes] = []

    def add(self, last_key_before: bytes, first_key: bytes, sealed_bytes: int, checksum: int) -> None:
        """`last_key_before` is b"" for the first block."""
        separator_bytes = shared_length(last_key_before, first_key) + 1 if last_key_before else 0
        self._keys.append(first_key)
        self._values.append(varint.encode(separator_bytes) + varint.encode(sealed_bytes) + checksum.to_bytes(4, "big"))

    def encode(self) -> bytes:
        return encode_block(self._keys, self._values, self._interval)


@final
class Index:
    """Parallel lists over the blocks; `offsets` has one more entry, the end of the last block."""

    __slots__ = ("checksums", "first_keys", "offsets", "separators")

    def __init__(
        self, first_keys: list[bytes], separators: list[bytes], offsets: list[int], checksums: list[int]
    ) -> None:
        self.first_keys = first_keys
        self.separators = separators
        self.offsets = offsets
        self.checksums = checksums

    def first_block(self, start: bytes) -> int:
        """The only block that can hold the smallest key >= `start`, unless that begins the next one. -1 if empty."""
        return bisect_right(self.separators, start) - 1

    def stop_block(self, stop: bytes) -> int:
        """The number of blocks that begin before `stop` (b"": all)."""
        return bisect_left(self.first_keys, stop) if stop else len(self.first_keys)

    def handle(self, number: int) -> Handle:
        offset = self.offsets[number]
        return Handle(offset, self.offsets[number + 1] - offset, self.checksums[number])

    def middle_key(self) -> bytes | None:
        """The first key of the block that begins nearest to half of the bytes; None with fewer than two blocks."""
        if len(self.first_keys) < 2:
            return None
        half = self.offsets[-1] // 2
        number = bisect_left(self.offsets, half)
        if number > 1 and half - self.offsets[number - 1] < self.offsets[number] - half:
            number -= 1
        return self.first_keys[min(max(number, 1), len(self.first_keys) - 1)]

    def bytes_between(self, start: bytes, stop: bytes) -> int:
        """Stored bytes of all blocks that may hold keys in [start, stop): an estimate from above."""
        first = max(self.first_block(start), 0)
        last = self.stop_block(stop)
        return self.offsets[last] - self.offsets[first] if first < last else 0


def decode_index(path: str, offset: int, raw: bytes, data_bytes: int) -> Index:
    """`offset`: where the index part stands, for Corruption; `data_bytes`: where the data blocks end."""
    keys, values = Block(path, offset, raw).decoded()
    separators: list[bytes] = []
    offsets = [0]
    checksums: list[int] = []
    at = 0
    try:
        for key, value in zip(keys, values, strict=True):
            separator_bytes, position = varint.decode(value, 0)
            sealed_bytes, position = varint.decode(value, position)
            if len(value) - position != 4:
                raise ValueError("an entry of the index has the wrong length")
            separators.append(key[:separator_bytes])
            at += sealed_bytes
            offsets.append(at)
            checksums.append(int.from_bytes(value[position:], "big"))
    except (ValueError, IndexError) as error:
        raise Corruption(path, offset, f"the index cannot be read: {error}")
    if at != data_bytes:
        raise Corruption(path, offset, f"the index speaks of {at} bytes of blocks, there are {data_bytes}")
    if any(left >= right for left, right in pairwise(keys)) or any(
        left >= right for left, right in pairwise(separators)
    ):
        raise Corruption(path, offset, "the index is not in order")
    return Index(keys, separators, offsets, checksums)
