"""Background work of a tablet server: looks at its tablets, asks the planner, runs what it chose (paper, 5.4 and 6).

Invariant: at most one job of a kind per tablet at a time, and none beside its split. Flushes, compactions and splits
have places of their own, and a tablet is flushed while it is compacted, so that a long compaction never keeps a writer
waiting for memory; METADATA tablets need no place, because the flush of any user tablet ends with a write to them. A
job that failed is left alone for a while; every failure is logged.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, final

from hbtable.commitlog.interface import CommitLog
from hbtable.errors import HbtableError, SwitchedOff
from hbtable.lockservice.interface import Session
from hbtable.model.schema import TableSchema
from hbtable.model.tablet import METADATA_TABLE_ID, TabletRecord
from hbtable.runtime.interface import Runtime, Task
from hbtable.runtime.slices import in_slices
from hbtable.runtime.supervision import spawn_counted, supervise
from hbtable.switches import switches
from hbtable.tablet.compactions.deleted_meanwhile import CompactionCancelled
from hbtable.tablet.shared import SharedState
from hbtable.tablet.tablet import Tablet
from hbtable.tabletserver.hot_tablets import HotTablets
from hbtable.tabletserver.log_rolls import LogRolls
from hbtable.tabletserver.maintenance_plan import (
    Compact,
    Decision,
    Flush,
    MaintenanceOptions,
    Split,
    TabletFacts,
    may_rest,
    plan,
)
from hbtable.tabletserver.resting_tablets import RestingTablet, that_count

_LOOK_SECONDS: Final = 60
"""Seconds between two looks whether something has expired, or is due by age."""

_PAUSES: Final = 4
"""Of its own length, after each compaction that was due by age: they take a fifth of the processor at most."""

_LOT: Final = 50_000
"""Deleted cells that reads came across, after which it is looked again whether a compaction is worth it."""

log = logging.getLogger(__name__)

_DONE: Final = {"flush": "flushed", "compact": "compacted", "split": "looked at for a split"}


_Job = tuple[int, type[Decision]]
"""A tablet, and what is done to it."""


class _Noted(NamedTuple):
    """The findings about a tablet's files. `as_of`: how many are damaged, deleted cells that reads met (in lots), the
    minute, whether the disk is full."""

    record: TabletRecord
    schema: TableSchema
    as_of: tuple[int, int, int, bool]
    split: str
    merge: str
    pressure: float
    aged: str


@final
class Maintenance:
    """Flushes, compacts and splits the tablets of a server in the background. `split` is Splitter.split; `tablets` is
    the online tablets' dictionary. `session`: of the lock under which this server acts."""

    def __init__(
        self,
        runtime: Runtime,
        tablets: Mapping[int, Tablet],
        commit_log: CommitLog,
        shared: SharedState,
        split: Callable[[int, bytes | None, str], bool],
        session: Session,
        options: MaintenanceOptions,
        memtable_limit_bytes: int,
        hot_tablets: HotTablets | None = None,
    ) -> None:
        self._runtime = runtime
        self._tablets = tablets
        self._log = commit_log
        self._shared = shared
        self._split = split
        self._session = session
        self._options = options
        self._memtable_limit_bytes = memtable_limit_bytes
        self._hot_tablets = hot_tablets
        self._wake = runtime.event()
        self._jobs: dict[_Job, Task] = {}
        self._not_before: dict[_Job, float] = {}
        self._unsplittable: dict[int, int] = {}
        """Tablet -> its size when a split found no row to split at: one huge row. Tried again when it has doubled."""
        self._noted: dict[int, _Noted] = {}
        self._resting: dict[int, RestingTablet] = {}
        """As a rule most of thousands. They are looked at four times a second, which cost 10 us each time."""
        self._planned: list[Flush] = []
        """Of the last look: those for which there was no place, the most urgent first. Not of a tablet that is being
        flushed, whose memory counts until that ends; and no compactions or splits, which the end of another job may
        make needless."""
        self._aged_not_before = 0.0
        self._rolls = LogRolls(runtime, commit_log, shared, options.roll_seconds)
        self._stopping = False
        self._task: Task | None = None

    def start(self) -> None:
        self._shared.attention = self._wake.set
        self._task = supervise(self._runtime, self._live, name="maintenance")

    @switches
    def stop(self) -> None:
        """No new job begins; running flushes and splits have ended on return. Compactions may take long: they go on
        until their tablet is unloaded, which cancels them; then call join(). Idempotent."""
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            self._task.join()
            self._task = None
        for (_, kind), task in list(self._jobs.items()):
            if kind is not Compact:
                task.join()

    @switches
    def join(self) -> None:
        """Every job has ended on return."""
        while self._jobs:
            next(iter(self._jobs.values())).join()

    @switches
    def finish_merges(self, limit_bytes: int) -> None:
        """Merging compactions that are due, or run, have ended on return; those of tablets of more than `limit_bytes`
        are left to the next start, and so is what failed. Before stop()."""
        tried: set[int] = set()
        while self._session.valid():
            self.look()
            tablets = [self._tablets[tablet_id] for tablet_id in self.merging() - tried if tablet_id in self._tablets]
            small = [tablet.record.tablet_id for tablet in tablets if tablet.sstable_bytes() <= limit_bytes]
            if not small:
                return
            begun = next((tablet_id for tablet_id in small if (tablet_id, Compact) in self._jobs), None)
            if begun is None:
                return  # a larger one, or compactions that are switched off, keep them waiting
            tried.add(begun)
            self._jobs[begun, Compact].join()

    @switches
    def look(self) -> list[Decision]:
        """Plans once, starts the work that has a place, and returns what it started. *Switches* among many tablets."""
        tablets = self._tablets
        tried = {tablet_id for tablet_id, _ in self._not_before}
        every = (self._noted, self._resting, self._unsplittable, tried)
        gone = [tablet_id for known in every for tablet_id in known if tablet_id not in tablets]
        for tablet_id in in_slices(self._runtime, gone):  # and with it, maybe, all that a tablet is made of
            for known in (self._noted, self._resting, self._unsplittable):
                known.pop(tablet_id, None)
            for kind in (Flush, Compact, Split):
                self._not_before.pop((tablet_id, kind), None)
        facts = []
        for tablet_id, tablet in in_slices(self._runtime, list(self._tablets.items())):
            if self._tablets.get(tablet_id) is tablet:
                found = self._facts(tablet_id, tablet)
                if found is not None:
                    facts.append(found)
        oldest = self._log.tablets_of_oldest_segment()
        facts += that_count(self._resting, facts, oldest, self._options.total_memtable_bytes)
        decisions = plan(facts, self._log.size_bytes, oldest, self._options)
        hot = self._hot_tablets.decisions() if self._hot_tablets is not None else []
        decisions += self._flushes_that_make_room(facts) if self._shared.out_of_space else hot
        now = self._runtime.clock_seconds()
        started: list[Decision] = []
        self._planned = []
        for decision in decisions:
            if self._may_start(decision, now) and self._start(decision):
                started.append(decision)
            elif isinstance(decision, Flush) and (decision.tablet_id, Flush) not in self._jobs:
                self._planned.append(decision)
        return started

    def _start_next(self) -> bool:
        """Starts a flush that the last look left for want of a place. False: none can begin now. A look at each of
        thousands of tablets that are to be flushed, after each flush, would cost more than the flushes."""
        if self._stopping or not self._session.valid():
            return False
        now = self._runtime.clock_seconds()
        for place, decision in enumerate(self._planned):
            if self._may_start(decision, now):
                del self._planned[place]
                return self._start(decision)
        return False

    def _flushes_that_make_room(self, facts: list[TabletFacts]) -> list[Decision]:
        """On a full disk: of the tablets that keep the oldest segment of the log, if they are small beside it. What a
        table that was dropped had there goes with the segment."""
        oldest = set(self._log.tablets_of_oldest_segment())
        needed = [one for one in facts if one.tablet_id in oldest]
        size = sum(one.memtable_bytes for one in needed)
        if 2 * size > self._log.size_bytes or not self._shared.has_room_for(size):
            return []
        return [
            Flush(one.tablet_id, "the disk is full, and this tablet keeps what the log could free") for one in needed
        ]

    def waiting(self) -> float:
        """Tablets whose merging compaction is due and has not begun."""
        running = self._running_compactions()
        return float(sum(1 for tablet_id, noted in self._noted.items() if noted.merge and tablet_id not in running))

    def merging(self) -> set[int]:
        """Tablets whose merging compaction runs, or waits for its turn."""
        due = set()
        for tablet_id, noted in self._noted.items():
            tablet = self._tablets.get(tablet_id)
            # What is known of other files is out of date.
            if noted.merge and tablet is not None and tablet.record is noted.record:
                due.add(tablet_id)
        return due | self._running_compactions()

    def _running_compactions(self) -> set[int]:
        return {tablet_id for tablet_id, kind in self._jobs if kind is Compact}

    # ---------------------------------------------------------------- the task

    @switches
    def _live(self) -> None:
        while not self._stopping:
            self._wake.wait(self._options.period_seconds)
            self._shared.wall.millis()  # a jump of the wall clock is noticed, and said, without any requests
            self._wake.clear()
            if self._session.over():
                return  # without the lock nothing may be committed any more
            if self._session.valid() and not self._stopping:  # suspended: nothing is begun until it is known
                self.look()
                self._rolls.roll_if_due()

    def _facts(self, tablet_id: int, tablet: Tablet) -> TabletFacts | None:
        """None of a resting tablet: whatever is decided, it is not about that one, unless it keeps the log."""
        # Each tablet has its own second, so that a thousand are not looked at in one stretch.
        minute = (int(self._runtime.clock_seconds()) + 7 * tablet_id) // _LOOK_SECONDS
        full_disk = bool(self._shared.out_of_space)
        stamp = tablet.stamp_at_rest()
        resting = self._resting.get(tablet_id)
        if (
            resting is None
            or resting[:4] != (tablet, minute, full_disk, stamp)
            or resting.until < self._runtime.clock_seconds()
        ):
            # It has files that a compaction may remove.
            self._resting.pop(tablet_id, None)
            facts = self._found(tablet, minute, full_disk)
            if tablet.needs_old_logs or not may_rest(facts, self._options):
                return facts  # what was tried in vain, say, may look different the next time
            until = tablet.flush_is_due(self._options.flush_age_seconds)
            self._resting[tablet_id] = RestingTablet(tablet, minute, full_disk, stamp, facts, until)
        return None

    def _found(self, tablet: Tablet, minute: int, full_disk: bool) -> TabletFacts:
        record = tablet.record
        noted = self._noted.get(record.tablet_id)
        schema = tablet.schema
        as_of = (len(tablet.damaged), tablet.dead_cells_met // _LOT, minute, full_disk)
        if noted is None or noted.record is not record or noted.schema is not schema or noted.as_of != as_of:
            # Files change with the record only, and what is to be done about them with the schema and the time, so a
            # thousand quiet tablets cost little here.
            merge = tablet.needs_compaction(self._split_bytes())
            pressure = tablet.write_pressure() if merge else 0.0
            aged = "" if merge else tablet.needs_major()
            noted = _Noted(record, schema, as_of, self._why_split(tablet), merge, pressure, aged)
            self._noted[record.tablet_id] = noted
        return TabletFacts(
            record.tablet_id,
            record.table_id,
            tablet.memtable_bytes,
            self._memtable_limit_bytes,
            tablet.memtable_age_seconds,
            noted.split,
            noted.merge,
            # Fifty tablets of a dead server: the flushes of the first would keep clients waiting for the last.
            tablet.needs_old_logs and not self._shared.loading,
            tablet.needs_flush(),
            noted.pressure,
            noted.aged,
        )

    def _split_bytes(self) -> int | None:
        """None on a full disk: to rewrite what children share makes no room before both have, and takes what deletes
        and drops need."""
        return None if self._shared.out_of_space else self._options.split_bytes

    def _why_split(self, tablet: Tablet) -> str:
        if self._shared.out_of_space or not tablet.needs_split(self._options.split_bytes):
            return ""  # on a full disk: its row takes room, and it makes none
        size = tablet.sstable_bytes()
        known = self._unsplittable.get(tablet.record.tablet_id, 0)
        return f"its SSTables hold {size} bytes" if size >= 2 * known else ""

    def _may_start(self, decision: Decision, now: float) -> bool:
        tablet_id, kind = decision.tablet_id, type(decision)
        tablet = self._tablets.get(tablet_id)
        if tablet is None or now < self._not_before.get((tablet_id, kind), 0.0):
            return False
        excluded = (Flush, Compact, Split) if kind is Split else (kind, Split)
        if any((tablet_id, other) in self._jobs for other in excluded):
            return False
        of_metadata = tablet.record.table_id == METADATA_TABLE_ID
        # On a full disk a file that would not fit only takes, until it fails, the room that deletes and drops need.
        size = tablet.memtable_bytes if isinstance(decision, Flush) else tablet.sstable_bytes()
        if not self._shared.has_room_for(size, of_metadata):
            return False
        if of_metadata:
            return self._shared.compactions_on or not isinstance(decision, Compact)
        if isinstance(decision, Compact) and decision.can_wait and now < self._aged_not_before:
            return False
        same = sum(1 for _, other in self._jobs if other is kind)
        match decision:
            case Flush():
                return same < self._options.parallel_flushes
            case Compact():
                may = self._shared.compactions_on and self._shared.may_compact(tablet.schema.name)
                return may and same < self._options.parallel_compactions
            case _:
                return same < 1

    def _start(self, decision: Decision) -> bool:
        kind = type(decision).__name__.lower()
        job = decision.tablet_id, type(decision)
        self._jobs[job] = spawn_counted(self._runtime, self._run, decision, kind, name=kind)
        return True

    @switches
    def _run(self, decision: Decision, kind: str) -> None:
        tablet_id = decision.tablet_id
        job = tablet_id, type(decision)
        begin = self._runtime.clock_seconds()
        try:
            self._act(decision)
            log.info(
                "tablet %d: %s in %.2f s (%s)",
                tablet_id,
                _DONE[kind],
                self._runtime.clock_seconds() - begin,
                decision.why,
            )
            self._not_before.pop(job, None)
            if isinstance(decision, Compact) and decision.can_wait:
                ended = self._runtime.clock_seconds()
                self._aged_not_before = ended + _PAUSES * (ended - begin)
        except SwitchedOff:
            self._not_before[job] = self._runtime.clock_seconds() + self._options.retry_seconds  # as was asked
        except CompactionCancelled as error:
            log.info("%s; it is tried again later", error)
            self._not_before[job] = self._runtime.clock_seconds() + self._options.retry_seconds
        except HbtableError as error:
            # While the server drains, tablets end what is under way on purpose.
            if tablet_id in self._tablets and not self._stopping:
                log.warning("tablet %d: %s failed and is tried again later: %s", tablet_id, kind, error)
            self._not_before[job] = self._runtime.clock_seconds() + self._options.retry_seconds
        except Exception:  # a bug, which would come again at once and for ever
            self._not_before[job] = self._runtime.clock_seconds() + self._options.retry_seconds
            raise
        finally:
            del self._jobs[job]
            if not self._start_next():
                self._wake.set()

    @switches
    def _act(self, decision: Decision) -> None:
        tablet = self._tablets.get(decision.tablet_id)
        if tablet is None:
            return
        match decision:
            case Flush():
                tablet.flush()
            case Compact():
                tablet.compact(False, split_bytes=self._split_bytes())
            case Split(row=bytes() as row) if self._hot_tablets is not None:
                self._hot_tablets.tried(decision.tablet_id, self._split(decision.tablet_id, row, decision.why))
            case _:
                size = tablet.sstable_bytes()
                if not self._split(decision.tablet_id, None, decision.why):
                    self._unsplittable[decision.tablet_id] = size
                    self._noted.pop(decision.tablet_id, None)  # which still says to split, at once and for ever
