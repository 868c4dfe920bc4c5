"""A loaded tablet (paper, section 5.3), for its tablet server: everything a server may ask of one tablet.

The work is done elsewhere: writing.py, read_modify_write.py, reading.py, compaction.py, recovery.py, split_row.py; the
pure decisions in policy.py and splitting.py. A Tablet is made by load() or, for a split's child, by child(); it serves
until close(), or until its record turns out to be another owner's (`lost`).
"""

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import final

from hbtable.commitlog.interface import CommitLog
from hbtable.fs.interface import FileSystem
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanPage, ScanRequest
from hbtable.model.schema import TableSchema
from hbtable.model.status import TabletStatus
from hbtable.model.tablet import TabletRecord
from hbtable.runtime.interface import Runtime
from hbtable.sstable.cache import BlockCache
from hbtable.switches import switches
from hbtable.tablet import recovery
from hbtable.tablet.compactions.compaction import Compactor
from hbtable.tablet.compactions.planning import (
    has_many_frozen,
    planned_flush,
    planned_major,
    planned_merge,
    useless_files,
    write_pressure,
)
from hbtable.tablet.damage import DamagedFiles
from hbtable.tablet.heat import Heat
from hbtable.tablet.layout import LocalityGroupLayout
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.range_deleting import RangeDeleter
from hbtable.tablet.reads import aggregated_pages, reading, validity
from hbtable.tablet.records import CommitRecord, Edit
from hbtable.tablet.shared import SharedState
from hbtable.tablet.split_row import split_row
from hbtable.tablet.splitting import may_split_at
from hbtable.tablet.state import Environment, TabletState
from hbtable.tablet.usage import GroupUsage, usage_of
from hbtable.tablet.version import key_range
from hbtable.tablet.writes.read_modify_write import ReadModifyWriter
from hbtable.tablet.writes.writing import TabletWriter


