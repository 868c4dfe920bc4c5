"""Bounds what one call may write to a tablet, whichever way it came in.

A message of Thrift has a limit of its own. A program that has the database in its own process has none, and its write
is pairs, a record of the log and a memtable at once: three times its bytes.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, final

from hbtable.errors import LimitExceeded
from hbtable.model.mutation import Operation
from hbtable.model.parts import PART_BYTES
from hbtable.model.values import shown
from hbtable.switches import switches

CELL_OVERHEAD_BYTES: Final = 128
"""Of each cell in memory, beside its own bytes."""
_OPERATIONS_IN_A_PART: Final = 256


@final
class WriteSize:
    """The bytes of one call's write so far. `table`: its name, for people."""

    __slots__ = ("_most_bytes", "_size_bytes", "_table")

    def __init__(self, most_bytes: int, table: str) -> None:
        self._most_bytes = most_bytes
        self._table = table
        self._size_bytes = 0

    @switches
    def paced(self, row: bytes, operations: Sequence[Operation], pause: Callable[[], None]) -> Iterator[Operation]:
        """The operations, one by one, each of which is checked by whoever takes it, before the next. *Switches* between
        parts of them. LimitExceeded when they are too many or too large, with those before."""
        for first in range(0, len(operations), _OPERATIONS_IN_A_PART):
            part = operations[first : first + _OPERATIONS_IN_A_PART]
            for operation in part:
                yield operation
                if len(operation[4]) > PART_BYTES:  # copied, if it has a time to live
                    pause()
            own = sum([len(qualifier) + len(value) for _, _, qualifier, _, value in part])
            self._size_bytes += own + len(part) * (len(row) + CELL_OVERHEAD_BYTES)
            if self._size_bytes > self._most_bytes:
                raise LimitExceeded(
                    f"a write to table {self._table} has more than {self._most_bytes} bytes up to row {shown(row)}, "
                    "and no call may write more to a tablet (tablet.max_write_bytes; a cell counts 128 bytes more than "
                    "its row, qualifier and value): the tablet wrote nothing of it; write fewer rows or cells at a time"
                )
            pause()
