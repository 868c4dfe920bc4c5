"""Puts of many rows into one column, kept as columns: what a client's batch mostly is.

A mutation for each row costs four objects, and the time of the garbage collector that looks at them. Those who know
columns take `rows` and `values` (client.grouping, tablet.writes); everybody else sees a sequence of mutations, which
are made when the first one is looked at.
"""

from collections.abc import Iterator, Sequence
from typing import final, overload

from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.values import check_bytes


@final
class PutBatch(Sequence[RowMutation]):
    """One put for each of `rows`, of the value at the same place in `values`. A row may come more than once."""

    __slots__ = ("_mutations", "family", "qualifier", "rows", "timestamp", "values")

    def __init__(
        self, family: bytes, qualifier: bytes, timestamp: int, rows: Sequence[bytes], values: Sequence[bytes]
    ) -> None:
        self.family = family
        self.qualifier = qualifier
        self.timestamp = timestamp
        self.rows = rows
        self.values = values
        self._mutations: list[RowMutation] | None = None

    @property
    def in_columns(self) -> bool:
        """Nobody has looked at a mutation. Otherwise the mutations count: one may carry a checksum by now, and is not
        to be taken for right without it."""
        return self._mutations is None

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> RowMutation: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[RowMutation]: ...
    def __getitem__(self, place: int | slice) -> RowMutation | Sequence[RowMutation]:
        if self._mutations is None and isinstance(place, slice):
            return PutBatch(self.family, self.qualifier, self.timestamp, self.rows[place], self.values[place])
        return self._made()[place]

    def __iter__(self) -> Iterator[RowMutation]:
        return iter(self._made())

    def _made(self) -> list[RowMutation]:
        if self._mutations is None:
            family, qualifier, timestamp = self.family, self.qualifier, self.timestamp
            self._mutations = [
                RowMutation(row, [(PUT, family, qualifier, timestamp, value)])
                for row, value in zip(self.rows, self.values, strict=True)
            ]
        return self._mutations


def puts_in_columns(mutations: Sequence[RowMutation]) -> PutBatch | None:
    """The batch, if it is one whose mutations nobody has looked at."""
    return mutations if type(mutations) is PutBatch and mutations.in_columns else None


def rows_of(mutations: Sequence[RowMutation]) -> Sequence[bytes]:
    """The row of each."""
    puts = puts_in_columns(mutations)
    return [mutation.row for mutation in mutations] if puts is None else puts.rows


def first_row(mutations: Sequence[RowMutation]) -> bytes:
    """The row of the first of one or more. InvalidRequest: it is no `bytes`. Hot."""
    row = mutations.rows[0] if type(mutations) is PutBatch else mutations[0].row
    if type(row) is not bytes:
        check_bytes("the row", row)
    return row
