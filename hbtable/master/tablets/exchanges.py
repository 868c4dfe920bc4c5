"""Chooses tablets of two servers that should change places, once all servers have about as many (balancing.py). Pure: a
snapshot in, changes with their reasons out.

A plan goes step by step. Each step looks at the server that has most of something and at those with least, tries a few
of their tablets against each other, and makes the change that lowers the cost (placement_cost.py) most. It ends when
no change lowers the cost by more than its price: a cluster that is even enough rests, and a tablet that was moved for
its load stays for a while. The numbers of tablets of two servers differ by one more afterwards at most.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import Final, NamedTuple, final

from hbtable.master.tablets.assignment import describe
from hbtable.master.tablets.placement_cost import NAMES, Change, PlacementCost
from hbtable.master.tablets.server_load import TabletLoad
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord

_PRICE: Final = 0.8
"""Of moving as many requests and bytes as a server has in the mean: rows wait, blocks are neither cached nor near. So
servers whose loads differ by less than 0.4 of the mean stay as they are. More: fewer moves, and servers further
apart."""
_LEAST_GAIN: Final = 1e-6
_TRIED: Final = 12
"""Tablets of a server that a step looks at. More: better changes, and longer stretches of work."""
_TABLES_TRIED: Final = 64
_TOO_MUCH: Final = 1.5
"""Times the mean: from here on it is said why a server keeps that."""


class Exchanges(NamedTuple):
    """A plan, and why it ends where it does."""

    changes: list[tuple[Change, str]]
    """With the reason of each."""
    rests: str
    """The reason why a server keeps much more than others; "": none does, or something changes."""


def plan_exchanges(
    tablets: Sequence[TabletRecord],
    counts: Mapping[str, int],
    loads: Mapping[int, TabletLoad],
    resting: Collection[int],
    most: int,
) -> Exchanges:
    """At most `most` changes. `counts`: the servers that give and take tablets, with the number that each serves.
    `resting` tablets stay."""
    if len(counts) < 2:
        return Exchanges([], "")
    return _Plan(tablets, counts, loads, resting).run(most)


@final
class _Plan:
    """One plan as it is made."""

    def __init__(
        self,
        tablets: Sequence[TabletRecord],
        counts: Mapping[str, int],
        loads: Mapping[int, TabletLoad],
        resting: Collection[int],
    ) -> None:
        self._cost = PlacementCost(tablets, counts, loads)
        self._counts = dict(counts)
        self._movable: dict[str, list[TabletRecord]] = {name: [] for name in counts}
        """By server. What moves in this plan is in none."""
        for tablet in tablets:
            if tablet.owner in counts and tablet.table_id != METADATA_TABLE_ID and tablet.tablet_id not in resting:
                self._movable[tablet.owner].append(tablet)

    def run(self, most: int) -> Exchanges:
        changes: list[tuple[Change, str]] = []
        tables = iter(self._crowded_tables())
        table_id = next(tables, None)
        while len(changes) < most:
            tried = [(self._worth(change), change) for change in self._for_load()]
            if table_id is not None:
                tried += [(self._worth(change), change) for change in self._for_table(table_id)]
            worth, change = max(tried, key=_by_worth, default=(0.0, None))
            if change is not None and worth > 0:
                changes.append((change, self._why(change)))
                self._make(change)
            elif table_id is not None:
                table_id = next(tables, None)
            else:
                break
        return Exchanges(changes, "" if changes else self._why_it_rests())

    def _worth(self, change: Change) -> float:
        cost, back = self._cost, change.back
        moved = [cost.load(change.record), *([cost.load(back)] if back is not None else [])]
        parts = [sum(one[place] for one in moved) / cost.means[place] for place in cost.counts]
        return cost.gain(change) - _PRICE * sum(parts) / len(NAMES) - _LEAST_GAIN

    def _for_load(self) -> Iterator[Change]:
        """Changes that may relieve the server with most reads, writes or bytes."""
        for place in self._cost.counts:

            def amount(server: str, place: int = place) -> tuple[float, str]:
                return self._cost.sums[server][place], server

            source = max(self._counts, key=amount)
            for target in nsmallest(2, self._counts, key=amount):
                wanted = (self._cost.sums[source][place] - self._cost.sums[target][place]) / 2
                yield from self._between(self._near(source, place, wanted), target, self._near(target, place, 0))

    def _near(self, server: str, place: int, wanted: float) -> list[TabletRecord]:
        """Its tablets that have about as much of this."""

        def far(tablet: TabletRecord) -> tuple[float, int]:
            return abs(self._cost.load(tablet)[place] - wanted), tablet.tablet_id

        return nsmallest(_TRIED, self._movable[server], key=far)

    def _for_table(self, table_id: int) -> Iterator[Change]:
        """Changes that may relieve the server with most tablets of this table."""
        cost = self._cost
        numbers = cost.of_tables[table_id]
        source = max(self._counts, key=lambda server: (numbers[server], server))
        if numbers[source] <= cost.shares[table_id]:
            return
        mine = [tablet for tablet in self._movable[source] if tablet.table_id == table_id]
        mine = nsmallest(3, mine, key=lambda tablet: (max(cost.load(tablet)), tablet.tablet_id))
        here = cost.of_servers[source]

        def room(tablet: TabletRecord) -> tuple[int, int]:
            return here[tablet.table_id] - cost.shares[tablet.table_id], tablet.tablet_id

        for target in nsmallest(4, self._counts, key=lambda server: (numbers[server], self._counts[server], server)):
            yield from self._between(mine, target, nsmallest(_TRIED, self._movable[target], key=room))

    def _between(self, mine: Sequence[TabletRecord], target: str, theirs: Sequence[TabletRecord]) -> Iterator[Change]:
        for tablet in mine:
            if tablet.owner == target:
                continue
            if self._counts[tablet.owner] > self._counts[target]:
                yield Change(tablet, target, None)
            for other in theirs:
                yield Change(tablet, target, other)

    def _crowded_tables(self) -> list[int]:
        """Those of which a server has more than their share, the worst first."""
        shares = self._cost.shares
        beyond = ((shares[table] - max(of.values()), table) for table, of in self._cost.of_tables.items() if of)
        return [table for less, table in nsmallest(_TABLES_TRIED, beyond) if less < 0]

    def _make(self, change: Change) -> None:
        source, target = change.record.owner, change.target
        self._cost.make(change)
        self._movable[source].remove(change.record)
        if change.back is None:
            self._counts[source] -= 1
            self._counts[target] += 1
        else:
            self._movable[target].remove(change.back)

    def _why(self, change: Change) -> str:
        cost, source, target = self._cost, change.record.owner, change.target
        text = f"{describe(change.record)} goes from {source} to {target}"
        if change.back is not None:
            text += f", and {describe(change.back)} back"
        reasons = [
            f"{_amount(place, cost.sums[source][place])} and {_amount(place, cost.sums[target][place])}"
            for place in cost.counts
            if cost.load_gain(change, place) > 0
        ]
        spread = cost.spread_gains(change)
        for gained, tablet, whose in zip(spread, (change.record, change.back), ("its", "the other's"), strict=False):
            if gained > 0 and tablet is not None:
                numbers = cost.of_tables[tablet.table_id]
                reasons.append(f"{numbers[source]} and {numbers[target]} tablets of {whose} table")
        return f"{text}: they have {', '.join(reasons)}"

    def _why_it_rests(self) -> str:
        for place in self._cost.counts:
            most, server = max((sums[place], name) for name, sums in self._cost.sums.items())
            mean = self._cost.means[place]
            if most >= _TOO_MUCH * mean:
                return (
                    f"{server} has {most / mean:.1f} times the {NAMES[place]} of a server in the mean, and no exchange "
                    "of tablets is worth its price"
                )
        return ""


def _by_worth(tried: tuple[float, Change | None]) -> tuple[float, int]:
    worth, change = tried
    return worth, change.record.tablet_id if change is not None else 0


def _amount(place: int, amount: float) -> str:
    if NAMES[place] == "bytes":
        return f"{amount / (1 << 20):.0f} MiB"
    return f"{amount:.0f} {NAMES[place]}/s"
