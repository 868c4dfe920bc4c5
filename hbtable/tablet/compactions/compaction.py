"""Minor, merging and major compactions (paper, section 5.4), each safe against a crash at any point.

    1. what to write is fixed: a minor compaction freezes the memtables, notes the redo point and swaps the version; the
       others take the SSTables of the version
    2. the new SSTable is written, synced, reopened (files.py)
    3. one record change names it, takes its inputs out and, for a minor one, moves the redo point (bug class 6)
    4. right after, without a switch: the version is swapped
    5. only now: the log may forget (bug class 2), memory is given back, blocks of the inputs leave the cache
A crash before 3 leaves a file that nobody names, which the collector removes; after 3 all is done. An error before 3
leaves everything as it was: frozen memtables are read until a later flush takes them along.

Markers are dropped only when every SSTable that may hold older cells of these families is read (bug class 14); frozen
and active memtables are always newer.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import final

from hbtable.errors import Corruption, HbtableError, SwitchedOff
from hbtable.memtable.memtable import Memtable
from hbtable.model.tablet import TabletRecord
from hbtable.switches import switches
from hbtable.tablet.compactions.deleted_meanwhile import CompactionCancelled, deleted_since, without
from hbtable.tablet.compactions.freeing import free_unread
from hbtable.tablet.compactions.making import OutputSpec
from hbtable.tablet.compactions.outputs import last_complete, output_spec
from hbtable.tablet.compactions.planning import useless_files
from hbtable.tablet.compactions.policy import MergePlan
from hbtable.tablet.compactions.set_back import LATEST_MILLIS
from hbtable.tablet.compactions.unchanged import UnchangedCheck
from hbtable.tablet.compactions.writing import CompactionWriter, Sources
from hbtable.tablet.files import SSTableOutput
from hbtable.tablet.pacing import Pacer
from hbtable.tablet.records import with_all_logs_from, with_files, with_redo_point
from hbtable.tablet.shared import COMPACTIONS_OFF
from hbtable.tablet.state import TabletState
from hbtable.tablet.version import LoadedFile, Stack, key_range

logger = logging.getLogger(__name__)

Written = tuple[str, tuple[Memtable, ...], LoadedFile | None]


@final
class Compactor:
    """Compacts one tablet: one minor compaction at a time, and beside it one other."""

    __slots__ = (
        "_cancelled",
        "_flushing",
        "_merging",
        "_output",
        "_pause",
        "_state",
        "_unchanged",
        "_writer",
        "replaying",
    )

    def __init__(self, state: TabletState) -> None:
        environment = state.environment
        self._state = state
        self._output = SSTableOutput(environment.fs, environment.cache, environment.shared, state.keeper)
        self._writer = CompactionWriter(state, self._output)
        self._flushing = environment.runtime.lock()
        self._pause = Pacer(environment.runtime, environment.options.slice_seconds).pause
        self._merging = environment.runtime.lock()
        self._cancelled = False
        self._unchanged = UnchangedCheck(state)
        self.replaying = False
        """Recovery has not seen all of the old logs yet: a minor compaction must leave them named."""

    # ------------------------------------------------------------ minor

    @switches
    def flush(self) -> None:
        """Everything visible at the call is in SSTables that the record names, on return. OutOfSpace,
        Unavailable: nothing changed, try again. StaleLocation: the tablet is lost. MemoryDamaged: cells changed in
        memory; the server takes no more writes."""
        state = self._state
        with self._flushing:
            self._unchanged.check_nothing_found()
            if not state.version.memtables_empty():
                self._output.begin()
            begin = state.environment.runtime.clock_seconds()
            # No switch from here to the redo point: it says exactly what the frozen memtables hold.
            frozen_since, state.unflushed_since = state.unflushed_since, 0.0
            markers_before, state.markers_at_flush = state.markers_at_flush, state.tally.markers
            state.dead_at_flush = state.tally.dead
            state.install(state.version.frozen())
            complete_to = state.applied
            first_needed = complete_to + 1
            clock_millis = state.clock.highest
            state.attention_at = state.environment.options.memtable_bytes
            written: list[Written] = []
            asked = False
            try:
                stacks = [stack for stack in state.version.stacks if stack.frozen]
                while stacks:
                    stack = stacks.pop(0)
                    # Of a family in memtables of two groupings a file has all once it is the last: who is killed before
                    # that has the rest in the log, and a repair must look for it there.
                    is_last = not any(stack.families & other.families for other in stacks)
                    file = self._write_frozen(stack, clock_millis, complete_to if is_last else 0)
                    written.append((stack.key, stack.frozen, file))
                if written or self.needs_old_logs():
                    asked = True
                    self._name_flushed(written, first_needed)
            except BaseException as error:
                if isinstance(error, HbtableError):
                    state.shared.flush_failure = str(error)
                state.unflushed_since = frozen_since or state.unflushed_since
                state.markers_at_flush = markers_before
                files = [file for _, _, file in written]
                self._output.refused(error, *files) if asked else self._output.unasked(*files)
                raise
            if not self.replaying:
                # After the record change was acknowledged, never before (bug class 2).
                state.environment.log.needed(state.tablet_id, first_needed)
            if written:
                state.shared.flush_failure = ""
                self._took("minor", begin)
                del stack
                flushed = [memtable for _, memtables, _ in written for memtable in memtables]
                written.clear()
                free_unread(flushed, self._pause)

    def _took(self, kind: str, begin: float) -> None:
        if kind != "minor":
            self._state.dead_at_compaction = self._state.tally.dead
        seconds = self._state.environment.runtime.clock_seconds() - begin
        self._state.shared.compaction_seconds[kind].observe(seconds)

    def needs_old_logs(self) -> bool:
        """Whether the record names logs of earlier owners, all of them replayed."""
        incarnation = self._state.shared.incarnation
        return not self.replaying and any(log.incarnation != incarnation for log in self._state.keeper.record.logs)

    @switches
    def _write_frozen(self, stack: Stack, clock_millis: int, complete_to: int) -> LoadedFile | None:
        sources = Sources(memtables=stack.frozen, sequence=self._state.applied)
        spec = output_spec(self._state, stack, (), False, clock_millis, complete_to)
        file = self._writer.write(sources, spec, self._state.version.layout.in_memory(stack.key), None)
        try:
            self._unchanged.check(stack)  # after they were written: nothing of their time in memory is left out
        except BaseException:
            self._output.unasked(file)
            raise
        return file

    @switches
    def _name_flushed(self, written: list[Written], first_needed: int) -> None:
        state = self._state
        shared = state.shared

        def edit(record: TabletRecord) -> TabletRecord:
            for key, _, file in written:
                if file is not None:
                    record = with_files(record, key, (*record.files_of(key), file.ref))
            if self.replaying:
                return with_all_logs_from(record, first_needed)
            return with_redo_point(record, shared.incarnation, first_needed)

        def swap() -> None:
            for key, memtables, file in written:
                state.install(state.version.flushed(key, memtables, file))
                state.release(sum(memtable.bytes_used for memtable in memtables))

        state.keeper.change(edit, swap)
        self._output.settled(*(file for _, _, file in written))
        for _, _, file in written:
            shared.flushes.value += 1
            shared.flushed_bytes.value += file.ref.length_bytes if file is not None else 0

    # ------------------------------------------------------------ merging and major

    @switches
    def merge(self, plan: MergePlan) -> None:
        """Carries out a plan, as far as its files are still there. As flush()."""
        with self._merging, self._noting_failure():
            self._output.begin()
            stack = next((stack for stack in self._state.version.stacks if stack.key == plan.key), None)
            if stack is not None:
                inputs = tuple(file for file in stack.files if file.ref.path in plan.paths)
                if len(inputs) == len(plan.paths):
                    begin = self._state.environment.runtime.clock_seconds()
                    if plan.regroups:
                        self._regroup()
                    else:
                        self._compact(stack, inputs)
                    self._took("merging", begin)

    @switches
    def discard(self) -> None:
        """SSTables without a family of the schema, or of which all cells have expired, are not named any more; nothing
        is read or written. As flush()."""
        with self._merging:
            gone = useless_files(self._state)
            if gone:
                self._check_cancelled()
                self._discard(gone)

    @switches
    def _discard(self, gone: Sequence[tuple[Stack, tuple[LoadedFile, ...]]]) -> None:
        state = self._state
        paths = {file.ref.path for _, files in gone for file in files}

        def edit(record: TabletRecord) -> TabletRecord:
            for stack, _ in gone:
                kept = tuple(ref for ref in record.files_of(stack.key) if ref.path not in paths)
                record = with_files(record, stack.key, kept)
            return record

        def swap() -> None:
            version = state.version
            for stack, files in gone:
                version = version.compacted(stack.key, files, None)
            state.install(version)

        self._name_compacted(edit, swap, tuple(file for _, files in gone for file in files), [])

    @switches
    def major(self, family: bytes = b"") -> None:
        """Every stack, or the one that holds this family (as it stands in cell keys), becomes one SSTable without
        markers or deleted cells; all of them while cells of an earlier grouping of the families are left. Damaged files
        stay as they are, and markers with them. As flush(), and DataDamaged."""
        begin = self._state.environment.runtime.clock_seconds()
        self.flush()
        self.discard()
        with self._merging, self._noting_failure():
            self._output.begin()
            if self._state.version.is_regrouped():
                self._state.damaged.check_none()
                self._regroup()
            else:
                for key in self._state.version.layout.keys:
                    self._compact_stack(key, family)
            self._took("major", begin)

    @switches
    def _compact_stack(self, key: str, family: bytes) -> None:
        stack = next((stack for stack in self._state.version.stacks if stack.key == key), None)
        if stack is not None and (not family or family in stack.families):
            for inputs in stack.sound_runs(self._state.damaged):
                if inputs:
                    self._compact(stack, inputs)

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        """A damaged input is left out of what is planned from now on, and ends this compaction. Whoever waits for one
        hears of other failures."""
        try:
            yield
            self._state.gate.merge_failure = ""
        except Corruption as error:
            paths = {file.ref.path for stack in self._state.version.stacks for file in stack.files}
            raise self._state.damaged.told_of(error, paths) from error
        except (CompactionCancelled, SwitchedOff):
            raise
        except HbtableError as error:
            self._state.gate.merge_failure = str(error)
            raise

    @switches
    def cancel(self) -> None:
        """Ends what merge() and major() are doing, and refuses new ones, until resume()."""
        self._cancelled = True
        with self._merging:
            pass

    def close(self) -> None:
        """The tablet is not served here any more. Does not switch."""
        self._output.close()

    def resume(self) -> None:
        self._cancelled = False

    def _check_cancelled(self) -> None:
        if not self._state.shared.compactions_on:
            raise SwitchedOff(f"tablet {self._state.tablet_id} was not compacted: {COMPACTIONS_OFF}")
        if self._cancelled or self._state.gate.closed:
            raise CompactionCancelled(f"the compaction of tablet {self._state.tablet_id} was cancelled")

    @switches
    def set_back(self, now: int, highest: int) -> None:
        """Every SSTable written anew, with times as set_back.moved() says. As major()."""
        self.flush()
        with self._merging, self._noting_failure():
            self._state.damaged.check_none()
            self._output.begin()
            if self._state.version.is_regrouped():
                self._regroup()  # of a column that lies in two stacks each would be set back by itself
            for stack in self._state.version.stacks:
                if stack.files:
                    self._compact(stack, stack.files, (now, highest))

    @switches
    def _compact(self, stack: Stack, inputs: tuple[LoadedFile, ...], set_back: tuple[int, int] | None = None) -> None:
        """`set_back`: now, and the latest time that is to be moved to it."""
        state = self._state
        self._check_cancelled()
        # Bug class 14: a marker goes only when every file of the stack is read, and no other stack (of an earlier
        # grouping) may hold older cells of the same families.
        drop_markers = len(inputs) == len(stack.files) and not state.version.shares_families(stack)
        clock_millis = max(file.reader.properties.identity.clock_millis for file in inputs)
        if set_back is not None:
            clock_millis = set_back[0] + LATEST_MILLIS
        spec = output_spec(state, stack, inputs, drop_markers, clock_millis, last_complete(inputs))
        if set_back is not None:
            spec = replace(spec, set_back=set_back, earliest_put=0)
        output = self._write_anew(stack, inputs, spec)
        named = output
        paths = {file.ref.path for file in inputs}

        def edit(record: TabletRecord) -> TabletRecord:
            nonlocal named
            named = without(output, deleted_since(record, inputs, has_their_times=set_back is None))
            kept = tuple(ref for ref in record.files_of(stack.key) if ref.path not in paths)
            return with_files(record, stack.key, kept if named is None else (*kept, named.ref))

        self._name_compacted(
            edit, lambda: state.install(state.version.compacted(stack.key, inputs, named)), inputs, [output]
        )

    @switches
    def _name_compacted(
        self,
        edit: Callable[[TabletRecord], TabletRecord],
        swap: Callable[[], None],
        inputs: tuple[LoadedFile, ...],
        outputs: list[LoadedFile | None],
    ) -> None:
        state = self._state
        try:
            state.keeper.change(edit, swap)
        except BaseException as error:
            self._output.refused(error, *outputs)
            raise
        self._output.settled(*outputs)
        for output in outputs:
            state.shared.compacted_bytes.value += output.ref.length_bytes if output is not None else 0
        keys = key_range(state.range)
        for file in inputs:
            state.shared.replaced_bytes += file.ref.length_bytes
            if file.inside(keys):  # else a split's other child may read it still
                state.environment.cache.drop_file(file.ref.path)

    @switches
    def _regroup(self) -> None:
        """The schema groups families in another way than some files: all are read, and written anew by stack."""
        state = self._state
        self._check_cancelled()
        version = state.version
        inputs = tuple(file for stack in version.stacks for file in stack.files)
        clock_millis = max((file.reader.properties.identity.clock_millis for file in inputs), default=0)
        outputs: dict[str, LoadedFile | None] = {}
        named: dict[str, LoadedFile | None] = {}
        for stack in version.stacks[: len(version.layout.keys)]:
            spec = output_spec(state, stack, inputs, True, clock_millis, last_complete(inputs))
            spec = replace(spec, families=stack.families)
            try:
                outputs[stack.key] = self._write_anew(stack, inputs, spec)
            except BaseException:
                self._output.unasked(*outputs.values())
                raise
        paths = {file.ref.path for file in inputs}

        def edit(record: TabletRecord) -> TabletRecord:
            deleted = deleted_since(record, inputs)
            named.update({key: without(output, deleted) for key, output in outputs.items()})
            for key in sorted({key for key, _ in record.files} | set(named)):
                kept = tuple(ref for ref in record.files_of(key) if ref.path not in paths)
                output = named.get(key)
                record = with_files(record, key, kept if output is None else (*kept, output.ref))
            return record

        def swap() -> None:
            changed = state.version
            for stack in version.stacks:
                changed = changed.compacted(stack.key, inputs, named.get(stack.key))
            state.install(changed)

        self._name_compacted(edit, swap, inputs, list(outputs.values()))

    # ------------------------------------------------------------ one output

    @switches
    def _write_anew(self, stack: Stack, inputs: tuple[LoadedFile, ...], spec: OutputSpec) -> LoadedFile | None:
        in_memory = self._state.version.layout.in_memory(stack.key)
        return self._writer.write(Sources(files=inputs), spec, in_memory, self._check_cancelled)
