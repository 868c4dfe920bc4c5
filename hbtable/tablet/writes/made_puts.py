"""Increments and appends among the changes of a row become puts, of what the row holds while it is held."""

from collections.abc import Callable
from typing import Final

from hbtable.errors import LimitExceeded
from hbtable.model.additions import ADDITIONS, INCREMENT, incremented
from hbtable.model.cell import Cell
from hbtable.model.mutation import PUT, MadeChecksum, Operation, RowMutation
from hbtable.model.read import ANSWER_BYTES
from hbtable.model.values import LARGEST_I64, shown, whole_number
from hbtable.runtime.request_budget import HELD_AT_ONCE, current_budget, hold_at_once
from hbtable.runtime.slices import with_pauses
from hbtable.switches import switches

_COPIES: Final = 2
"""Of a value that was made there are at once: in the operation, and in the log's record."""


@switches
def made_puts(
    mutation: RowMutation,
    newest: Callable[[bytes, bytes, bytes], tuple[Cell | None, int]],
    time_after: Callable[[bytes, Cell | None], int],
    pause: Callable[[], None],
) -> RowMutation:
    """The mutation with a put for each increment and append. The caller holds the row, and looks afterwards whether the
    mutation is what was sent. `newest` finds a column's newest version and its own time to live, which the put has,
    too; `time_after` says the put's time. NotACounter, LimitExceeded: nothing happened. *Switches.*"""
    row = mutation.row
    operations: list[Operation] = []
    ttls: list[int] = []
    given_ttl = whole_number("the time to live", mutation.ttl_millis, 0, LARGEST_I64)
    made = MadeChecksum(row, given_ttl, mutation.skip_log)
    budget = current_budget()
    size = held = 0
    for operation in with_pauses(mutation.operations, pause):
        kind, family, qualifier, _, value = operation
        ttl = given_ttl
        if kind in ADDITIONS:
            cell, old_ttl = newest(row, family, qualifier)
            old = cell[2] if cell is not None else b""
            if kind == INCREMENT:
                value = incremented(row, family, qualifier, cell, int.from_bytes(value, "big", signed=True))
            else:
                value = _joined(row, old, value, size)
            size += len(value)
            if size - held > HELD_AT_ONCE:
                hold_at_once(_COPIES * (size - held))
                held = size
            if budget is not None:
                budget.compare(len(old))
            operation = (PUT, family, qualifier, time_after(row, cell), value)
            ttl = given_ttl or old_ttl
            pause()
        made.add(operation)
        operations.append(operation)
        ttls.append(ttl)
    puts = RowMutation(row, operations, mutation.skip_log, given_ttl, made.value())
    if any(ttls):
        puts.ttls = ttls
    return puts


def _joined(row: bytes, old: bytes, suffix: bytes, before: int) -> bytes:
    if before + len(old) + len(suffix) > ANSWER_BYTES:
        raise LimitExceeded(
            f"what a change of row {shown(row)} appends to holds more than {ANSWER_BYTES} bytes together with what is "
            "appended: append to fewer columns at a time"
        )
    return old + suffix
