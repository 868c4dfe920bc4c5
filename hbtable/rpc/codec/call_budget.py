"""The budget of a request as it goes with a call between roles: the time for which the caller waits, and what the
request has cost so far; and back what this call cost it.

So the limits of a request (tablet.reads.cost_limit) hold over all tablet servers that it asks, and nobody works for a
caller who has gone. An older role passes over both, and limits what it does itself, as it always did.
"""

from typing import Final, NamedTuple

from hbtable.runtime.request_budget import NO_COST, RequestBudget, RequestCost
from hbtable.thrift.shapes import INTEGER, Field, Struct

WAIT_FIELD: Final = 100
SPENT_FIELD: Final = 101
"""Both behind all arguments that a call may ever have."""
COST_FIELD: Final = 100
"""In the struct of a call's result, beside the result or the error."""
_TOLD_IN: Final = 0.8
"""Of the time that the caller waits: what takes longer ends with an error that he still hears."""


class CostOfCall(NamedTuple):
    """The part of a request's cost that one call was, or several."""

    millis: int = 0
    read_bytes: int = 0
    cells: int = 0

    def cost(self) -> RequestCost:
        return RequestCost(max(0, self.millis) / 1000, max(0, self.read_bytes), max(0, self.cells))


class CallBudget(NamedTuple):
    """Milliseconds that the caller waits for the answer (0: that is not known), and the costs of his request before;
    None: none."""

    wait_millis: int = 0
    spent: CostOfCall | None = None

    def take_up(self, budget: RequestBudget, now: float) -> None:
        """The budget of the call is what is left of the request's."""
        deadline = now + _TOLD_IN / 1000 * self.wait_millis if self.wait_millis else None
        budget.go_on(NO_COST if self.spent is None else self.spent.cost(), now, deadline)


def budget_to_send(budget: RequestBudget | None, wait_seconds: float) -> CallBudget:
    """The budget of the request that the caller works on; None: it works on none."""
    spent = None if budget is None or not budget.is_used else _as_sent(budget.cost)
    return CallBudget(max(1, int(wait_seconds * 1000)), spent)


def cost_to_send(budget: RequestBudget) -> CostOfCall | None:
    """The part that the call added; None when that is nothing to speak of."""
    return _as_sent(budget.own_cost()) if budget.is_used else None


def _as_sent(cost: RequestCost) -> CostOfCall | None:
    found = CostOfCall(int(cost.seconds * 1000), cost.read_bytes, cost.cells)
    return found if any(found) else None


COST_OF_CALL: Final = Struct(
    [
        Field(1, "millis", INTEGER, 0),
        Field(2, "readBytes", INTEGER, 0),
        Field(3, "cells", INTEGER, 0),
    ],
    CostOfCall,
)
