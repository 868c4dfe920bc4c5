"""A request that costs too much ends, with a sentence that says which limit it met, or, if it is a page of a scan, with
a position.

Looked at where long reads give way to others (tablet.pacing), so that it costs short ones nothing. Reads of a request
add up, also those of other tablets and tablet servers; each page of a scan counts for itself, because the next one goes
on where it ended.
"""

from collections.abc import Callable
from math import inf
from typing import final

from hbtable.errors import CostExceeded, HbtableError, Unavailable
from hbtable.model.values import shown
from hbtable.runtime.request_budget import RequestBudget, current_budget
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.pacing import Pacer
from hbtable.tablet.state import Environment

_LONGEST_SECONDS = 0.02
"""Counted of one stretch between two looks at the clock: what takes longer has waited, for a file or for a worker."""
_TO_READERS = "ask for fewer rows or columns at a time, or scan instead of reading rows whole"
TO_WRITERS = "send fewer rows or cells in a call"


@final
class ReadIsLate(Unavailable):
    """A read waited for so long that nobody waits for it any more."""


@final
class CostLimit:
    """Adds the costs of a read to its request's, and ends it with CostExceeded when they are beyond the options.
    `place` says where it is, for people. Is a pacing.Cost; sources.ReadSnapshot tells the budget of blocks and
    cells."""

    __slots__ = ("_clock", "_options", "advice", "budget", "place", "row")

    def __init__(self, options: TabletOptions, budget: RequestBudget, clock: Callable[[], float]) -> None:
        self._options = options
        self._clock = clock
        self.budget = budget
        self.row = b""
        """The one that is being read, for `place`."""
        self.place: Callable[[], str] = self._at_row
        self.advice = _TO_READERS

    def end(self) -> None:
        """The read is over. Of its page nothing is held any more: that leads back here, and such a circle would stay
        until the collector comes."""
        self.budget.clear()
        self.place = _nowhere

    def worked(self, seconds: float) -> None:
        """CostExceeded."""
        budget, options = self.budget, self._options
        budget.is_used = True
        budget.seconds += min(seconds, _LONGEST_SECONDS)
        if budget.cells > options.request_cells:
            self._refuse(f"looked at {budget.cells} cells", "request_cells", options.request_cells)
        if budget.read_bytes > options.request_read_bytes:
            self._refuse(f"read {budget.read_bytes} bytes of blocks", "request_read_bytes", options.request_read_bytes)
        if budget.seconds > options.request_seconds:
            self._refuse(f"took {budget.seconds:.1f} s of work", "request_seconds", options.request_seconds)
        self.check_deadline()

    def check_deadline(self, early_seconds: float = 0.0) -> None:
        """CostExceeded or ReadIsLate when nobody waits for the answer any more, or will not in so many seconds."""
        if self.budget.deadline is not None and self._clock() + early_seconds > self.budget.deadline:
            raise self._late()

    def _late(self) -> HbtableError:
        """Whoever waited for most of the time, for a file or for his turn, may succeed the next time."""
        longer = (
            f"this request took longer {self.place()} than the server that asks for it waits (rpc.read_seconds there, "
            "or rpc.write_seconds of a change)"
        )
        if 2 * self.budget.own_cost().seconds < self._clock() - self.budget.began:
            return ReadIsLate(f"{longer}, most of it without work of its own: try again")
        return CostExceeded(f"{longer}: {self.advice}")

    def seconds_left(self) -> float:
        """The seconds until nobody waits for the answer any more."""
        deadline = self.budget.deadline
        return inf if deadline is None else deadline - self._clock()

    def is_half_spent(self) -> bool:
        """Time for a page to end, so that the row which comes next has the other half."""
        budget, options = self.budget, self._options
        return (
            2 * budget.cells > options.request_cells
            or 2 * budget.read_bytes > options.request_read_bytes
            or 2 * budget.seconds > options.request_seconds
        )

    def _at_row(self) -> str:
        return f"up to row {shown(self.row)}" if self.row else "before its first row"

    def _refuse(self, what: str, key: str, limit: float) -> None:
        raise CostExceeded(
            f"this request {what} {self.place()}, and one may not cost more than tablet.{key} = {limit:g}: "
            f"{self.advice}, or have the limit raised"
        )


def _nowhere() -> str:
    return "behind its end"


def paced_request(environment: Environment) -> tuple[CostLimit, Pacer]:
    """The cost of the request that the calling task works on, for a read that may be long."""
    options = environment.options
    cost = CostLimit(options, current_budget() or RequestBudget(), environment.runtime.clock_seconds)
    return cost, Pacer(environment.runtime, options.slice_seconds, cost=cost)


def cost_of_page(environment: Environment) -> CostLimit:
    """The cost of one page of a scan alone. The caller calls its end()."""
    budget = current_budget()
    mine = RequestBudget() if budget is None else budget.part()
    return CostLimit(environment.options, mine, environment.runtime.clock_seconds)
