"""Reads a block that ends with a large value, and spares that value every copy.

A block is read in one piece and its values are cut out of it, in the hub. That is a copy, into memory which the system
has to hand out page by page: 6.5 ms for 8 MB, in which nobody else is served. So a large value is read apart from what
stands around it, as the very bytes that an answer has. Where a read of a megabyte runs in a thread, and the look at
its checksum as well, nothing of this keeps others waiting.

Only where a file is near: over the network each read is one more trip.
"""

from collections.abc import Callable
from typing import Final, Protocol

from hbtable.crc32 import crc32
from hbtable.sstable.block import Block, place_of_last_value
from hbtable.sstable.compression import NONE
from hbtable.sstable.layout import TRAILER_BYTES, Handle, check_trailer
from hbtable.switches import switches

LARGE_BYTES: Final = 1 << 20
"""Of a block that is read so, at least; its last value is larger, so that it is read in a thread."""
_END_BYTES: Final = 32 << 10
"""Of a block, read first: it has the lengths of its values, unless these are thousands."""


class Checksum(Protocol):
    """Computes a CRC32 where nobody waits for it: of 8 MB it takes 0.5 ms."""

    @switches
    def __call__(self, data: bytes, before: int, /) -> int:
        """The CRC32 of something of which `before` is the CRC32, with `data` behind it. May switch."""


@switches
def read_large(
    read_at: Callable[[int, int], bytes], path: str, handle: Handle, checksum: Checksum = crc32
) -> Block | None:
    """None when the block is of another kind, and nothing large was read. `read_at` keeps to the size. `checksum`: of
    the large value. Corruption."""
    offset, sealed_bytes = handle.offset, handle.sealed_bytes
    end = read_at(offset + sealed_bytes - _END_BYTES, _END_BYTES)
    if end[-TRAILER_BYTES] != NONE:
        return None
    # Nothing of this is checked yet: what makes no sense is read as any other block, which then says what is wrong.
    place = place_of_last_value(end[:-TRAILER_BYTES], sealed_bytes - TRAILER_BYTES)
    if place is None or place[1] - place[0] <= LARGE_BYTES:
        return None
    begin, behind = place
    before = read_at(offset, begin)
    value = read_at(offset + begin, behind - begin)
    after = end[behind - sealed_bytes :]
    check_trailer(path, handle, after, crc32(memoryview(after)[:-4], checksum(value, crc32(before))))
    block = Block(path, offset, before + after, TRAILER_BYTES)
    block.keep_decoded(value)
    return block
