"""Changes of one row that are made at once: Table.mutate_row, on a condition Table.check_and_mutate and mutate_if."""

from collections.abc import Callable, Iterable
from typing import Literal, Self, final

from hbtable.client.columns import Data, K, Key, cells, delete, full, listed, put, write_time
from hbtable.client.given import whole_number
from hbtable.errors import WrongValue
from hbtable.model.additions import APPEND, COUNTER_BYTES, INCREMENT
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_FAMILY, DELETE_VERSION, Operation, RowMutation
from hbtable.model.values import LARGEST_I64, SMALLEST_I64

Comparison = Literal["=", "!=", "<", "<=", ">", ">="]
"""The stored value stands left of it."""


@final
class RowChanges:
    """Changes of one row, made all or none, and used any number of times. Puts and deletes are made in their order;
    each may have a time of its own, and without one it is the server's. Increments and appends add to what was there
    before the call: a column of theirs is named by no other change, nor is its family deleted."""

    __slots__ = ("_steps",)

    def __init__(self) -> None:
        self._steps: list[Operation | int] = []
        """A number is a delete of the whole row, up to this time."""

    def put(self, data: Data[K], timestamp: int | None = None) -> Self:
        time = write_time(timestamp)
        self._steps += [put(column, value, time) for column, value in cells(data)]
        return self

    def delete(self, columns: Iterable[Key] | None = None, timestamp: int | None = None) -> Self:
        """All versions, or those up to `timestamp`, of columns, of families (without a colon) or of the row."""
        time = write_time(timestamp)
        if columns is None:
            self._steps.append(time)
        else:
            self._steps += [delete(column, time) for column in listed(columns)]
        return self

    def delete_version(self, column: Key, timestamp: int | None = None) -> Self:
        """The version of this time alone; without one, the newest."""
        family, qualifier = full(column)
        self._steps.append((DELETE_VERSION, family, qualifier, write_time(timestamp), b""))
        return self

    def increment(self, column: Key, value: int = 1) -> Self:
        """Adds a number of 64 bits to a counter, as counter_inc() does, where a missing one is 0. The new value is not
        told."""
        family, qualifier = full(column)
        amount = whole_number("'value'", value, SMALLEST_I64, LARGEST_I64).to_bytes(COUNTER_BYTES, "big", signed=True)
        self._steps.append((INCREMENT, family, qualifier, SERVER_TIME, amount))
        return self

    def append(self, data: Data[K]) -> Self:
        """Appends a suffix to each column, as Table.append() does; a missing one is empty. What comes of it is not
        told."""
        suffixes = [put(column, value, SERVER_TIME) for column, value in cells(data)]
        self._steps += [(APPEND, family, qualifier, time, value) for _, family, qualifier, time, value in suffixes]
        return self

    def of(self, row: bytes, families: Callable[[], Iterable[bytes]]) -> RowMutation:
        """`families` are asked for by deletes of the whole row. InvalidRequest when there is no change."""
        if not self._steps:
            raise WrongValue(f"there is no change of row {row!r} to make: put, delete or add something")
        operations: list[Operation] = []
        for step in self._steps:
            if isinstance(step, int):
                operations += [(DELETE_FAMILY, family, b"", step, b"") for family in sorted(families())]
            else:
                operations.append(step)
        return RowMutation(row, operations)
