"""A page of a scan ends in time, whatever it has found: a million deleted or filtered-out cells give pages without rows
(HBase's heartbeats), each with the row where the next one goes on.

A page ends between two rows, so no row is torn. It deals with one row at least, so a scan comes to its end, however
small the limit is.
"""

from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter
from typing import final

from hbtable.encoding.cell_key import TERMINATOR, Pair, row_of
from hbtable.runtime.interface import Runtime
from hbtable.switches import switches
from hbtable.tablet.reads.cost_limit import CostLimit

_KEY = itemgetter(0)


@final
class TimeLimit:
    """Ends one page of a scan in time, and before it costs too much. `reached`: the row at which that was; None: it was
    not."""

    __slots__ = ("_cost", "_deadline", "_runtime", "reached")

    def __init__(self, runtime: Runtime, seconds: float, cost: CostLimit) -> None:
        self._runtime = runtime
        self._cost = cost
        self._deadline = runtime.clock_seconds() + min(seconds, cost.seconds_left() / 2)
        self.reached: bytes | None = None

    def is_over(self) -> bool:
        return self._runtime.clock_seconds() >= self._deadline or self._cost.is_half_spent()

    def before(self, row_start: bytes) -> bool:
        """Reversed: all from this row on was dealt with, given as what its keys begin with. True: the page ends."""
        if not self.is_over():
            return False
        self.reached = row_of(row_start)
        return True

    @switches
    def whole_rows(self, lists: Iterator[list[Pair]]) -> Iterator[list[Pair]]:
        """The lists, up to the row in which the time is over: of that nothing, unless it is the first."""
        last_key = b""
        for one in lists:
            if self.is_over():
                key = one[-1][0]
                row_start = key[: key.index(TERMINATOR) + 2]
                whole = bisect_left(one, row_start, key=_KEY)
                if whole or (last_key and not last_key.startswith(row_start)):
                    self.reached = row_of(key)
                    yield one[:whole]
                    return
            last_key = one[-1][0]
            yield one
