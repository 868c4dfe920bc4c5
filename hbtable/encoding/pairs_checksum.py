"""The checksum of pairs on their way from a checked write to a block (paper, section 9).

CRC32 of keys and values, one after the other. One call over many pairs costs about half of a call for each.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final

from hbtable.crc32 import crc32
from hbtable.encoding.cell_key import Pair
from hbtable.encoding.checksum_in_parts import crc32_in_parts
from hbtable.model.parts import parts_of
from hbtable.switches import switches

_AT_ONCE: Final = 32
"""Pairs copied into one buffer: more save little, and take the memory of so many large values once more."""


def checksum_of(pairs: Sequence[Pair], checksum: int = 0) -> int:
    """`checksum`: of those before them. Hot."""
    if len(pairs) == 1:
        key, value = pairs[0]
        return crc32(value, crc32(key, checksum))
    if len(pairs) <= _AT_ONCE:
        return crc32(b"".join(chain.from_iterable(pairs)), checksum)
    for first in range(0, len(pairs), _AT_ONCE):
        checksum = crc32(b"".join(chain.from_iterable(pairs[first : first + _AT_ONCE])), checksum)
    return checksum


@switches
def checksum_in_parts(pairs: Sequence[Pair], pause: Callable[[], None]) -> int:
    """As checksum_of(), of very many pairs. *Switches* between them."""
    checksum = 0
    for part in parts_of(pairs, _AT_ONCE):
        if len(part) == 1:  # it may be of any size: not to be copied
            key, value = part[0]
            checksum = crc32_in_parts(value, crc32(key, checksum), pause)
        else:
            checksum = crc32(b"".join(chain.from_iterable(part)), checksum)
        pause()
    return checksum