@final
class Tablet:
    """rpc.services.TabletService without `tablet_id`, and what its server needs for maintenance."""

    __slots__ = ("_compactor", "_range_deleter", "_read_modify_writer", "_state", "_writer")

    def __init__(self, state: TabletState) -> None:
        """Use load() or child()."""
        self._state = state
        self._writer = TabletWriter(state)
        self._read_modify_writer = ReadModifyWriter(state, self._writer)
        self._compactor = Compactor(state)
        self._range_deleter = RangeDeleter(state, self._compactor)

    @classmethod
    @switches
    def load(
        cls,
        runtime: Runtime,
        fs: FileSystem,
        log: CommitLog,
        record: TabletRecord,
        schema: TableSchema,
        options: TabletOptions,
        cache: BlockCache,
        shared: SharedState,
        commit_record: CommitRecord,
    ) -> "Tablet":
        """Recovers the tablet; it serves on return. The record names this server as its owner already.
        Any error: it does not serve, and nothing was changed but perhaps redo points."""
        environment = Environment(runtime, fs, log, options, cache, shared)
        tablet = cls(TabletState(environment, record, schema, commit_record))
        try:
            recovery.recover(tablet._state, tablet._compactor)
        except BaseException:
            tablet._state.close("loading failed")
            raise
        return tablet

    def child(self, record: TabletRecord, commit_record: CommitRecord) -> "Tablet":
        """A split's child, which serves on return: it shares this tablet's SSTables and reads only its own range of
        them. To be called between freeze_for_unload() and close(). Does not switch."""
        state = TabletState(self._state.environment, record, self.schema, commit_record)
        recovery.adopt(state, self._state)
        return Tablet(state)

    # ------------------------------------------------------------ the data path

    @switches
    def mutate(self, mutations: Sequence[RowMutation]) -> None:
        self._writer.mutate(mutations)

    @switches
    def read_rows(self, rows: Sequence[bytes], spec: ReadSpec) -> list[Row]:
        return reading.read_rows(self._state, rows, spec)

    @switches
    def scan(self, request: ScanRequest) -> ScanPage:
        """A page may be empty and not the last: it ends after TabletOptions.scan_seconds at the latest."""
        if request.aggregation is not None:
            return aggregated_pages.scan(self._state, request, request.aggregation)
        return reading.scan(self._state, request)

    def valid_from_now(self) -> Callable[[], bool] | None:
        """As validity.valid_from_now()."""
        return validity.valid_from_now(self._state)

    @switches
    def increment(self, row: bytes, family: bytes, qualifier: bytes, amount: int, checksum: int = 0) -> int:
        return self._read_modify_writer.increment(row, family, qualifier, amount, checksum)

    @switches
    def append(
        self, row: bytes, values: Sequence[tuple[bytes, bytes, bytes]], ttl_millis: int = 0, checksum: int = 0
    ) -> list[Cell]:
        return self._read_modify_writer.append(row, values, ttl_millis, checksum)

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
        return self._read_modify_writer.check_and_mutate(row, family, qualifier, expected, mutation, checksum)

    @switches
    def mutate_if(
        self, row: bytes, spec: ReadSpec, operator: str, value: bytes | None, mutation: RowMutation, checksum: int = 0
    ) -> bool:
        return self._read_modify_writer.mutate_if(row, spec, operator, value, mutation, checksum)

    @switches
    def add_to_columns(self, mutation: RowMutation) -> list[Cell]:
        return self._read_modify_writer.add_to_columns(mutation)

    @switches
    def delete_range(self, rows: RowRange, timestamp: int) -> None:
        self._range_deleter.delete(rows, timestamp)

    # ------------------------------------------------------------ facts

    @property
    def record(self) -> TabletRecord:
        """The tablet's record as METADATA has it, as far as this server knows."""
        return self._state.keeper.record

    @property
    def range(self) -> RowRange:
        return self._state.range

    @property
    def lost(self) -> bool:
        """Another owner was found when the record was to be changed: close this tablet, serve it no more."""
        return self._state.keeper.lost

    @property
    def schema(self) -> TableSchema:
        return self._state.version.layout.schema

    @schema.setter
    def schema(self, schema: TableSchema) -> None:
        """This schema is in force for every read and write from now on; does not switch. SSTables written under another
        grouping of the families stay readable; a major compaction rewrites them."""
        self._state.install(self._state.version.with_layout(LocalityGroupLayout(schema)))
        if has_many_frozen(self._state):
            self._state.shared.attention()

    @property
    def memtable_bytes(self) -> int:
        return self._state.version.memtable_bytes()

    @property
    def memtable_age_seconds(self) -> float:
        """The seconds since the oldest write that only memtables hold; 0.0 when there is none."""
        since = self._state.unflushed_since
        return self._state.environment.runtime.clock_seconds() - since if since else 0.0

    @property
    def cells_examined(self) -> int:
        """The cells examined by all reads so far, whatever they gave out (merge.tally)."""
        return self._state.tally.examined

    @property
    def dead_cells_met(self) -> int:
        """Deleted, masked and expired cells that reads came across so far."""
        return self._state.tally.dead

    @property
    def clock_ahead_millis(self) -> int:
        """The milliseconds by which the tablet's time is ahead of the clock."""
        return self._state.clock.ahead_millis()

    def sstable_bytes(self) -> int:
        """The bytes of its SSTables. Of those shared with a split's other child only the own part counts, about."""
        return self._state.version.sstable_bytes(self._state.range)

    def requests(self) -> tuple[int, int]:
        """Reads and writes since it was opened here."""
        return self._state.reads, self._state.writes

    @property
    def heat(self) -> Heat:
        """The work that its requests made since it was opened here, and which rows they are about."""
        return self._state.heat

    @property
    def damaged(self) -> DamagedFiles:
        """Files of which not all can be read, as far as anybody has noticed."""
        return self._state.damaged

    def status(self) -> TabletStatus:
        state = self._state
        version = state.version
        files = sum(len(stack.files) for stack in version.stacks)
        return TabletStatus(
            self.record,
            self.schema.version,
            version.memtable_bytes(),
            self.sstable_bytes(),
            files,
            state.reads,
            state.writes,
            damaged=len(state.damaged),
        )

    def usage(self) -> Iterator[GroupUsage]:
        """As usage.usage_of()."""
        return usage_of(self._state)

    # ------------------------------------------------------------ maintenance

    @property
    def needs_old_logs(self) -> bool:
        """Whether the record names logs of earlier owners: a flush would let them go."""
        return self._compactor.needs_old_logs()

    def stamp_at_rest(self) -> tuple[object, ...]:
        """As long as it is the same, and the minute is, and the disk as full, so are the answers to needs_flush() and
        its like, and memtable_bytes. Nothing in it keeps a memtable. Hot: it is asked of every tablet several times a
        second."""
        state = self._state
        since, version = state.unflushed_since, state.version
        # A version has memtables, of which empty ones alone may be kept. While they are flushed there is no `since`.
        is_empty = not since and version.memtables_empty()
        known = version if is_empty else (version.stamp_of_full(), since, state.applied)
        return known, state.keeper.record, state.tally.markers, state.tally.dead, len(state.damaged)

    def flush_is_due(self, age_seconds: float) -> float:
        """The time, by the runtime's clock, when the oldest write that only memtables hold is so old; infinite when
        there is none."""
        since = self._state.unflushed_since
        return since + age_seconds if since else inf

    def needs_flush(self) -> str:
        """The reason why a flush would make reads cheaper, because of what is deleted in memory; "" when it would
        not."""
        return planned_flush(self._state)

    def needs_compaction(self, split_bytes: int | None = None) -> str:
        """The planned merge as a message; "" when none is worth it. `split_bytes`: as needs_split(); a tablet that
        should split, and shares SSTables with an earlier split's other child, is to rewrite them first. None: it is
        not to split now."""
        if useless_files(self._state):
            return "it has SSTables of dropped column families only, or of which all cells have expired"
        plan = planned_merge(self._state, split_bytes=self._split_limit(split_bytes))
        return str(plan) if plan is not None else ""

    def write_pressure(self) -> float:
        """The share of SSTables, or of deleted ranges, from which on writers wait for a compaction: they do from 1."""
        return write_pressure(self._state)

    def needs_major(self) -> str:
        """The major compaction that is due by age, as a message; "" when none is. It can wait for others."""
        plan = planned_major(self._state)
        return str(plan) if plan is not None else ""

    def needs_split(self, limit_bytes: int) -> bool:
        """Larger than the limit (its table's own one counts first). Not while it shares SSTables with a split's other
        child, which compactions end first: where their middle is says nothing of this tablet's."""
        limit = self._split_limit(limit_bytes)
        return 0 < limit < self.sstable_bytes() and not self._shares_files() and not self._state.damaged

    @switches
    def flush(self) -> None:
        """Minor compaction: everything acknowledged before the call is in SSTables that METADATA names, on return.
        OutOfSpace and Unavailable: nothing changed, it goes on serving; try later."""
        self._compactor.flush()

    @switches
    def compact(self, major: bool, family: bytes = b"", split_bytes: int | None = None) -> None:
        """The most useful merge, last of all what is due by age; or a major compaction of everything; of one family's
        files alone, which are those of its locality group, or nothing when there is no such family. `split_bytes`: as
        needs_compaction(). As flush()."""
        stored = self._state.version.layout.stored.get(family, family)
        if major:
            self._compactor.major(stored)
            return
        self._compactor.discard()
        # Anew: files may have come and gone meanwhile.
        plan = planned_merge(self._state, stored, self._split_limit(split_bytes)) or planned_major(self._state, stored)
        if plan is not None:
            self._compactor.merge(plan)

    # ------------------------------------------------------------ unload and split

    @switches
    def freeze_for_unload(self) -> None:
        """Minor compaction, stop writes, second minor compaction (paper, section 6): on return nothing is in memory
        alone and writers wait, until thaw() or close(). Reads go on. On an error writes go on."""
        self._compactor.cancel()
        try:
            self._compactor.flush()
            self._state.gate.freeze()
            # What is in the log's queue already lands before the second flush takes the redo point.
            self._state.row_locks.wait_until_idle()
            self._compactor.flush()
        except BaseException:
            self.thaw()
            raise

    def thaw(self) -> None:
        """Writes and compactions go on."""
        self._state.gate.thaw()
        self._compactor.resume()

    @switches
    def change_record(self, edit: Edit, insist: bool = False) -> TabletRecord:
        """Changes the record in turn with the tablet's own changes; what a split or an unload needs. Durable on return.
        StaleLocation when the tablet is lost. `insist`: as RecordKeeper.change."""
        return self._state.keeper.change(edit, insist=insist)

    def close(self) -> None:
        """Serves no more: calls get StaleLocation, also those that wait. Does not flush. Its memory is given back; the
        log may forget it if everything is in SSTables. Does not switch. Idempotent."""
        state = self._state
        if state.gate.closed:
            return
        state.close(f"tablet {state.tablet_id} of table {state.version.layout.table} is not served here any more")
        self._compactor.close()
        if state.version.memtables_empty() and not self.lost:
            state.environment.log.forget(state.tablet_id)

    def discard(self) -> None:
        """As close(), of a tablet whose row is gone for good: the log need not keep anything of it. Does not switch."""
        self.close()
        self._state.environment.log.forget(self._state.tablet_id)

    @switches
    def split_row(self) -> bytes | None:
        """As split_row.split_row()."""
        return split_row(self._state)

    def may_split_at(self, row: bytes) -> bool:
        """Whether a row that an administrator named lies strictly inside."""
        return may_split_at(row, self._state.range, b"")

    def _split_limit(self, split_bytes: int | None) -> int:
        """Its table's own limit counts first."""
        return 0 if split_bytes is None else self.schema.split_bytes or split_bytes

    def _shares_files(self) -> bool:
        keys = key_range(self._state.range)
        return any(not file.inside(keys) for stack in self._state.version.stacks for file in stack.files)
