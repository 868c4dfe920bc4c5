"""Visible cells with their times to live, for copies of a table: what is put before values so that a read hands it on.

merge.visibility takes the time to live off a value. So each put is given one more before it, and others one of 0. A
value then begins with a byte that no stored kind of operation has, LIVES, and 8 bytes of milliseconds.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from hbtable.encoding.cell_key import FLAG_TTL, Pair
from hbtable.model.mutation import PUT
from hbtable.model.read import LIVES
from hbtable.switches import switches

_TTL_BYTES: Final = 8
FOREVER: Final = bytes((LIVES,)) + bytes(_TTL_BYTES)
"""Before the value of a cell without a time to live of its own."""


@switches
def with_lifetimes(lists: Iterable[Sequence[Pair]]) -> Iterator[Sequence[Pair]]:
    """As many lists as there are."""
    for pairs in lists:
        yield [pair if pair[0][-10] != PUT else (pair[0], _told(pair)) for pair in pairs]


def _told(pair: Pair) -> bytes:
    key, value = pair
    if key[-1] != FLAG_TTL:  # visibility looks at what is not known
        return FOREVER + value
    ttl = value[:_TTL_BYTES]
    return ttl + FOREVER[:1] + ttl + value[_TTL_BYTES:]
