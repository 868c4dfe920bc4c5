"""Taking the pairs of some families out of a run of pairs of many."""

from collections.abc import Iterable, Iterator

from hbtable.encoding.cell_key import TERMINATOR, Pair
from hbtable.switches import switches


@switches
def of_families(pairs: Iterable[Pair], families: frozenset[bytes]) -> Iterator[Pair]:
    """The pairs whose family, as it stands in keys, is one of these, in the order they come."""
    prefix = b"\x00\x00"  # no key begins so
    wanted = False
    for pair in pairs:
        key = pair[0]
        if not key.startswith(prefix):
            start = key.index(TERMINATOR) + 2
            end = key.index(b"\x00", start)
            prefix = key[: end + 1]
            wanted = key[start:end] in families
        if wanted:
            yield pair
