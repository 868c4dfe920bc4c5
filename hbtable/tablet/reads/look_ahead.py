"""Filters whose searches and expressions run in a worker process: how it is asked, and a scan that looks ahead."""

from collections.abc import Iterator, Sequence
from typing import Final

from hbtable.errors import LimitExceeded
from hbtable.filters.asking import Ask
from hbtable.filters.searching import Searches, job_of
from hbtable.model.cell import Row
from hbtable.runtime.interface import Runtime, WorkerDied
from hbtable.switches import switches

_MOST_ROWS: Final = 256
_MOST_BYTES: Final = 256 << 10


def ask_worker(runtime: Runtime) -> Ask:
    def ask(parts: Sequence[bytes], seconds: float) -> Sequence[bytes]:
        kind, job = job_of(parts)
        try:
            return runtime.run_in_process(kind, job, parts, seconds)
        except WorkerDied as error:
            raise LimitExceeded(f"the worker process {error}") from error

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
