"""Increment, append, check-and-mutate: read a row and write it, as one step (HBase's semantics; reference 1.6).

Each holds its row's turn, waits until every earlier write of the row is visible, reads, and writes before the turn is
given on (bug class 12). A call whose outcome is unknown is never repeated in here (bug class 11).

Over a cell with a timestamp in the future the new cell gets that timestamp + 1, so that it is the newest.
"""

from collections.abc import Sequence
from typing import Final, final

from hbtable.errors import InvalidRequest, NotACounter, StaleLocation
from hbtable.model.cell import MAX_TIMESTAMP, SERVER_TIME, Cell
from hbtable.model.mutation import MAX_ROW_BYTES, PUT, Operation, RowMutation
from hbtable.model.read import ReadSpec
from hbtable.tablet.apply import bad_row, no_such_family
from hbtable.tablet.reading import read_row
from hbtable.tablet.state import TabletState
from hbtable.tablet.writing import Writer

_COUNTER_BYTES: Final = 8


@final
class ReadModifyWriter:
    """One per tablet."""

    __slots__ = ("_state", "_writer")

    def __init__(self, state: TabletState, writer: Writer) -> None:
        self._state = state
        self._writer = writer

    def increment(self, row: bytes, family: bytes, qualifier: bytes, amount: int) -> int:
        """As rpc.services.TabletService.increment. Also an amount of 0 writes: a missing cell becomes 0."""
        self._check(row, (family,))
        turns = self._state.turns
        turns.take(row)
        try:
            turns.wait_until_visible(row)
            cell = self._newest(row, family, qualifier)
            if cell is None:
                total = amount
            elif len(cell[2]) != _COUNTER_BYTES:
                raise NotACounter(f"Field is not a long, it's {len(cell[2])} bytes wide")
            else:
                total = int.from_bytes(cell[2], "big") + amount
            value = (total & (2**64 - 1)).to_bytes(_COUNTER_BYTES, "big")
            self._writer.commit([RowMutation(row, [(PUT, family, qualifier, self._time(row, cell), value)])])
        finally:
            turns.give(row)
        return int.from_bytes(value, "big", signed=True)

    def append(self, row: bytes, values: Sequence[tuple[bytes, bytes, bytes]], ttl_millis: int = 0) -> list[Cell]:
        """As rpc.services.TabletService.append. A column named twice: both suffixes go to the old value, both results
        are returned, the last one is kept."""
        self._check(row, [family for family, _, _ in values])
        turns = self._state.turns
        turns.take(row)
        try:
            turns.wait_until_visible(row)
            operations: list[Operation] = []
            for family, qualifier, suffix in values:
                cell = self._newest(row, family, qualifier)
                old = cell[2] if cell is not None else b""
                operations.append((PUT, family, qualifier, self._time(row, cell), old + suffix))
            built = self._writer.commit([RowMutation(row, operations, ttl_millis=ttl_millis)])
        finally:
            turns.give(row)
        return [
            (family + b":" + qualifier, built.time if timestamp == SERVER_TIME else timestamp, value)
            for _, family, qualifier, timestamp, value in operations
        ]

    def check_and_mutate(
        self, row: bytes, family: bytes, qualifier: bytes, expected: bytes | None, mutation: RowMutation
    ) -> bool:
        """As rpc.services.TabletService.check_and_mutate."""
        self._check(row, (family,))
        if mutation.row != row:
            raise InvalidRequest(f"the mutation is of row {mutation.row!r}, the check of row {row!r}")
        turns = self._state.turns
        turns.take(row)
        try:
            turns.wait_until_visible(row)
            cell = self._newest(row, family, qualifier)
            if (cell[2] if cell is not None else b"") != (expected or b""):
                return False
            self._writer.commit([mutation])
        finally:
            turns.give(row)
        return True

    def _check(self, row: bytes, families: Sequence[bytes]) -> None:
        state = self._state
        state.gate.check_served()
        if not row or len(row) > MAX_ROW_BYTES:
            raise bad_row(row)
        if not state.range.holds(row):
            raise StaleLocation(f"row {row!r} lies outside tablet {state.tablet_id}")
        layout = state.version.layout
        for family in families:
            if family not in layout.rules:
                raise no_such_family(layout, family)

    def _newest(self, row: bytes, family: bytes, qualifier: bytes) -> Cell | None:
        cells = read_row(self._state, row, ReadSpec(columns={family: frozenset((qualifier,))}))
        return cells[0] if cells else None

    def _time(self, row: bytes, cell: Cell | None) -> int:
        """SERVER_TIME, unless the old cell lies in the future of this row's clock."""
        if cell is None:
            return SERVER_TIME
        clock = self._state.clock
        now = max(clock.tick(), clock.floors(row)[0])
        return SERVER_TIME if cell[1] <= now else min(cell[1] + 1, MAX_TIMESTAMP - 1)
