"""Increments and appends among the changes of a row become puts, of what the row holds while it is held."""

from collections.abc import Callable, Sequence
from typing import Final

from hbtable.errors import LimitExceeded
from hbtable.model.additions import ADDITIONS, INCREMENT, incremented
from hbtable.model.call_checksums import AppendChecksum, check_as_sent
from hbtable.model.cell import Cell
from hbtable.model.mutation import PUT, MadeChecksum, Operation, RowMutation
from hbtable.model.read import ANSWER_BYTES
from hbtable.model.values import LARGEST_I64, shown, whole_number
from hbtable.runtime.request_budget import HELD_AT_ONCE, current_budget, hold_at_once
from hbtable.runtime.slices import with_pauses
from hbtable.switches import switches

_COPIES: Final = 2
"""Of a value that was made there are at once: in the operation, and in the log's record."""
_COPIES_ANSWERED: Final = 3
"""Of one that is answered, too."""


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


@switches
def made_of_suffixes(
    row: bytes,
    values: Sequence[tuple[bytes, bytes, bytes]],
    ttl_millis: int,
    newest: Callable[[bytes, bytes, bytes], tuple[Cell | None, int]],
    time_after: Callable[[bytes, Cell | None], int],
    pause: Callable[[], None],
    checksum: int,
    join: Callable[[Sequence[bytes]], bytes] = b"".join,
) -> RowMutation:
    """The puts of an append of these (family, qualifier, suffix), as made_puts(). `checksum`: of what was sent
    (model.call_checksums). `join` puts a value and a suffix together; it may *switch*."""
    operations: list[Operation] = []
    ttls: list[int] = []
    sent, made = AppendChecksum(row, ttl_millis), MadeChecksum(row)
    size = held = 0
    for value in values:
        family, qualifier, suffix = value
        cell, old_ttl = newest(row, family, qualifier)
        old = cell[2] if cell is not None else b""
        size += len(family) + len(qualifier) + len(old) + len(suffix)
        if size > ANSWER_BYTES:
            raise LimitExceeded(
                f"the {len(values)} columns to append to in row {shown(row)} hold more than {ANSWER_BYTES} bytes "
                "together with what is appended: append to fewer of them at a time"
            )
        if size - held > HELD_AT_ONCE:
            hold_at_once(_COPIES_ANSWERED * (size - held))
            held = size
        operation = (PUT, family, qualifier, time_after(row, cell), join((old, suffix)))
        sent.add(value)
        made.add(operation)
        operations.append(operation)
        ttls.append(ttl_millis or old_ttl)
        pause()
    check_as_sent(row, checksum, sent.value())
    puts = RowMutation(row, operations, checksum=made.value())
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
