"""Times of cells: those that a client gave have to be the same on both servers, those that a server chose cannot be.

The proxy passes writes on as they come, so each server takes its own time for what has none. It could ask the primary
for the time it took, and repeat the write with that. It does not: a delete shows no time that could be asked for, so
puts with the primary's times would lie behind deletes with the secondary's, and be hidden by them.
"""

import threading
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
        self._given: dict[tuple[bytes, bytes, int], None] = {}

    def give(self, rows: Iterable[Cells], times: Iterable[int]) -> None:
        """Clients wrote these rows at these times."""
        with self._lock:
            for at in times:
                for cells in rows:
                    self._given[cells.table, cells.row, at] = None
            while len(self._given) > _REMEMBERED:
                del self._given[next(iter(self._given))]

    def alike(self, table: bytes, row: bytes, primary: int, secondary: int) -> bool:
        if primary == secondary:
            return True
        given = (table, row, primary) in self._given or (table, row, secondary) in self._given
        return not given and min(primary, secondary) >= self._since

    def may_be_servers(self, rows: Iterable[Cells], times: Iterable[int]) -> bool:
        """Whether a call names a time that a client may have from a server's answer: the other server has another."""
        return any(
            at >= self._since and not any((one.table, one.row, at) in self._given for one in rows) for at in times
        )
