"""Changes of one row that are made at once: Table.mutate_row, and with a condition Table.check_and_mutate."""

from collections.abc import Callable, Iterable
from typing import Literal, Self, final

from hbtable.client.columns import Data, K, Key, cells, delete, full, listed, put, write_time
from hbtable.errors import WrongValue
from hbtable.model.mutation import DELETE_FAMILY, DELETE_VERSION, Operation, RowMutation

Comparison = Literal["=", "!=", "<", "<=", ">", ">="]
"""The stored value stands left of it."""


@final
class RowChanges:
    """Puts and deletes of one row, made in their order, all or none, and used any number of times. Each may have a time
    of its own; without one it is the server's."""

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

    def of(self, row: bytes, families: Callable[[], Iterable[bytes]]) -> RowMutation:
        """`families` are asked for by deletes of the whole row. InvalidRequest when there is no change."""
        if not self._steps:
            raise WrongValue(f"there is no change of row {row!r} to make: put or delete something")
        operations: list[Operation] = []
        for step in self._steps:
            if isinstance(step, int):
                operations += [(DELETE_FAMILY, family, b"", step, b"") for family in sorted(families())]
            else:
                operations.append(step)
        return RowMutation(row, operations)
