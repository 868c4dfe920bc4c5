"""Reads rows of several tablets at once, within one limit for the whole answer."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from hbtable.errors import CostExceeded, LimitExceeded
from hbtable.model.cell import Row
from hbtable.model.read import ReadSpec, bytes_of
from hbtable.runtime.interface import Runtime
from hbtable.runtime.parallel import results, run_all
from hbtable.switches import switches


@switches
def read_in_parallel(
    runtime: Runtime,
    read_rows: Callable[[Sequence[bytes], ReadSpec], list[Row]],
    groups: Sequence[Sequence[bytes]],
    spec: ReadSpec,
    width: int,
) -> list[list[Row]]:
    """The rows of each group, which lie in one tablet. `width` calls of `read_rows` at a time, each with a share of the
    bytes that are left of the answer. A group whose share was too small is read again, alone and with all that is left.
    So all groups together never hold more than `spec.max_bytes`. LimitExceeded, and what `read_rows` raises."""
    left_bytes = spec.max_bytes

    def read(group: Sequence[bytes], share: int) -> list[Row]:
        nonlocal left_bytes
        found = read_rows(group, replace(spec, max_bytes=max(left_bytes // share, 0)))
        left_bytes -= sum(bytes_of(row, cells) for row, cells in found)
        return found

    outcomes = run_all(runtime, width, [partial(read, group, width) for group in groups], "read")
    for place, outcome in enumerate(outcomes):
        if isinstance(outcome, LimitExceeded) and not isinstance(outcome, CostExceeded):
            outcomes[place] = read(groups[place], 1)
    return results(outcomes)
