"""The CRC32 of many bytes, with pauses: of nine megabytes it takes a millisecond."""

from collections.abc import Callable
from typing import Final

from hbtable.crc32 import crc32
from hbtable.switches import switches

_AT_ONCE_BYTES: Final = 1 << 20


@switches
def crc32_in_parts(data: bytes, checksum: int, pause: Callable[[], object]) -> int:
    """As crc32(). *Switches* by `pause` between two megabytes."""
    if len(data) <= _AT_ONCE_BYTES:
        return crc32(data, checksum)
    view = memoryview(data)
    for first in range(0, len(data), _AT_ONCE_BYTES):
        if first:
            pause()
        checksum = crc32(view[first : first + _AT_ONCE_BYTES], checksum)
    return checksum
