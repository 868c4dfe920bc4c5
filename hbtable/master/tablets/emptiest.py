"""The server that a tablet goes to, when many are given out one after the other. Pure.

The fewest tablets come first, then the fewest of the tablet's own table, then the fewest bytes, then the older
incarnation, so that a plan is the same each time.

Servers wait in a heap for each table. A number that went up leaves its old place in there, which is too early: whoever
comes to the top of a heap is looked at again, and goes back to where it belongs now. So a choice costs as much among a
thousand servers as among ten, and nearly nothing for each.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from heapq import heapify, heapreplace
from typing import final

from hbtable.master.tablets.server_load import ServerLoad

_Place = tuple[int, int, int, str]


@final
class Emptiest:
    """Chooses among the servers in `counts`, each with the number of its tablets. Numbers of `of_tables` are by table,
    then by server. Does not switch."""

    def __init__(
        self,
        counts: Mapping[str, int],
        servers: Mapping[str, ServerLoad],
        of_tables: Mapping[int, Mapping[str, int]] | None = None,
    ) -> None:
        self.counts = dict(counts)
        """As of the last give()."""
        self._bytes = {server: servers[server].sstable_bytes for server in counts}
        self._of_tables: defaultdict[int, Counter[str]] = defaultdict(Counter)
        for table_id, numbers in (of_tables or {}).items():
            self._of_tables[table_id].update(numbers)
        self._heaps: dict[int, list[_Place]] = {}

    def choose(self, table_id: int) -> str:
        """There is one at least."""
        heap = self._heaps.get(table_id)
        if heap is None:
            heap = self._heaps[table_id] = [self._place(server, table_id) for server in self.counts]
            heapify(heap)
        while True:
            place = self._place(heap[0][-1], table_id)
            if place == heap[0]:
                return place[-1]
            heapreplace(heap, place)

    def choose_among(self, servers: Collection[str], table_id: int) -> str:
        """Looks at each of `servers`, of which there is one at least."""
        return min(self._place(server, table_id) for server in servers)[-1]

    def give(self, server: str, table_id: int) -> None:
        """Counts one more tablet of this table for the server."""
        self.counts[server] += 1
        self._of_tables[table_id][server] += 1

    def _place(self, server: str, table_id: int) -> _Place:
        of_table = self._of_tables.get(table_id)
        return self.counts[server], of_table.get(server, 0) if of_table else 0, self._bytes[server], server
