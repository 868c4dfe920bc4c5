"""What simulated clients do, and what they were told: one history per row (linearizability.py)."""

import random
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from hbtable.client.table import Table
from hbtable.errors import (
    HbtableError,
    InvalidRequest,
    LockLost,
    OutcomeUnknown,
    OutOfSpace,
    StaleLocation,
    TableExists,
    TableNotFound,
    Unavailable,
)
from hbtable.model.additions import INCREMENT
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_FAMILY, PUT, RowMutation
from hbtable.model.ranges import RowRange, successor
from hbtable.model.read import EVERYTHING, ReadSpec, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from tests.harness.linearizability import UNDECIDED, UNKNOWN, History, Operation, Row
from tests.harness.sim_cluster import ClientProcess

TABLE = b"journal"
ROWS = [b"row%02d" % number for number in range(12)]
SPLITS = [b"row04", b"row08"]

_KINDS = ("put", "get", "increment", "check", "append", "delete", "range")
_MIXES = ((30, 25, 20, 12, 8, 5, 2), (30, 25, 20, 12, 8, 5, 2), (0, 1, 0, 0, 0, 0, 0))
"""How often each kind comes; a worker has one of these. A stale read is seen by those that only read: to write is to
find the fence."""
LEFT = ReadSpec({b"f": frozenset((b"v",))})


def schema() -> TableSchema:
    families = {name: FamilySchema(name, max_versions=1) for name in (b"f", b"g", b"c")}
    return TableSchema(TABLE, families)


def row_of(cells: list[tuple[bytes, int, bytes]]) -> Row:
    found = {column: value for column, _, value in reversed(cells)}
    counts = [None if count is None else _counted(count) for count in (found.get(b"c:n"), found.get(b"g:n"))]
    return Row(found.get(b"f:v"), found.get(b"g:v"), *counts)


def _counted(value: bytes) -> int:
    count: int = struct.unpack(">q", value)[0]
    return count


def put_of(row: bytes, value: bytes) -> RowMutation:
    return RowMutation(row, [(PUT, b"f", b"v", SERVER_TIME, value), (PUT, b"g", b"v", SERVER_TIME, value)])


def both_of(row: bytes, amount: int) -> RowMutation:
    """An addition to the counters of two families."""
    added = struct.pack(">q", amount)
    return RowMutation(row, [(INCREMENT, family, b"n", SERVER_TIME, added) for family in (b"c", b"g")])


def delete_of(row: bytes) -> RowMutation:
    return RowMutation(row, [(DELETE_FAMILY, family, b"", SERVER_TIME, b"") for family in (b"f", b"g", b"c")])


