"""Increments and appends among the changes of a row: what to add to the newest value of a column.

A tablet makes puts of them while it holds the row, so that neither a log nor a file ever has one. Each adds to what was
there before the call, as in HBase's RowMutations. A column that is added to is named once among the changes, so that
their order does not matter to it.
"""

from collections.abc import Callable, Iterator
from typing import Final

from hbtable.errors import InvalidRequest, NotACounter
from hbtable.model.cell import SERVER_TIME, Cell
from hbtable.model.mutation import DELETE_FAMILY, DELETE_FAMILY_VERSION, Operation, RowMutation
from hbtable.model.values import check_bytes, shown
from hbtable.switches import switches

INCREMENT: Final = 16
"""The kind of an operation whose value is an amount, in eight bytes as a counter has it."""
APPEND: Final = 17
"""The kind of an operation whose value is a suffix."""
ADDITIONS: Final = (INCREMENT, APPEND)
COUNTER_BYTES: Final = 8

_LOOKED_AT_ONCE: Final = 256
Column = tuple[bytes, bytes]
"""Family and qualifier."""


def added_to(mutation: RowMutation) -> list[Column]:
    """The columns of increments and appends, in order."""
    return [(family, qualifier) for kind, family, qualifier, _, _ in mutation.operations if kind in ADDITIONS]


@switches
def check_additions(mutation: RowMutation, pause: Callable[[], None]) -> list[Column]:
    """As added_to(), of very many operations, too. InvalidRequest for what cannot be added, and for a column that is
    added to and named once more. *Switches* between operations."""
    named: dict[Column, int] = {}
    for kind, family, qualifier, timestamp, value in _paced(mutation, pause):
        if kind not in ADDITIONS:
            continue
        for what, given in ("the column family", family), ("the qualifier", qualifier), ("the value", value):
            check_bytes(what, given)
        if timestamp != SERVER_TIME:
            raise InvalidRequest(
                f"an increment or append of {_shown(mutation, family, qualifier)} has the time {shown(timestamp)}: it "
                "is always of now, so give it none"
            )
        if kind == INCREMENT and len(value) != COUNTER_BYTES:
            raise InvalidRequest(
                f"the amount that is added to {_shown(mutation, family, qualifier)} has {len(value)} bytes: a counter "
                f"has {COUNTER_BYTES}"
            )
        named[family, qualifier] = 0
    families = {family for family, _ in named}
    for kind, family, qualifier, _, _ in _paced(mutation, pause) if named else ():
        if family not in families:
            continue
        if kind in (DELETE_FAMILY, DELETE_FAMILY_VERSION):
            raise InvalidRequest(
                f"one change of row {shown(mutation.row)} adds to a column of family {shown(family)} and deletes the "
                "family: delete its other columns by name, or make two changes"
            )
        if (family, qualifier) in named:
            named[family, qualifier] += 1
            if named[family, qualifier] > 1:
                raise InvalidRequest(
                    f"one change adds to {_shown(mutation, family, qualifier)} and names it once more: add all at "
                    "once, put what it is to be, or make two changes"
                )
    return list(named)


def incremented(row: bytes, family: bytes, qualifier: bytes, cell: Cell | None, amount: int) -> bytes:
    """A counter's new value, from its newest cell; beyond 64 bits it goes on at the other end. NotACounter."""
    if cell is None:
        total = amount
    elif len(cell[2]) != COUNTER_BYTES:
        # HBase's words come first: clients look for them.
        place = f"column {shown(family + b':' + qualifier)} of row {shown(row)}"
        raise NotACounter(f"Field is not a long, it's {len(cell[2])} bytes wide: {place} is no counter")
    else:
        total = int.from_bytes(cell[2], "big") + amount
    return counter_bytes(total)


def counter_bytes(value: int) -> bytes:
    """As a counter has it; beyond 64 bits it goes on at the other end."""
    return (value & (2**64 - 1)).to_bytes(COUNTER_BYTES, "big")


@switches
def _paced(mutation: RowMutation, pause: Callable[[], None]) -> Iterator[Operation]:
    operations = mutation.operations
    for first in range(0, len(operations), _LOOKED_AT_ONCE):
        yield from operations[first : first + _LOOKED_AT_ONCE]
        pause()


def _shown(mutation: RowMutation, family: bytes, qualifier: bytes) -> str:
    return f"column {shown(family + b':' + qualifier)} of row {shown(mutation.row)}"
