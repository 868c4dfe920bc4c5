"""Chooses the tablets that should change servers so that all serve about as many (paper, section 4: the master balances
tablet-server load). Pure: a snapshot in, moves with their reasons out.

Only a calm cluster is balanced: while a tablet has no server, or a server is silent or about to stop, there are no
moves, because each of these changes what is fair. METADATA's tablets count but stay: every other tablet's commits need
them. Decommissioned servers neither give nor take (decommissions.py). The fullest server gives a tablet of that table
of which it has most in comparison with the others, so that one table's tablets are spread as well.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hbtable.master.tablets.assignment import ServerLoad, describe, emptiest, tablet_counts, takers
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
    held: dict[str, list[TabletRecord]] = {name: [] for name in counts}
    for tablet in tablets:
        if tablet.table_id != METADATA_TABLE_ID and tablet.owner in held:
            held[tablet.owner].append(tablet)
    moves: list[Move] = []
    while len(moves) < most:
        source = max((name for name in counts if held[name]), key=lambda name: (counts[name], name), default=None)
        if source is None:
            break
        target = emptiest(counts, servers)
        if counts[source] - counts[target] < 2:
            break
        tablet = _choose(held[source], held[target])
        why = (
            f"{describe(tablet)} goes from {source} to {target}, which serve {counts[source]} and {counts[target]} "
            "tablets"
        )
        moves.append(Move(tablet, target, why))
        held[source].remove(tablet)
        # Not into `held` of the target: nothing moves twice in a round.
        counts[source] -= 1
        counts[target] += 1
    return moves


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


def _choose(source: Sequence[TabletRecord], target: Sequence[TabletRecord]) -> TabletRecord:
    here = Counter(tablet.table_id for tablet in source)
    there = Counter(tablet.table_id for tablet in target)
    return max(source, key=lambda one: (here[one.table_id] - there[one.table_id], one.tablet_id))
