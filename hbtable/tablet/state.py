"""The state that the parts of one loaded tablet share, and the few places where it changes.

version      swapped by install() only: flushes, compactions, schema changes
sequence     last one given to a mutation; grows in writing.py, in log order
applied      last one visible: insert() raises it after the pairs are in the memtables, in the same stretch without
             a switch; a reader's snapshot is (version, applied), so no row is ever seen torn (bug class 13)
"""

from collections.abc import Sequence
from typing import NamedTuple, final

from hbtable.commitlog.interface import CommitLog
from hbtable.encoding.cell_key import Pair
from hbtable.fs.interface import FileSystem
from hbtable.memtable.memtable import MOST_CELLS, Memtable
from hbtable.merge.tally import Tally
from hbtable.model.mutation import MAX_METADATA_CELL_BYTES, MAX_METADATA_ROW_BYTES, MAX_ROW_BYTES
from hbtable.model.names import shown
from hbtable.model.ranges import RowRange
from hbtable.model.schema import TableSchema
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord
from hbtable.runtime.interface import Runtime
from hbtable.sstable.cache import BlockCache
from hbtable.tablet.damage import DamagedFiles
from hbtable.tablet.heat import Heat
from hbtable.tablet.layout import LocalityGroupLayout
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.reads.column_selection import ColumnSelection
from hbtable.tablet.records import CommitRecord, RecordKeeper
from hbtable.tablet.request_counts import RequestCounts
from hbtable.tablet.shared import SharedState
from hbtable.tablet.spreading import Spreading
from hbtable.tablet.version import Version
from hbtable.tablet.writes.apply import WriteBuilder
from hbtable.tablet.writes.clock import TabletClock
from hbtable.tablet.writes.gate import Gate
from hbtable.tablet.writes.row_locks import RowLocks


class Environment(NamedTuple):
    """The things that a server gives to its tablets."""

    runtime: Runtime
    fs: FileSystem
    log: CommitLog
    options: TabletOptions
    cache: BlockCache
    shared: SharedState


