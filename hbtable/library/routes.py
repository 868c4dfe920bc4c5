"""The gateways beside the owners of rows, as clients of HBase learn them: from getTableRegions."""

from bisect import bisect_right
from collections.abc import Iterable
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
    """The routes of all tables that were asked for, for any number of threads: what is replaced is replaced whole."""

    def __init__(self) -> None:
        self._tables: dict[bytes, _Known] = {}
        self._calls_left: dict[bytes, int] = {}
        self._avoided: dict[Address, int] = {}

    def knows(self, table: bytes) -> bool:
        """False: learn() is due. Each question counts as a call."""
        left = self._calls_left.get(table, 0)
        self._calls_left[table] = left - 1
        return left > 0

    def learn(self, table: bytes, regions: Iterable[Region]) -> None:
        """A table without regions is known as well: nobody has its rows."""
        found = sorted((one.startKey, _address(one)) for one in regions)
        self._tables[table] = _Known([start for start, _ in found], [owner for _, owner in found])
        self._calls_left[table] = _CALLS_BETWEEN_LOOKS

    def forget(self, table: bytes) -> None:
        """Something that was known of the table proved wrong, or was changed."""
        self._calls_left.pop(table, None)

    def owner(self, table: bytes, row: bytes) -> Address | None:
        """None: not known, or not to be reached."""
        known = self._tables.get(table)
        if known is None or not known.starts:
            return None
        owner = known.owners[max(bisect_right(known.starts, row) - 1, 0)]
        left = self._avoided.get(owner) if owner is not None else None
        if owner is not None and left is not None:
            left = self._avoided[owner] = left - 1
            if left <= 0:
                self._avoided.pop(owner, None)
            return None
        return owner

    def addresses(self) -> list[Address]:
        """Those of all servers that are known, ascending."""
        return sorted({owner for known in list(self._tables.values()) for owner in known.owners if owner is not None})

    def avoid(self, owner: Address) -> None:
        """The server could not be reached: the next calls go around it."""
        self._avoided[owner] = _CALLS_AROUND


def _address(region: Region) -> Address | None:
    if not region.serverName or not region.port:
        return None
    return region.serverName.decode(), region.port
