"""The gateways beside the owners of rows, as clients of HBase learn them: from getTableRegions."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple, final

Address = tuple[str, int]

_CALLS_BETWEEN_LOOKS: Final = 5000
"""Tablets move without a word to clients. A call that goes to the wrong server costs some times as much, and a look at
the regions of a table as much as some calls."""
_CALLS_AROUND: Final = 1000
"""So many calls avoid a server that could not be reached."""


Region = Any
"""Thrift1's TRegionInfo: startKey, serverName and port."""


class _Known(NamedTuple):
    starts: list[bytes]
    """Ascending."""
    owners: list[Address | None]


@final
class Routes:
    """The routes of all tables that were asked for, for any number of threads. `lock` guards them."""

    def __init__(self, lock: AbstractContextManager[object]) -> None:
        self._lock = lock
        self._tables: dict[bytes, _Known] = {}
        self._calls_left: dict[bytes, int] = {}
        self._forgotten = Counter[bytes]()
        """By table, how often."""
        self._asking: set[bytes] = set()
        """Tables of which somebody asks for the regions."""
        self._avoided: dict[Address, int] = {}

    def look_if_due(self, table: bytes, ask: Callable[[], Iterable[Region]]) -> None:
        """To be called before each call. Asks for the table's regions, unless what is known will do, or another thread
        asks. A table without regions is known as well: nobody has its rows. Raises what `ask` does."""
        begun = self._begin(table)
        if begun is None:
            return
        try:
            self._learn(table, ask(), begun)
        finally:
            with self._lock:
                self._asking.discard(table)

    def _begin(self, table: bytes) -> int | None:
        """None: nobody needs to ask. Otherwise how often the table was forgotten."""
        with self._lock:
            left = self._calls_left.get(table, 0)
            if left > 0:
                self._calls_left[table] = left - 1
                return None
            if table in self._asking:
                return None
            self._asking.add(table)
            return self._forgotten[table]

    def _learn(self, table: bytes, regions: Iterable[Region], begun: int) -> None:
        """`begun`: of _begin(). What was forgotten since is to be asked for once more: the regions may be of before."""
        found = sorted((one.startKey, _address(one)) for one in regions)
        with self._lock:
            self._tables[table] = _Known([start for start, _ in found], [owner for _, owner in found])
            if self._forgotten[table] == begun:
                self._calls_left[table] = _CALLS_BETWEEN_LOOKS

    def forget(self, table: bytes) -> None:
        """Something that was known of the table proved wrong, or was changed."""
        with self._lock:
            self._calls_left.pop(table, None)
            self._forgotten[table] += 1

    def owner(self, table: bytes, row: bytes) -> Address | None:
        """None: not known, or not to be reached."""
        with self._lock:
            known = self._tables.get(table)
            if known is None or not known.starts:
                return None
            owner = known.owners[max(bisect_right(known.starts, row) - 1, 0)]
            if owner is None or owner not in self._avoided:
                return owner
            self._avoided[owner] -= 1
            if self._avoided[owner] <= 0:
                del self._avoided[owner]
            return None

    def addresses(self) -> list[Address]:
        """Those of all servers that are known, ascending, and of them those last that could not be reached."""
        with self._lock:
            found = {owner for known in self._tables.values() for owner in known.owners if owner is not None}
            return sorted(found, key=lambda address: (address in self._avoided, address))

    def avoid(self, owner: Address) -> None:
        """The server could not be reached: the next calls go around it."""
        with self._lock:
            self._avoided[owner] = _CALLS_AROUND


def _address(region: Region) -> Address | None:
    if not region.serverName or not region.port:
        return None
    return region.serverName.decode(), region.port
