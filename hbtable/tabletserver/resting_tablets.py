"""Tablets that maintenance need not look at from near: most of thousands, as a rule. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from hbtable.tablet.tablet import Tablet
from hbtable.tabletserver.maintenance_plan import TabletFacts


class RestingTablet(NamedTuple):
    """A tablet with nothing to do, and the facts about it, but for the age of its memtable: they hold until one of the
    others changes, or the memtable is too old."""

    tablet: Tablet
    minute: int
    full_disk: bool
    stamp: tuple[object, ...]
    facts: TabletFacts
    until: float


def that_count(
    resting: Mapping[int, RestingTablet], facts: Sequence[TabletFacts], oldest: Collection[int], limit_bytes: int
) -> list[TabletFacts]:
    """Those of them that are to be planned for beside `facts`, those of the tablets that do not rest: the ones that
    keep the oldest segment of the log, or all, when all memtables together have more than `limit_bytes`."""
    in_memory = sum(one.memtable_bytes for one in facts)
    in_memory += sum(one.facts.memtable_bytes for one in resting.values())
    if in_memory > limit_bytes:
        return [one.facts for one in resting.values()]
    return [resting[tablet_id].facts for tablet_id in oldest if tablet_id in resting]