class Journal:
    """Every row's history, in the order in which the operations were called."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.rows: dict[bytes, History] = {row: History() for row in ROWS}
        self.count: Counter[str] = Counter()
        self.trusts_reads = True
        """False while clocks may lie: a lease that is believed too long lets a paused server answer reads with what
        was true before, which nothing can prevent; what it acknowledges as written must be kept all the same."""

    def record(self, row: bytes, operation: Operation, perform: Callable[[], Any]) -> bool:
        """Performs it and writes down what was answered: True. Operations that surely did nothing are not kept."""
        return self.record_of_rows([row], operation, perform)

    def record_of_rows(self, rows: Sequence[bytes], operation: Operation, perform: Callable[[], Any]) -> bool:
        """As record(), of one that does the same to each of these rows, at a moment of its own."""
        histories = [self.rows[row].operations for row in rows]
        for operations in histories:
            operations.append(operation)

        def forget() -> None:
            for operations in histories:
                operations.remove(operation)

        try:
            answer = perform()
        except OutOfSpace:
            self.count["unknown"] += 1  # refused, yet a server that dies before it could write on may show it
        except (Unavailable, StaleLocation):
            forget()
            self.count["refused"] += 1
        except InvalidRequest as error:
            if "read only" not in str(error):
                raise
            forget()  # an operator made it so (sim_schema_chores.py)
            self.count["refused"] += 1
        except (OutcomeUnknown, LockLost):
            self.count["unknown"] += 1
        else:
            operation.answer = answer
            operation.returned = self.clock()
            self.count["answered"] += 1
            if not self.trusts_reads and (operation.kind == "get" or answer is False):
                forget()  # it changed nothing, and what it saw proves nothing
        return operation.answer is not UNKNOWN

    def violations(self) -> list[str]:
        found = []
        for row, history in self.rows.items():
            message = history.violation()
            if message == UNDECIDED:
                self.count["undecided rows"] += 1
            elif message:
                found.append(f"{row!r}: {message}")
        return found


class Worker:
    """One task of one client. Values are never used twice, so that what is read says who wrote it."""

    def __init__(
        self,
        process: ClientProcess,
        journal: Journal,
        name: str,
        seed: int,
        deletes_ranges: bool = True,
        every_call: bool = False,
        only_reads: bool = False,
    ) -> None:
        """`deletes_ranges`: a range that is deleted takes the cells of all families with it, also those of which the
        journal knows nothing. `every_call`: half of the conditional writes go by mutate_if, and half of the
        increments to two counters. `only_reads`: as one in three does anyhow."""
        self._every_call = every_call
        self._process = process
        self._journal = journal
        self._name = name
        self._deletes_ranges = deletes_ranges
        self._chance = random.Random(f"worker {name} {seed}")
        self._number = 0
        self._seen: dict[bytes, bytes | None] = {}
        self._mix = _MIXES[-1] if only_reads else self._chance.choice(_MIXES)

    def run(self, going: Callable[[], bool], pauses: tuple[float, ...] = (0.0, 0.02, 0.08)) -> None:
        """Until not going(); after that at most the operation under way."""
        while going():
            if (
                self._process.lease is not None and self._process.lease.over()
            ):  # a program whose session is over starts again
                try:
                    self._process.reconnect()
                except HbtableError:
                    self._process.runtime.sleep(0.3)
                    continue
            if not self.step():
                self._process.runtime.sleep(self._chance.uniform(0.05, 0.5))
            self._process.runtime.sleep(self._chance.choice(pauses) * self._chance.random())

    def step(self) -> bool:
        """Whether its outcome is known."""
        table = self._process.client.table(TABLE)
        row = self._chance.choice(ROWS)
        kind = self._chance.choices(_KINDS, self._mix)[0]
        if kind == "range" and not self._deletes_ranges:
            kind = "delete"
        if kind == "range":
            return self._delete_range(table)
        argument = self._argument(kind)
        if kind == "increment" and self._every_call and self._number % 2:
            kind = "both"
        operation = Operation(kind, self._name, argument, self._journal.clock())
        if kind == "check":
            operation.wanted = self._seen.get(row)
        return self._journal.record(row, operation, lambda: self._perform(table, row, operation))

    def _delete_range(self, table: Table) -> bool:
        """To each row it is a delete."""
        first, last = sorted(self._chance.choices(range(len(ROWS)), k=2))
        rows = ROWS[first : last + 1]
        wanted = RowRange(rows[0], successor(rows[-1]))
        operation = Operation("delete", self._name, None, self._journal.clock())
        return self._journal.record_of_rows(rows, operation, lambda: table.delete_range(wanted))

    def _argument(self, kind: str) -> Any:
        self._number += 1
        if kind == "increment":
            return self._chance.randrange(1, 1000)
        if kind == "append":
            return b"+%s.%d" % (self._name.encode(), self._number)
        if kind in ("put", "check"):
            return b"%s.%d/" % (self._name.encode(), self._number) + b"v" * self._chance.choice((4, 60, 300))
        return None

    def _perform(self, table: Table, row: bytes, operation: Operation) -> Any:
        argument = operation.argument
        if operation.kind == "put":
            return table.mutate([put_of(row, argument)])
        if operation.kind == "delete":
            return table.mutate([delete_of(row)])
        if operation.kind == "increment":
            return table.increment(row, b"c", b"n", argument)
        if operation.kind == "both":
            return tuple(_counted(value) for _, _, value in table.add_to_columns(both_of(row, argument)))
        if operation.kind == "append":
            self._seen[row] = cells = table.append(row, [(b"f", b"v", argument)])[0][2]
            return cells
        if operation.kind == "check":
            if self._every_call and self._number % 2:
                return table.mutate_if(row, LEFT, "=", operation.wanted, put_of(row, argument))
            return table.check_and_mutate(row, b"f", b"v", operation.wanted, put_of(row, argument))
        return self.read(table, row)

    def read(self, table: Table, row: bytes) -> Row:
        found = table.read_rows([row], EVERYTHING)
        state = row_of(found[0][1]) if found else Row()
        self._seen[row] = state.left
        return state


def scanned(table: Table) -> dict[bytes, Row]:
    """Every row, by pages."""
    found: dict[bytes, Row] = {}
    request: ScanRequest | None = ScanRequest(max_rows=5)
    while request is not None:
        page = table.scan_page(request)
        for row, cells in page.rows:
            assert row not in found, f"row {row!r} came twice in one scan"
            found[row] = row_of(cells)
        request = None if page.next is None else ScanRequest(max_rows=5, position=page.next)
    return found


def create(process: ClientProcess) -> None:
    """The table, however often that has to be asked for; one that exists may be of a request that came late."""
    while True:
        try:
            if TABLE in process.client.admin.table_names():
                return
            process.client.admin.create_table(schema(), SPLITS)
        except (Unavailable, StaleLocation, OutcomeUnknown, TableNotFound, TableExists):
            process.runtime.sleep(0.2)
