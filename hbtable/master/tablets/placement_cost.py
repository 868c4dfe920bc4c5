"""The cost of the way in which tablets lie on servers. Pure.

    cost = reads + writes + bytes + spread

    reads, writes, bytes    for each server the square of how far it is from the mean, as a part of the mean
    spread                  for each table and server the square of how many of its tablets are there beyond its share

A server at the mean costs nothing, one with twice as much costs 1 for each of the three, and a thousand other servers
change nothing of that. So a gain is worth the same in a small cluster and in a large one. What is too little to matter
to any server counts as even. Whoever makes only changes that lower the cost comes to an end.

HBase's StochasticLoadBalancer has more terms, and tries changes at random. Its locality is not here (decision 39): a
tablet's blocks are near its server after the next compaction, and until then the price of a change (exchanges.py)
stands for that.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from math import ceil
from typing import Final, NamedTuple, final

from hbtable.master.tablets.server_load import TabletLoad
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord

LEAST: Final = TabletLoad(50.0, 50.0, 256 << 20)
"""The mean of a server below which nothing is evened out."""
_SPREAD: Final = 0.2
"""The weight of a table's spread. More: tables are spread although servers with many requests get more of them."""
_CROWDED: Final = 1.3
"""Times a table's mean: a large table's tablets need not be spread more evenly."""
NAMES: Final = ("reads", "writes", "bytes")
_NO_LOAD: Final = TabletLoad(0.0, 0.0, 0)


class Change(NamedTuple):
    """`record` goes to `target`, and `back`, if there is one, from there to the owner of `record`."""

    record: TabletRecord
    target: str
    back: TabletRecord | None


@final
class PlacementCost:
    """The cost of one way, and of ways that differ from it by one change."""

    def __init__(
        self, tablets: Iterable[TabletRecord], servers: Iterable[str], loads: Mapping[int, TabletLoad]
    ) -> None:
        """`tablets` of other servers do not count. `loads` by tablet."""
        self._of = loads
        self.sums = {name: [0.0] * len(NAMES) for name in servers}
        """By server."""
        self.of_tables: defaultdict[int, Counter[str]] = defaultdict(Counter)
        """Users' tables: their number of tablets by server. METADATA's tablets stay where they are."""
        self.of_servers: defaultdict[str, Counter[int]] = defaultdict(Counter)
        """The same by server, then by table."""
        for tablet in tablets:
            if tablet.owner in self.sums:
                for place, amount in enumerate(self.load(tablet)):
                    self.sums[tablet.owner][place] += amount
                if tablet.table_id != METADATA_TABLE_ID:
                    self.of_tables[tablet.table_id][tablet.owner] += 1
                    self.of_servers[tablet.owner][tablet.table_id] += 1
        number = len(self.sums) or 1
        self.shares = {table_id: _share(sum(numbers.values()) / number) for table_id, numbers in self.of_tables.items()}
        """Users' tables: the number of tablets that a server may have of it at no cost."""
        self.means = [sum(sums[place] for sums in self.sums.values()) / number for place in range(len(NAMES))]
        self.counts = [place for place in range(len(NAMES)) if self.means[place] >= LEAST[place]]
        """Those of NAMES, by place, that are large enough to count."""

    def load(self, tablet: TabletRecord) -> TabletLoad:
        return self._of.get(tablet.tablet_id, _NO_LOAD)

    def total(self) -> float:
        """The cost of everything. Looks at each server and table."""
        far = sum((sums[place] / self.means[place] - 1) ** 2 for sums in self.sums.values() for place in self.counts)
        return far + _SPREAD * sum(
            self._crowd(table_id, number) for table_id, numbers in self.of_tables.items() for number in numbers.values()
        )

    def gain(self, change: Change) -> float:
        """The amount by which it would lower the cost."""
        gained = _SPREAD * sum(self.spread_gains(change))
        for place in self.counts:
            gained += self.load_gain(change, place)
        return gained

    def load_gain(self, change: Change, place: int) -> float:
        """The part of it for one of NAMES."""
        source, target, mean = change.record.owner, change.target, self.means[place]
        back = self.load(change.back) if change.back is not None else _NO_LOAD
        goes = (self.load(change.record)[place] - back[place]) / mean
        return 2 * goes * ((self.sums[source][place] - self.sums[target][place]) / mean - goes)

    def spread_gains(self, change: Change) -> tuple[int, int]:
        """The parts of it, before their weight, for the spread of the tables of `record` and of `back`."""
        source, target, back = change.record.owner, change.target, change.back
        if back is None:
            return self._spread_gain_of(change.record.table_id, source, target), 0
        if back.table_id == change.record.table_id:
            return 0, 0
        gone = self._spread_gain_of(change.record.table_id, source, target)
        return gone, self._spread_gain_of(back.table_id, target, source)

    def _spread_gain_of(self, table_id: int, source: str, target: str) -> int:
        here, there = self.of_tables[table_id][source], self.of_tables[table_id][target]
        before = self._crowd(table_id, here) + self._crowd(table_id, there)
        return before - self._crowd(table_id, here - 1) - self._crowd(table_id, there + 1)

    def _crowd(self, table_id: int, number: int) -> int:
        return max(0, number - self.shares[table_id]) ** 2

    def make(self, change: Change) -> None:
        """It is made from here on."""
        self._go(change.record, change.record.owner, change.target)
        if change.back is not None:
            self._go(change.back, change.target, change.record.owner)

    def _go(self, tablet: TabletRecord, source: str, target: str) -> None:
        for place, amount in enumerate(self.load(tablet)):
            self.sums[source][place] -= amount
            self.sums[target][place] += amount
        for server, by in (source, -1), (target, 1):
            self.of_tables[tablet.table_id][server] += by
            self.of_servers[server][tablet.table_id] += by


def _share(mean: float) -> int:
    return max(ceil(mean), int(_CROWDED * mean))
