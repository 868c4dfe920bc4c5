"""Increment, append, check-and-mutate: read a row and write it, as one step (docs/contract.md: writes). What is changed
on a condition may have increments and appends of its own: they are made when it is met (made_puts.py).

Each holds its row's lock, waits until every earlier write of the row is visible, reads, and writes before the lock is
given on (bug class 12). A call whose outcome is unknown is never repeated in here (bug class 11).

Increments of one counter do not wait for each other's sync: one gives the row on as soon as its write is in the log's
queue, and the next one is made of that write (row_locks.CountUnderWay). Each is answered when it is durable itself. A
group that the log refuses takes along those that are made of it.

Over a cell with a timestamp in the future increment and append give the new cell that timestamp + 1, so that it is the
newest; after a check of such a cell the mutation gets its timestamp (HBase: max(now, the compared cell's time)). A new
cell of increment or append inherits the old one's own time to live, unless the call brings one (HBase's TTL tag).

What a call is made of waits here for the row and for reads. Its checksum is compared in the stretch that makes the
write of it, so that nothing is stored that changed in memory meanwhile (decision 23).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, final

from hbtable.errors import InvalidRequest, Unavailable
from hbtable.model.additions import incremented
from hbtable.model.call_checksums import (
    check_as_sent,
    checksum_of_condition,
    checksum_of_increment,
    checksum_of_predicate,
)
from hbtable.model.cell import MAX_TIMESTAMP, SERVER_TIME, Cell
from hbtable.model.condition import ALWAYS, check_condition, is_met
from hbtable.model.mutation import DELETE_VERSION, PUT, Operation, RowMutation, keep_checksums_in_parts
from hbtable.model.read import ReadSpec, bytes_of
from hbtable.model.values import LARGEST_I64, SMALLEST_I64, check_bytes, shown, whole_number
from hbtable.runtime.joining import Joiner
from hbtable.runtime.request_budget import current_budget
from hbtable.runtime.slices import with_pauses
from hbtable.switches import switches
from hbtable.tablet.pacing import Pacer
from hbtable.tablet.reads.cost_limit import paced_request
from hbtable.tablet.reads.filtering import Filtering, filter_of_rows
from hbtable.tablet.reads.newest_write import newest_write
from hbtable.tablet.reads.reading import newest_version, read_row
from hbtable.tablet.state import TabletState
from hbtable.tablet.writes.apply import IsHeavy
from hbtable.tablet.writes.as_sent import check_unchanged, check_unchanged_in_parts
from hbtable.tablet.writes.changed_columns import check_columns, check_row, checked_additions, columns_of_suffixes
from hbtable.tablet.writes.checked_write import CheckedWrite
from hbtable.tablet.writes.condition import KnownAnswers, NotAnswered
from hbtable.tablet.writes.made_puts import made_of_suffixes, made_puts
from hbtable.tablet.writes.row_locks import CountUnderWay, HeldRow, InFlightWrite
from hbtable.tablet.writes.writing import ReadIsOld, TabletWriter

_CHECKED_AT_ONCE: Final = 256
"""Operations."""
_TRIES: Final = 20
"""To read a row that others change before a costly condition of it is known."""


@final
class ReadModifyWriter:
    """Reads a row of one tablet and writes it, while it holds the row's lock."""

    __slots__ = ("_join", "_state", "_writer")

    def __init__(self, state: TabletState, writer: TabletWriter) -> None:
        self._state = state
        self._writer = writer
        self._join = Joiner(state.environment.runtime)

    @switches
    def increment(self, row: bytes, family: bytes, qualifier: bytes, amount: int, checksum: int = 0) -> int:
        """As rpc.services.TabletService.increment. Also an amount of 0 writes: a missing cell becomes 0."""
        amount = whole_number("the amount", amount, SMALLEST_I64, LARGEST_I64)
        check_row(self._state, row, ((family, qualifier),))
        self._state.row_locks.acquire(row)
        held = HeldRow(self._state.row_locks, row)
        try:
            while True:
                try:
                    return self._add(row, family, qualifier, amount, checksum, held)
                except ReadIsOld:
                    continue
        finally:
            held.let_go()

    @switches
    def _add(self, row: bytes, family: bytes, qualifier: bytes, amount: int, checksum: int, held: HeldRow) -> int:
        """The caller holds the row; it is let go as soon as the write is in the log's queue. ReadIsOld: nothing
        happened."""
        state = self._state
        before = self._counter_under_way(row, family, qualifier)
        ttl_millis = 0
        if before is not None and before.counter is not None:
            ranges_deleted = state.ranges_deleted
            cell: Cell | None = before.counter.cell
            can_be_followed = True
        else:
            state.row_locks.wait_until_visible(row)
            ranges_deleted = state.ranges_deleted
            cell = newest_write(state, row, family, qualifier)
            can_be_followed = cell is not None
            if cell is None:
                cell, ttl_millis = newest_version(state, row, family, qualifier)
        if checksum:
            check_as_sent(row, checksum, checksum_of_increment(row, family, qualifier, amount))
        value = incremented(row, family, qualifier, cell, amount)
        time = self._time(row, cell)
        mutation = RowMutation(row, [(PUT, family, qualifier, time, value)], ttl_millis=ttl_millis)

        def queued(write: InFlightWrite, built: CheckedWrite) -> None:
            if can_be_followed:
                at = built.time if time == SERVER_TIME else time
                write.counter = CountUnderWay(built.layout, family, qualifier, (b"", at, value))
            held.let_go()

        try:
            self._writer.commit_increment(mutation, ranges_deleted, before, queued)
        except IsHeavy:
            if before is not None:
                state.row_locks.wait_until_visible(row)
                raise ReadIsOld from None
            self._writer.commit([mutation], ranges_deleted)
        return int.from_bytes(value, "big", signed=True)

    def _counter_under_way(self, row: bytes, family: bytes, qualifier: bytes) -> InFlightWrite | None:
        """The last write of the row, if it is on its way and is an increment of this column that can be followed."""
        state = self._state
        write = state.row_locks.last_under_way(row) if state.environment.log.takes_followers else None
        counter = write.counter if write is not None else None
        if counter is None or counter.qualifier != qualifier or counter.family != family:
            return None
        return write if counter.layout is state.version.layout else None

    @switches
    def append(
        self, row: bytes, values: Sequence[tuple[bytes, bytes, bytes]], ttl_millis: int = 0, checksum: int = 0
    ) -> list[Cell]:
        """As rpc.services.TabletService.append. A column named twice: both suffixes go to the old value, both results
        are returned, the last one is kept."""
        ttl_millis = whole_number("the time to live", ttl_millis, 0, LARGEST_I64)
        cost, pacer = paced_request(self._state.environment)
        cost.row = row
        check_columns(self._state, row, columns_of_suffixes(values), pacer.pause)

        @switches
        def make() -> RowMutation:
            return made_of_suffixes(
                row, values, ttl_millis, self._newest, self._time, pacer.pause, checksum, self._join
            )

        return self._write_made(row, make)

    @switches
    def _write_made(self, row: bytes, make: Callable[[], RowMutation]) -> list[Cell]:
        """The cells of the puts that `make` makes of what the row holds, once they are there."""
        row_locks = self._state.row_locks
        row_locks.acquire(row)
        try:
            row_locks.wait_until_visible(row)
            while True:
                ranges_deleted = self._state.ranges_deleted
                puts = make()
                try:
                    built = self._writer.commit([puts], ranges_deleted)
                except ReadIsOld:
                    continue
                pacer = self._pacer()  # it is done, whatever it costs
                return [
                    (family + b":" + qualifier, built.time if timestamp == SERVER_TIME else timestamp, value)
                    for _, family, qualifier, timestamp, value in with_pauses(puts.operations, pacer.pause)
                ]
        finally:
            row_locks.release(row)

    @switches
    def add_to_columns(self, mutation: RowMutation) -> list[Cell]:
        """As rpc.services.TabletService.add_to_columns."""
        pacer = self._pacer()  # one: each new one would let as much more be done before it switches
        row = mutation.row
        added_to = checked_additions(self._state, row, mutation, pacer.pause)
        if not added_to or len(added_to) != len(mutation.operations):
            raise InvalidRequest(
                f"a change of row {shown(row)} that answers the new cells has increments and appends alone"
            )
        keep_checksums_in_parts((mutation,), pacer.pause)
        return self._write_made(row, partial(self._with_puts, mutation, pacer))

    @switches
    def check_and_mutate(
        self,
        row: bytes,
        family: bytes,
        qualifier: bytes,
        expected: bytes | None,
        mutation: RowMutation,
        checksum: int = 0,
    ) -> bool:
        """As rpc.services.TabletService.check_and_mutate."""
        pacer = self._pacer()  # one: each new one would let as much more be done before it switches
        check_row(self._state, row, ((family, qualifier),))
        added_to = checked_additions(self._state, row, mutation, pacer.pause)
        if expected is not None:
            check_bytes("the expected value", expected)
        if mutation.row != row:
            raise InvalidRequest(f"the mutation is of row {mutation.row!r}, the check of row {row!r}")
        keep_checksums_in_parts((mutation,), pacer.pause)
        row_locks = self._state.row_locks
        row_locks.acquire(row)
        try:
            row_locks.wait_until_visible(row)
            while True:
                try:
                    return self._mutate_if(row, family, qualifier, expected, mutation, checksum, bool(added_to), pacer)
                except ReadIsOld:
                    continue
        finally:
            row_locks.release(row)

    @switches
    def _mutate_if(
        self,
        row: bytes,
        family: bytes,
        qualifier: bytes,
        expected: bytes | None,
        mutation: RowMutation,
        checksum: int,
        adds: bool,
        pacer: Pacer,
    ) -> bool:
        """The caller holds the row. `adds`: the mutation has increments or appends. ReadIsOld: nothing happened."""
        ranges_deleted = self._state.ranges_deleted
        cell, _ = self._newest(row, family, qualifier)
        self._check_unchanged(mutation, pacer)  # it waited, and what is applied may be made of it
        if checksum:
            check_as_sent(row, checksum, checksum_of_condition(row, family, qualifier, expected))
        _compared(row, [] if cell is None else [cell])
        if (cell[2] if cell is not None else b"") != (expected or b""):
            return False
        made = self._with_puts(mutation, pacer) if adds else mutation
        self._writer.commit_or_delete([self._not_before(cell, made)], ranges_deleted)
        return True

    @switches
    def mutate_if(
        self,
        row: bytes,
        spec: ReadSpec,
        operator: str,
        value: bytes | None,
        mutation: RowMutation,
        checksum: int = 0,
    ) -> bool:
        """As rpc.services.TabletService.mutate_if."""
        check_condition(spec, operator, value)
        own = self._pacer()  # one: each new one would let as much more be done before it switches
        added_to = checked_additions(self._state, row, mutation, own.pause)
        if mutation.row != row:
            raise InvalidRequest(f"the mutation is of row {mutation.row!r}, the condition of row {row!r}")
        cost, pacer = paced_request(self._state.environment)
        known = KnownAnswers(self._state.environment, cost, pacer.pause)
        chosen = None if spec.filter is None else filter_of_rows(spec.filter, pacer.pause, known.ask)
        keep_checksums_in_parts((mutation,), own.pause)
        row_locks = self._state.row_locks
        for _ in range(_TRIES):
            row_locks.acquire(row)
            known.hold()
            try:
                row_locks.wait_until_visible(row)
                return self._change_if(row, spec, chosen, operator, value, mutation, checksum, bool(added_to), own)
            except NotAnswered:
                known.let_go()
            finally:
                row_locks.release(row)
            read_row(self._state, row, spec, chosen, spec.max_bytes, waits=True)  # so that the answers are known
        raise Unavailable(
            f"row {shown(row)} was changed {_TRIES} times while a worker process looked for the condition of a change: "
            "nothing was changed; try again, or give the condition a filter that costs less"
        )

    @switches
    def _change_if(
        self,
        row: bytes,
        spec: ReadSpec,
        chosen: Filtering | None,
        operator: str,
        value: bytes | None,
        mutation: RowMutation,
        checksum: int,
        adds: bool,
        pacer: Pacer,
    ) -> bool:
        """The caller holds the row. `adds`: as _mutate_if(). NotAnswered: nothing happened."""
        while True:
            ranges_deleted = self._state.ranges_deleted
            cells = [] if operator == ALWAYS else read_row(self._state, row, spec, chosen, spec.max_bytes)
            self._check_unchanged(mutation, pacer)  # it waited, and what is applied may be made of it
            if checksum:
                check_as_sent(row, checksum, checksum_of_predicate(row, spec, operator, value))
            _compared(row, cells)
            if not is_met(cells, operator, value):
                return False
            made = self._with_puts(mutation, pacer) if adds else mutation
            made = self._not_before(cells[0] if cells else None, made)
            try:
                self._writer.commit_or_delete([made], ranges_deleted)
            except ReadIsOld:
                continue
            return True

    @switches
    def _with_puts(self, mutation: RowMutation, pacer: Pacer) -> RowMutation:
        """With the puts that come of increments and appends. The caller holds the row."""
        _, costed = paced_request(self._state.environment)
        made = made_puts(mutation, self._newest, self._time, costed.pause)
        self._check_unchanged(mutation, pacer)  # since they were made
        return made

    @switches
    def _check_unchanged(self, mutation: RowMutation, pacer: Pacer) -> None:
        """*Switches* if it has very many operations."""
        if len(mutation.operations) <= _CHECKED_AT_ONCE:
            check_unchanged((mutation,))
            return
        check_unchanged_in_parts((mutation,), pacer.pause)

    def _pacer(self) -> Pacer:
        environment = self._state.environment
        return Pacer(environment.runtime, environment.options.slice_seconds)

    @switches
    def _newest(self, row: bytes, family: bytes, qualifier: bytes) -> tuple[Cell | None, int]:
        """The newest version, and its own time to live in milliseconds (0: it has none)."""
        cell = newest_write(self._state, row, family, qualifier)
        return (cell, 0) if cell is not None else newest_version(self._state, row, family, qualifier)

    def _time(self, row: bytes, cell: Cell | None) -> int:
        """SERVER_TIME, unless the old cell lies in the future of this row's clock."""
        if cell is None or not self._is_ahead(row, cell):
            return SERVER_TIME
        return min(cell[1] + 1, MAX_TIMESTAMP - 1)

    @switches
    def _not_before(self, cell: Cell | None, mutation: RowMutation) -> RowMutation:
        """The mutation, in which cells timed by the server get the compared cell's time if that lies ahead of the row's
        clock: else the answer would be "done" while the old cell goes on to be the newest. *Switches* while it makes
        very many."""
        if cell is None or not self._is_ahead(mutation.row, cell):
            return mutation
        operations: list[Operation] = []
        time = cell[1]
        for kind, family, qualifier, timestamp, value in with_pauses(mutation.operations, self._pacer().pause):
            if timestamp in (SERVER_TIME, MAX_TIMESTAMP):
                if kind != DELETE_VERSION:  # that one gets the time of what it masks
                    timestamp = min(time, MAX_TIMESTAMP - 1)
                if kind != PUT:
                    time += 1  # a put behind this marker survives it, as in tablet.apply
            operations.append((kind, family, qualifier, timestamp, value))
        made = RowMutation(mutation.row, operations, mutation.skip_log, mutation.ttl_millis)
        made.ttls = mutation.ttls
        return made

    def _is_ahead(self, row: bytes, cell: Cell) -> bool:
        """Whether the cell lies in the future of this row's clock."""
        clock = self._state.clock
        return cell[1] > max(clock.now(), clock.floors(row)[0])


def _compared(row: bytes, cells: Sequence[Cell]) -> None:
    """A condition looked at these: quotas count them as a get of them."""
    budget = current_budget()
    if budget is not None:
        budget.compare(bytes_of(row, cells) if cells else 0)
