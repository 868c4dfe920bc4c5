"""Chooses the tablets that should change servers so that all serve about as many (paper, section 4: the master balances
tablet-server load). Pure: a snapshot in, moves with their reasons out.

Only a calm cluster is balanced: while a tablet has no server, or a server is silent or about to stop, there are no
moves, because each of these changes what is fair. METADATA's tablets count but stay: every other tablet's commits need
them. Decommissioned servers neither give nor take (decommissions.py). The fullest server gives a tablet of that table
of which it has most in comparison with the others, so that one table's tablets are spread as well.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple, final

from hbtable.master.tablets.assignment import describe
from hbtable.master.tablets.emptiest import Emptiest
from hbtable.master.tablets.server_load import ServerLoad, tablet_counts, takers
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord


class Move(NamedTuple):
    """Take the tablet from its owner to `target`."""

    record: TabletRecord
    target: str
    why: str


def plan_moves(
    tablets: Sequence[TabletRecord], servers: Mapping[str, ServerLoad], silent: frozenset[str], most: int
) -> list[Move] | None:
    """At most `most` moves that make the fullest and the emptiest server more equal, while they differ by two or more;
    [] when they do not. `tablets`: of enabled tables. None: the cluster is not calm enough to say."""
    if why_not_calm(tablets, servers, silent):
        return None
    counts = tablet_counts(takers(servers))
    if not counts:
        return []
    held = {name: _Held() for name in counts}
    for tablet in tablets:
        if tablet.table_id != METADATA_TABLE_ID and tablet.owner in held:
            held[tablet.owner].add(tablet)
    # No server is both: whatever gave one has more than the emptiest for as long as there is something to even out.
    emptiest = Emptiest(counts, servers)
    fullest = [(-count, name) for name, count in counts.items() if held[name].movable]
    heapify(fullest)
    moves: list[Move] = []
    while len(moves) < most and fullest:
        less, source = fullest[0]
        target = emptiest.choose(METADATA_TABLE_ID)
        here, there = -less, emptiest.counts[target]
        if here - there < 2:
            break
        tablet = held[source].take(held[target])
        why = f"{describe(tablet)} goes from {source} to {target}, which serve {here} and {there} tablets"
        moves.append(Move(tablet, target, why))
        emptiest.give(target, METADATA_TABLE_ID)
        if held[source].movable:
            heapreplace(fullest, (less + 1, source))
        else:
            heappop(fullest)
    return moves


@final
class _Held:
    """The tablets of one server, METADATA's apart. What was given to it in this plan does not move on."""

    def __init__(self) -> None:
        self.movable = 0
        self._numbers: Counter[int] = Counter()
        """By table."""
        self._tablets: defaultdict[int, list[TabletRecord]] = defaultdict(list)
        self._sorted: set[int] = set()

    def add(self, tablet: TabletRecord) -> None:
        self.movable += 1
        self._numbers[tablet.table_id] += 1
        self._tablets[tablet.table_id].append(tablet)

    def take(self, target: "_Held") -> TabletRecord:
        """The next one for that server, of those that are movable, of which there is one."""
        tables = self._tablets

        def wins(table_id: int) -> tuple[int, int]:
            if table_id not in self._sorted:
                self._sorted.add(table_id)
                tables[table_id].sort(key=lambda tablet: tablet.tablet_id)
            return self._numbers[table_id] - target._numbers[table_id], tables[table_id][-1].tablet_id

        table_id = max(tables, key=wins)
        tablet = tables[table_id].pop()
        if not tables[table_id]:
            del tables[table_id]
        self.movable -= 1
        self._numbers[table_id] -= 1
        target._numbers[table_id] += 1
        return tablet


def why_not_calm(tablets: Sequence[TabletRecord], servers: Mapping[str, ServerLoad], silent: frozenset[str]) -> str:
    """The first reason; empty: it is."""
    if silent:
        return f"tablet server {min(silent)} holds its lock and does not answer"
    for name, load in servers.items():
        if load.draining:
            return f"tablet server {name} is stopping"
    missing = next((one for one in tablets if not _served(one, servers)), None)
    return f"{describe(missing)} is not served" if missing is not None else ""


def is_uneven(servers: Mapping[str, ServerLoad]) -> bool:
    """The fullest and the emptiest of those that take tablets differ by two or more."""
    counts = tablet_counts(takers(servers)).values()
    return bool(counts) and max(counts) - min(counts) > 1


def _served(tablet: TabletRecord, servers: Mapping[str, ServerLoad]) -> bool:
    load = servers.get(tablet.owner)
    return load is not None and tablet.tablet_id in load.tablet_ids
