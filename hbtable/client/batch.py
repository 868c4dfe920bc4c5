"""Puts and deletes gathered on the client and sent together: one RowMutation a row, in the caller's order."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import final

from hbtable.client import columns as column_names
from hbtable.client.columns import Data, K, Key
from hbtable.client.given import bytes_of, flag, whole_number
from hbtable.errors import WrongType, WrongValue
from hbtable.model.mutation import Operation, RowMutation
from hbtable.model.values import LARGEST_I64, SMALLEST_I64
from hbtable.switches import switches


@final
class Batch:
    """Puts and deletes to be sent together; Rows.batch makes it. As a context manager it sends what is left at the end,
    also after an error inside the block, unless it is a `transaction`. A failed send keeps what it held: sending again
    repeats it. One that is let go of before it was sent says so (ResourceWarning)."""

    def __init__(
        self,
        mutate: Callable[[Sequence[RowMutation]], None],
        families: Callable[[], Iterable[bytes]],
        timestamp: int | None,
        batch_size: int | None,
        transaction: bool,
        wal: bool,
    ) -> None:
        flag("'transaction'", transaction)
        if batch_size is not None:
            if transaction:
                raise WrongType("'transaction' cannot be used when 'batch_size' is specified")
            batch_size = whole_number("'batch_size'", batch_size, SMALLEST_I64, LARGEST_I64)
            if batch_size <= 0:
                raise WrongValue(f"'batch_size' must be > 0, not {batch_size}")
        self._mutate = mutate
        self._read_families = families
        self._families: list[bytes] | None = None
        self._timestamp = column_names.write_time(timestamp)
        self._batch_size = batch_size
        self._transaction = transaction
        self._wal = flag("'wal'", wal)
        self._mutations: list[RowMutation] = []
        self._known_to_be_unsent = False
        """An error said so, or it was meant so."""
        self._by_row: dict[bytes, RowMutation] = {}
        self._count = 0

    @switches
    def put(self, row: Key, data: Data[K], wal: bool | None = None) -> None:
        timestamp = self._timestamp
        cells = column_names.cells(data)
        self._add(row, [column_names.put(column, value, timestamp) for column, value in cells], wal)

    @switches
    def delete(self, row: Key, columns: Iterable[Key] | None = None, wal: bool | None = None) -> None:
        """`columns` None: every family that the table has."""
        if columns is None:
            if self._families is None:
                self._families = sorted(self._read_families())
            names = self._families
        else:
            names = column_names.listed(columns)
        timestamp = self._timestamp
        self._add(row, [column_names.delete(column, timestamp) for column in names], wal)

    @switches
    def send(self) -> None:
        """All rows put or deleted so far are durable and visible on return. What another task adds meanwhile waits for
        the next call."""
        if not self._mutations:
            return
        mutations, by_row, count = self._mutations, self._by_row, self._count
        self._mutations, self._by_row, self._count = [], {}, 0
        try:
            self._mutate(mutations)
        except BaseException:
            self._known_to_be_unsent = True
            self._mutations = mutations + self._mutations
            self._by_row = by_row | self._by_row
            self._count += count
            raise
        self._known_to_be_unsent = False

    @switches
    def _add(self, row: Key, operations: list[Operation], wal: bool | None) -> None:
        logged = self._wal if wal is None else flag("'wal'", wal)
        if not operations:
            return
        if type(row) is not bytes:
            row = bytes_of("the row", row)
        skip_log = not logged
        mutation = self._by_row.get(row)
        if mutation is None or mutation.skip_log is not skip_log:
            mutation = RowMutation(row, operations, skip_log)
            self._mutations.append(mutation)
            self._by_row[row] = mutation
        else:
            mutation.operations.extend(operations)
            mutation.checksum = 0  # that of what a failed send() left
        self._count += len(operations)
        if self._batch_size is not None and self._count >= self._batch_size:
            self.send()

    def __enter__(self) -> "Batch":
        return self

    @switches
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._transaction and kind is not None:
            self._known_to_be_unsent = True
        else:
            self.send()

    def __del__(self) -> None:
        mutations = vars(self).get("_mutations")  # not where __init__ failed
        if mutations and not self._known_to_be_unsent:
            said = f"a batch of {len(mutations)} rows was not sent: call send(), or use it in a `with` block"
            warnings.warn(said, ResourceWarning, stacklevel=2, source=self)