@final
class TabletState:
    """One loaded tablet."""

    __slots__ = (
        "applied", "attention_at", "builder", "clock", "counts", "damaged", "dead_at_compaction", "dead_at_flush",
        "environment", "gate", "heat", "installed", "is_open", "keeper", "last_selection", "markers_at_flush",
        "max_cell_bytes", "max_row_bytes", "range", "ranges_deleted", "reads", "row_locks", "sequence", "shared",
        "spreading", "tablet_id", "tally", "unflushed_since", "version", "writes",
    )  # fmt: skip

    def __init__(
        self, environment: Environment, record: TabletRecord, schema: TableSchema, commit: CommitRecord
    ) -> None:
        runtime, _, _, options, _, shared = environment
        self.environment = environment
        self.shared = shared
        self.keeper = RecordKeeper(runtime, record, commit, options.record_retry_seconds)
        self.tablet_id = record.tablet_id
        self.range: RowRange = record.range
        of_metadata = record.table_id == METADATA_TABLE_ID
        self.max_row_bytes = MAX_METADATA_ROW_BYTES if of_metadata else MAX_ROW_BYTES
        self.max_cell_bytes = options.max_cell_bytes
        if of_metadata:
            self.max_cell_bytes = max(self.max_cell_bytes, MAX_METADATA_CELL_BYTES)
        self.clock = TabletClock(shared.wall.millis, runtime.clock_seconds)
        self.row_locks = RowLocks(runtime)
        self.gate = Gate(runtime, shared, of_metadata, options.write_wait_seconds)
        self.is_open = True
        """Its memtables count in the shared memory."""
        self.spreading = Spreading()
        self.tally = Tally()
        self.dead_at_compaction = self.dead_at_flush = self.markers_at_flush = 0
        """As the tally stood when they last began; compactions are those of SSTables."""
        self.damaged = DamagedFiles(self.tablet_id, shown(schema.name), self.range, self._damage_found)
        self.last_selection: ColumnSelection | None = None
        """Of a read of all columns."""
        self.sequence = 0
        self.applied = 0
        self.ranges_deleted = 0
        """Counts the ranges of its rows that were deleted: what a read-modify-write has read may be among them."""
        self.reads = 0
        self.writes = 0
        self.counts = RequestCounts()
        self.heat = Heat(runtime.random)
        self.installed = 0
        """Number of versions that there were."""
        self.unflushed_since = 0.0
        """clock_seconds() of the oldest write that only memtables hold; 0.0 when there is none."""
        self.attention_at = options.memtable_bytes
        """Memtable bytes at which maintenance is woken."""
        layout = LocalityGroupLayout(schema)
        self.version = Version(layout, ()).with_layout(layout)
        self.builder = self._builder(layout)

    def install(self, version: Version) -> None:
        """Swaps the version; does not switch. Readers that began with the old one keep it."""
        old = self.version
        self.version = version
        self.installed += 1
        if version.layout is not old.layout:
            self.builder = self._builder(version.layout)
        if self.damaged:
            self.damaged.keep_only([file.ref.path for stack in version.stacks for file in stack.files])
        self._stall()

    def _damage_found(self) -> None:
        self._stall()
        self.shared.attention()  # what maintenance was to merge has changed

    def _stall(self) -> None:
        files = self.version.most_files(self.damaged)
        self.gate.stall(files if files >= self.environment.options.stall_files else 0)

    def insert(
        self,
        layout: LocalityGroupLayout,
        by_stack: list[list[Pair]],
        checksums: list[int],
        last_sequence: int,
        prepared: Sequence[Sequence[Memtable]] = (),
    ) -> None:
        """The apply step of a commit, in commit order; never switches, never raises. `checksums` of the pairs, as they
        were when their record was made. `prepared`, by place: memtables that hold the pairs already. Hot."""
        version = self.version
        if version.layout is not layout:
            # The schema was changed while they waited for the log.
            by_stack, checksums = self.spreading.spread_again(version.layout, by_stack, checksums)
            self.spreading.say(self.tablet_id, version.layout.table, "writes that a change of the schema overtook")
        elif prepared:
            by_stack = self._install_prepared(by_stack, prepared)
        grown = 0
        is_full = False
        for stack, pairs, checksum in zip(version.stacks, by_stack, checksums, strict=False):
            if pairs:
                memtable = stack.active
                assert memtable is not None
                before = memtable.bytes_used
                memtable.add(pairs, last_sequence, checksum)
                grown += memtable.bytes_used - before
                is_full = is_full or memtable.cells >= MOST_CELLS
                if memtable.bytes_used >= self.attention_at:
                    self.attention_at = 2 * memtable.bytes_used  # wake it once, not for each write until the flush
                    self.shared.attention()
        if is_full:
            self.install(self.version.full_ones_frozen(MOST_CELLS))
            self._look_at_memory()
        if self.is_open:
            self.shared.memtable_bytes += grown
        if last_sequence > self.applied:
            self.applied = last_sequence
        if not self.unflushed_since:
            self.unflushed_since = self.environment.runtime.clock_seconds()

    def _install_prepared(self, by_stack: list[list[Pair]], prepared: Sequence[Sequence[Memtable]]) -> list[list[Pair]]:
        """Makes the prepared memtables part of the tablet. Returns the pairs for its other memtables."""
        self.install(self.version.with_prepared(prepared))
        grown = sum(memtable.bytes_used for memtables in prepared for memtable in memtables)
        if self.is_open:
            self.shared.memtable_bytes += grown
        self._look_at_memory()
        return [[] if memtables else pairs for pairs, memtables in zip(by_stack, prepared, strict=True)]

    def _look_at_memory(self) -> None:
        """Has maintenance look where all memtables together, the frozen ones too, are worth a flush."""
        if self.version.memtable_bytes() >= self.attention_at:
            self.shared.attention()

    def release(self, memtable_bytes: int) -> None:
        """Memtables of this size were dropped."""
        if self.is_open:
            self.shared.change_memory(-memtable_bytes)

    def close(self, reason: str) -> None:
        """Serves no more, and its memtables count no more; writes that are on their way still land in them."""
        self.release(self.version.memtable_bytes())
        self.is_open = False
        self.keeper.closed = True
        self.damaged.tell_nobody()
        self.gate.close(reason)

    def _builder(self, layout: LocalityGroupLayout) -> WriteBuilder:
        self.counts.know(layout)
        record = self.keeper.record
        return WriteBuilder(
            layout,
            self.range,
            self.tablet_id,
            record.generation,
            self.clock,
            self.max_cell_bytes,
            self.max_row_bytes,
            self.tally,
            self.environment.options.max_write_bytes,
        )
