"""A write's way through a tablet (paper, section 5.3): checks, sequence and time, the commit log, then the memtables.

Invariants
    order         from build() to the log's queue there is no switch, so sequences, times and log order agree; the log
                  applies in the same order
    visible last  the memtables get the pairs in the log's apply callback, never before they are durable as configured
    skip_log      such mutations are not written to the log but pass through its queue while others of this tablet are
                  on their way: a redo point taken in between must not run ahead of the memtables (bug class 6)
    one row       is all or nothing; a call of several rows is one commit, and checked whole before any is applied
    very many     cells in one call, or bytes, are built in turns with other tasks, while the writer holds its rows and
                  the gate: no other write of the tablet is built meanwhile
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, final

from hbtable.errors import OutOfSpace
from hbtable.model.mutation import (
    PUT,
    RowMutation,
    keep_checksums,
    keep_checksums_in_parts,
)
from hbtable.model.put_batch import PutBatch, puts_in_columns, rows_of
from hbtable.model.values import shown
from hbtable.runtime.joining import Joiner
from hbtable.runtime.slices import let_go
from hbtable.switches import switches
from hbtable.tablet.heat import WRITE
from hbtable.tablet.pacing import Pacer
from hbtable.tablet.reads.cost_limit import TO_WRITERS, paced_request
from hbtable.tablet.state import TabletState
from hbtable.tablet.writes.apply import IsHeavy, NeedsNewest, bad_row
from hbtable.tablet.writes.as_sent import check_unchanged, check_unchanged_in_parts
from hbtable.tablet.writes.checked_write import CheckedWrite
from hbtable.tablet.writes.row_locks import InFlightWrite
from hbtable.tablet.writes.version_deletes import with_times

_GIVEN_UP_SECONDS: Final = (0.05, 0.3)
_MOST_AT_ONCE: Final = 5000
"""Operations that are built without a switch: some 10 ms. Fewer: usual batches would have to wait for each other."""


class ReadIsOld(Exception):
    """A range of rows was deleted since a read-modify-write read, or the write was refused that it had read before it
    was visible: it has to read again."""


class NoRoomYet(Exception):
    """A write that holds its rows would have to wait at the gate. Nothing happened."""


@final
class TabletWriter:
    """Takes writes through the log into the memtables of one tablet. Hot."""

    __slots__ = ("_commit_log", "_gate", "_join", "_row_locks", "_shared", "_state")

    def __init__(self, state: TabletState) -> None:
        self._state = state
        self._gate = state.gate
        self._shared = state.shared
        self._row_locks = state.row_locks
        self._commit_log = state.environment.log.commit
        self._join = Joiner(state.environment.runtime)

    @switches
    def mutate(self, mutations: Sequence[RowMutation]) -> None:
        """As rpc.services.TabletService.mutate. May switch."""
        gate = self._gate
        if _are_many(mutations):
            self._mutate_many(mutations)
            return
        if gate.shut or (self._shared.memtable_bytes > self._shared.admit_above_bytes and not gate.exempt):
            if self._waits_for_long():
                keep_checksums(mutations)
            self._admit(mutations)
        # Looked at after the gate, which may switch: from here to the log's queue nobody can begin to hold a row.
        if self._row_locks.held:
            taken = self._row_locks.acquire_all(rows_of(mutations))
            if taken:
                try:
                    is_done = self._enqueued_at_once(mutations, taken)
                except OutOfSpace:
                    self._in_last_room(mutations, self._commit_locked)
                    return
                if not is_done:
                    self._mutate_many(mutations)
                return
        try:
            self._enqueue(mutations)
        except IsHeavy:
            self._mutate_many(mutations)
        except NeedsNewest:
            try:
                self._commit_locked(mutations)
            except OutOfSpace:
                self._in_last_room(mutations, self._commit_locked)
        except OutOfSpace:
            self._in_last_room(mutations, self._commit_locked)

    @switches
    def _enqueued_at_once(self, mutations: Sequence[RowMutation], taken: Sequence[bytes]) -> bool:
        """Whether they were written. `taken`: those of their rows that somebody held; the caller has them now, and they
        are given back. False, and nothing happened: the write has to wait, and to hold each of its rows meanwhile, or a
        read-modify-write of another one could begin, and would hide this write without having read it."""
        try:
            if self._gate.stops_now:
                return False
            self._admit(mutations)
            self._enqueue(mutations)
        except (IsHeavy, NeedsNewest):  # raised before any switch
            return False
        finally:
            self._row_locks.release_all(taken)
        return True

    @switches
    def _mutate_many(self, mutations: Sequence[RowMutation]) -> None:
        """Holds its rows: a read-modify-write must not read one of them while this is being built."""
        for mutation in mutations:
            if type(mutation.row) is not bytes:  # to be told before locks of such rows are taken
                raise bad_row(mutation.row, self._state.max_row_bytes)
        if self._waits_for_long():
            keep_checksums_in_parts(mutations, self._pacer().pause)
        commit = partial(self._commit_locked, in_parts=True)
        try:
            commit(mutations)
        except OutOfSpace:
            self._in_last_room(mutations, commit)

    def _waits_for_long(self) -> bool:
        """Whether the gate is shut, and not only until another write is built."""
        shared, gate = self._shared, self._gate
        return gate.stops_for_long or (shared.memtable_bytes > shared.admit_above_bytes and not gate.exempt)

    def _costed_pacer(self, row: bytes) -> Pacer:
        """One that ends a write which costs too much, as it ends a read (tablet.reads.cost_limit): CostExceeded. To be
        used before anything of it is in the log's queue."""
        cost, pacer = paced_request(self._state.environment)
        cost.advice = TO_WRITERS
        cost.place = lambda: f"before it wrote row {shown(row)}, or anything else here"
        return pacer

    def _pacer(self) -> Pacer:
        environment = self._state.environment
        return Pacer(environment.runtime, environment.options.slice_seconds)

    @switches
    def commit_or_delete(self, mutations: Sequence[RowMutation], ranges_deleted: int = -1) -> CheckedWrite:
        """As commit(); deletes go on when the disk is full."""
        try:
            return self.commit(mutations, ranges_deleted)
        except OutOfSpace:
            return self._in_last_room(mutations, partial(self.commit, ranges_deleted=ranges_deleted))

    @switches
    def _in_last_room(
        self, mutations: Sequence[RowMutation], again: Callable[[Sequence[RowMutation]], CheckedWrite]
    ) -> CheckedWrite:
        """Tries a write again that found the disk full, while OutOfSpace is handled: deletes go on in the room that is
        given up for them at this moment (fs.ballast). *Switches.*"""
        if not self._shared.out_of_space or _has_puts(mutations):
            raise
        last = _GIVEN_UP_SECONDS[-1]
        for seconds in _GIVEN_UP_SECONDS[:-1]:
            self._state.environment.runtime.sleep(seconds)
            try:
                return again(mutations)
            except OutOfSpace:
                continue
        self._state.environment.runtime.sleep(last)
        return again(mutations)

    @switches
    def _commit_locked(self, mutations: Sequence[RowMutation], in_parts: bool = False) -> CheckedWrite:
        """Waits at the gate while it holds none of its rows, for whose locks others would wait as long."""
        rows, deadline = set(rows_of(mutations)), self._gate.deadline()
        while True:
            if not in_parts and self._waits_for_long():
                keep_checksums(mutations)
            self._admit(mutations, in_parts, deadline)
            taken = self._row_locks.acquire_each(rows)
            try:
                return self.commit(mutations, in_parts=in_parts, waits=False)
            except NoRoomYet:
                continue
            finally:
                self._row_locks.release_all(taken)

    @switches
    def commit(
        self,
        mutations: Sequence[RowMutation],
        ranges_deleted: int = -1,
        in_parts: bool = False,
        waits: bool = True,
    ) -> CheckedWrite:
        """The caller holds all rows of the mutations. `ranges_deleted`: the state's, of before the caller read what
        these are made of; ReadIsOld when it has grown. `in_parts`: they are very many or large. Waits at the
        gate; NoRoomYet instead, unless `waits`. May switch."""
        write = self._enqueue_many if in_parts else self._enqueue_any
        enqueue = partial(write, ranges_deleted=ranges_deleted, waits=waits)
        try:
            if not in_parts and self._waits_for_long():
                keep_checksums(mutations)
            self._check_room(in_parts, waits)
            self._admit(mutations, in_parts)
            self._check_as_read(ranges_deleted)
            return enqueue(mutations)
        except NeedsNewest:
            # Every row is held: no other write of them comes between this read and the log's queue.
            resolved = [with_times(self._state, one, self._costed_pacer(one.row).pause) for one in mutations]
            self._check_room(in_parts, waits)
            self._gate.admit(in_parts)
            self._check_as_read(ranges_deleted)
            return enqueue(resolved)

    def _check_room(self, large: bool, waits: bool) -> None:
        if not waits and self._gate.stops(large):
            raise NoRoomYet

    @switches
    def commit_increment(
        self,
        mutation: RowMutation,
        ranges_deleted: int,
        before: InFlightWrite | None,
        queued: Callable[[InFlightWrite, CheckedWrite], None],
    ) -> None:
        """As commit(), of one put. `before`: the write that it was made of, if that was still on its way. `queued` is
        called right before the put joins the log's queue, without a switch in between. IsHeavy: nothing happened."""
        mutations = (mutation,)
        if self._waits_for_long():
            keep_checksums(mutations)
        self._admit(mutations)
        self._check_as_read(ranges_deleted)
        if before is not None and before.is_refused:
            raise ReadIsOld
        state = self._state
        check_unchanged(mutations)
        built = state.builder.build(mutations, state.sequence + 1)
        follows = before is not None and before.is_under_way
        self._queue(built, lambda write: queued(write, built), follows)

    def _check_as_read(self, ranges_deleted: int) -> None:
        if ranges_deleted >= 0 and ranges_deleted != self._state.ranges_deleted:
            raise ReadIsOld

    @switches
    def _admit(self, mutations: Sequence[RowMutation], large: bool = False, deadline: float | None = None) -> None:
        """Waits at the gate. OutOfSpace: the disk is full, and these are not deletes alone."""
        self._gate.admit(large, deadline)
        message = self._shared.out_of_space
        if not message or self._gate.exempt:
            return
        if _has_puts(mutations):
            raise OutOfSpace(message)

    @switches
    def _enqueue(self, mutations: Sequence[RowMutation]) -> CheckedWrite:
        """Visible, and durable as configured, on return. No switch before the log's queue. NeedsNewest: nothing
        happened."""
        state = self._state
        built = None
        if type(mutations) is PutBatch and mutations.in_columns:  # then nobody has taken checksums
            built = state.builder.build_puts(mutations, state.sequence + 1)
        if built is None:
            check_unchanged(mutations)
            built = state.builder.build(mutations, state.sequence + 1)
        return self._queue(built)

    @switches
    def _enqueue_any(self, mutations: Sequence[RowMutation], ranges_deleted: int, waits: bool) -> CheckedWrite:
        """As _enqueue(), or by turns with other tasks if they are very many or large. The caller holds every row."""
        if not _are_many(mutations):
            try:
                return self._enqueue(mutations)
            except IsHeavy:
                pass  # raised before any switch
        return self._enqueue_many(mutations, ranges_deleted, waits)

    @switches
    def _enqueue_many(self, mutations: Sequence[RowMutation], ranges_deleted: int, waits: bool) -> CheckedWrite:
        """As _enqueue(), by turns with other tasks before the log's queue. The caller holds every row, and was admitted
        without a switch since. CostExceeded, NoRoomYet: nothing happened."""
        state, gate, pacer = self._state, self._gate, self._costed_pacer(mutations[0].row)
        while True:
            builder, sequence = state.builder, state.sequence
            gate.hold()
            try:
                check_unchanged_in_parts(mutations, pacer.pause)
                built = builder.build_in_parts(mutations, sequence + 1, pacer.pause, self._join, self._pacer().pause)
            finally:
                gate.let_go()
            if state.builder is builder and state.sequence == sequence and not gate.stops_holder:
                self._queue(built)
                pacer = self._pacer()  # it is done, whatever it costs
                for pairs in built.by_stack:  # not after an error: the log may apply them yet
                    let_go(pairs, pacer.pause)
                return built
            self._check_room(True, waits)
            self._admit(mutations, True)  # the schema was changed, or the tablet is about to leave
            self._check_as_read(ranges_deleted)

    @switches
    def _queue(
        self, built: CheckedWrite, queued: Callable[[InFlightWrite], None] | None = None, follows: bool = False
    ) -> CheckedWrite:
        """No switch before the log's queue, nor since it was built."""
        state = self._state
        last = built.last_sequence
        if last == state.sequence:
            return built  # no operations at all
        state.writes += last - state.sequence
        state.heat.saw(WRITE, built.rows)
        state.counts.wrote(built.layout, built.by_stack)
        state.sequence = last
        row_locks = self._row_locks
        write = InFlightWrite(built.rows)

        def refused() -> None:
            row_locks.land(write, is_refused=True)

        def apply() -> None:
            try:
                state.insert(built.layout, built.by_stack, built.checksums, last, built.prepared)
            finally:
                row_locks.land(write)

        records = built.records
        if not records and not row_locks.in_flight:
            apply()  # nothing for the log, and nothing of this tablet in its queue
            return built
        row_locks.in_flight.append(write)
        # It lands when the log applies or refuses it, and not when this task ends: that may be killed while it waits.
        if queued is not None:
            queued(write)
        exempt, logged = self._gate.exempt, built.logged
        joined, checksum = b"".join(records), built.records_checksum
        self._commit_log(state.tablet_id, last, joined, apply, exempt, logged, refused, follows, checksum)
        return built


def _are_many(mutations: Sequence[RowMutation]) -> bool:
    if len(mutations) == 1:
        return len(mutations[0].operations) > _MOST_AT_ONCE
    if puts_in_columns(mutations) is not None:
        return len(mutations) > _MOST_AT_ONCE
    return sum([len(mutation.operations) for mutation in mutations]) > _MOST_AT_ONCE


def _has_puts(mutations: Sequence[RowMutation]) -> bool:
    return any(operation[0] == PUT for mutation in mutations for operation in mutation.operations)
