"""Visible cells with their times to live, for copies of a table: what is put before values so that a read hands it on.

merge.visibility takes the time to live off a value. So each put is given one more before it, and others one of 0. A
value then begins with a byte that no stored kind of operation has, LIVES, and 8 bytes of milliseconds.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from hbtable.encoding.cell_key import FLAG_TTL, Pair
from hbtable.model.mutation import PUT
from hbtable.model.read import LIVES_FOREVER
from hbtable.switches import switches

_TTL_BYTES: Final = 8


@switches
def with_lifetimes(lists: Iterable[Iterable[Pair]]) -> Iterator[Sequence[Pair]]:
    """As many lists as there are. Hot: no call for a cell without a time to live. What is not known passes as well, and
    visibility looks at it."""
    for pairs in lists:
        yield [
            (pair[0], LIVES_FOREVER + pair[1] if pair[0][-1] != FLAG_TTL else _told(pair[1]))
            if pair[0][-10] == PUT
            else pair
            for pair in pairs
        ]


def _told(value: bytes) -> bytes:
    ttl = value[:_TTL_BYTES]
    return ttl + LIVES_FOREVER[:1] + ttl + value[_TTL_BYTES:]
