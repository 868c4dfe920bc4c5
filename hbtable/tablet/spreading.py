"""Pairs that still have to find their stacks: read from a log, or made under a schema that was changed while they
waited for the log.

Pairs of families that the schema does not have any more are left out, no others are, and what was left out is said:
whoever misses a cell after a restart has to find here where it went.
"""

import logging
from collections import Counter
from typing import final

from hbtable.encoding.cell_key import TERMINATOR, Pair, family_name
from hbtable.encoding.pairs_checksum import checksum_of
from hbtable.tablet.layout import LocalityGroupLayout

logger = logging.getLogger(__name__)


@final
class Spreading:
    """The pairs of one tablet that are not in a stack yet."""

    __slots__ = ("_left_out",)

    def __init__(self) -> None:
        self._left_out: Counter[bytes] = Counter()

    def spread(self, layout: LocalityGroupLayout, pairs: list[Pair]) -> list[list[Pair]]:
        """The pairs by place of their stack. Call say() when a run of them is through."""
        spread: list[list[Pair]] = [[] for _ in layout.keys]
        for pair in pairs:
            family = family_of(pair[0])
            place = layout.places.get(family)
            if place is not None:
                spread[place].append(pair)
            else:
                self._left_out[family_name(family)] += 1
        return spread

    def spread_again(
        self, layout: LocalityGroupLayout, by_stack: list[list[Pair]], checksums: list[int]
    ) -> tuple[list[list[Pair]], list[int]]:
        """Pairs that were spread under another layout, and their checksums: wrong ones if those given were, so that
        what changed in memory before stays found."""
        whole = all(not pairs or checksum_of(pairs) == one for pairs, one in zip(by_stack, checksums, strict=True))
        spread = self.spread(layout, [pair for pairs in by_stack for pair in pairs])
        again = [checksum_of(pairs) for pairs in spread]
        return spread, again if whole else [one ^ 0xFFFFFFFF for one in again]

    def say(self, tablet_id: int, table: str, where: str) -> None:
        """Logs what was left out since the last call, if anything was; `where` it came from."""
        if not self._left_out:
            return
        families = ", ".join(
            f"{count} of {family.decode('utf-8', 'backslashreplace')}"
            for family, count in sorted(self._left_out.items())
        )
        logger.warning(
            "tablet %d of table %s: cells from %s were left out, because their column families were dropped: %s",
            tablet_id,
            table,
            where,
            families,
        )
        self._left_out.clear()


def family_of(key: bytes) -> bytes:
    """The family, as it stands in a cell key."""
    start = key.index(TERMINATOR) + 2
    return key[start : key.index(b"\x00", start)]
