"""Filters whose searches and expressions run in a worker process: how it is asked, and a scan that looks ahead."""

from collections.abc import Iterator, Sequence
from math import inf
from typing import Final

from hbtable.access.user import acting_user
from hbtable.errors import LimitExceeded, Overloaded
from hbtable.filters.asking import Ask
from hbtable.filters.searching import Searches, job_of
from hbtable.model.cell import Row
from hbtable.runtime.interface import Runtime, WorkerDied
from hbtable.switches import switches
from hbtable.tablet.reads.cost_limit import CostLimit

_MOST_ROWS: Final = 256
_MOST_BYTES: Final = 256 << 10
_EARLY_SECONDS: Final = 0.001
"""A wait up to a deadline may end so long before it."""


def ask_worker(runtime: Runtime, cost: CostLimit | None = None, wait_seconds: float = inf) -> Ask:
    """Asks for the user of the calling task, or else for its client: they take turns, for which nobody waits longer
    than `wait_seconds` (Overloaded). `cost` hears how long a worker was busy, and its deadline bounds the wait for one:
    the question ends with its CostExceeded or ReadIsLate, which name the limit."""

    @switches
    def ask(parts: Sequence[bytes], seconds: float) -> Sequence[bytes]:
        kind, job = job_of(parts)
        user = acting_user()
        client = "" if user is None else f"user {user.name}"
        try:
            if cost is None:
                return runtime.run_in_process(kind, job, parts, seconds, client, wait_seconds)
            cost.check_deadline()
            wait = min(wait_seconds, cost.seconds_left())
            answer = runtime.run_in_process(kind, job, parts, seconds, client, wait, cost.budget.spend_seconds)
        except WorkerDied as error:
            raise LimitExceeded(f"the worker process {error}") from error
        except Overloaded:
            if cost is not None:
                cost.check_deadline(_EARLY_SECONDS)
            raise
        cost.worked(0.0)
        return answer

    return ask


@switches
def looking_ahead(found: Iterator[Row], searches: Searches) -> Iterator[Row]:
    """`found`, read some rows ahead of who takes them once the filter asks a worker: twice as many each time, since a
    page that is full wastes those that it does not take."""
    most, size = 1, 0
    rows: list[Row] = []
    for row in found:
        if not searches.asks:
            yield row
            continue
        rows.append(row)
        size += sum(len(value) for _, _, value in row[1])
        if len(rows) >= most or size >= _MOST_BYTES:
            searches.ahead(rows)
            yield from rows
            most, size = min(2 * most, _MOST_ROWS), 0
            rows = []
    if rows:
        searches.ahead(rows)
        yield from rows
