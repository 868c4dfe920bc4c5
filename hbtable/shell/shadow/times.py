"""Times of cells: those that a client gave have to be the same on both servers, those that a server chose cannot be.

The proxy passes writes on as they come, so each server takes its own time for what has none. It could ask the primary
for the time it took, and repeat the write with that. It does not: a delete shows no time that could be asked for, so
puts with the primary's times would lie behind deletes with the secondary's, and be hidden by them.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final, final

from hbtable.shell.shadow.calls import Cells

_REMEMBERED: Final = 200_000


@final
class CellTimes:
    """`since_millis`: what is older was written before the proxy was there, and copied with its time."""

    def __init__(self, since_millis: int) -> None:
        self._since = since_millis
        self._lock = threading.Lock()
        self._given: OrderedDict[tuple[bytes, bytes, int], None] = OrderedDict()
        self._forgotten: dict[bytes, int] = {}
        """By table, the latest time that was given and is not remembered."""

    def give(self, rows: Iterable[Cells], times: Iterable[int]) -> None:
        """Clients wrote these rows at these times."""
        with self._lock:
            for at in times:
                if at >= self._since:  # what is older is compared whoever gave it
                    for cells in rows:
                        self._given[cells.table, cells.row, at] = None
            while len(self._given) > _REMEMBERED:
                (table, _, at), _ = self._given.popitem(last=False)
                self._forgotten[table] = max(at, self._forgotten.get(table, at))

    def alike(self, table: bytes, row: bytes, primary: int, secondary: int) -> bool:
        """Whether they are the same, or each may be a server's own. False, too, when they are forgotten."""
        if primary == secondary:
            return True
        return self._are_servers(table, row, primary, secondary) and not self._is_forgotten(table, primary, secondary)

    def are_forgotten(self, table: bytes, row: bytes, primary: int, secondary: int) -> bool:
        """Whether it cannot be known if one of two that differ was given."""
        return self._are_servers(table, row, primary, secondary) and self._is_forgotten(table, primary, secondary)

    def may_be_alike(self, table: bytes, row: bytes, primary: int, secondary: int) -> bool:
        return primary == secondary or self._are_servers(table, row, primary, secondary)

    def _are_servers(self, table: bytes, row: bytes, primary: int, secondary: int) -> bool:
        given = (table, row, primary) in self._given or (table, row, secondary) in self._given
        return not given and min(primary, secondary) >= self._since

    def _is_forgotten(self, table: bytes, primary: int, secondary: int) -> bool:
        return min(primary, secondary) <= self._forgotten.get(table, self._since - 1)

    def may_be_servers(self, rows: Iterable[Cells], times: Iterable[int]) -> bool:
        """Whether a call names a time that a client may have from a server's answer: the other server has another."""
        return any(
            at >= self._since and not any((one.table, one.row, at) in self._given for one in rows) for at in times
        )
