"""Loading a tablet (paper, section 5.3): open its SSTables, replay the logs since the redo points, only then serve.

What is replayed comes from the record and from nothing else (bug class 6): every log it names, from the sequence it
names. Records are taken by sequence over all logs together, never in the order of files, and where a sequence occurs
twice the higher generation counts (bug class 3). Nothing is written but through this tablet, which METADATA knows
(bug class 18). An error opens nothing: half a tablet must not serve.

Restored besides cells: the next sequence (one past everything that files, logs and redo points mention) and the clock
(one past every server-assigned time, bug class 16).
"""

import dataclasses
import logging
from collections.abc import Iterable, Iterator
from heapq import merge
from typing import Final

from hbtable.commitlog.records import LogRecord
from hbtable.commitlog.recovery.gaps import Gap
from hbtable.commitlog.recovery.recovered_edits import recovered, sorted_gaps
from hbtable.commitlog.segments.segment import log_folder
from hbtable.encoding.cell_key import check_known
from hbtable.encoding.pairs_checksum import checksum_of
from hbtable.errors import Corruption, DataDamaged, FileNotFound, LimitExceeded, OutOfSpace, Unavailable
from hbtable.model.mutation import PUT
from hbtable.model.tablet import NO_LOG, ROOT_TABLET_ID, LogRef, SSTableRef, TabletRecord
from hbtable.switches import switches
from hbtable.tablet.compactions.compaction import Compactor
from hbtable.tablet.compactions.set_back import LATEST_MILLIS
from hbtable.tablet.damage import UnreadableFile
from hbtable.tablet.files import open_sstable
from hbtable.tablet.pacing import Pacer
from hbtable.tablet.state import TabletState
from hbtable.tablet.version import LoadedFile, Stack, Version, in_order
from hbtable.tablet.wall_clock import span
from hbtable.tablet.withheld import withheld

logger = logging.getLogger(__name__)

_RECORDS_BETWEEN_PAUSES: Final = 64
_LONG_MILLIS: Final = 30 * 86_400_000
"""Longer than a machine is switched off over a holiday."""


class LeftUnflushed(Unavailable):
    """Only this server's own log has something of the tablet: it is recovered when this server has ended."""


@switches
def recover(state: TabletState, compactor: Compactor) -> None:
    """The tablet is as it was, and may serve, on return, all but what damaged SSTables hold (damage.py).
    Corruption (of a log), TabletWithheld, UnsupportedFormat, StaleLocation (another owner), OutOfSpace, LeftUnflushed:
    do not serve."""
    record = state.keeper.record
    if record.withheld_millis:
        raise withheld(record, str(state.version.layout.table))
    _check_own_log(state, record)
    _open_files(state)
    refs = [ref for _, files in record.files for ref in files]
    state.sequence = state.applied = max(
        [ref.last_sequence for ref in refs] + [log.first_needed - 1 for log in record.logs] + [0]
    )
    highest = max(
        [file.reader.properties.identity.clock_millis for stack in state.version.stacks for file in stack.files] + [0]
    )
    compactor.replaying = True
    highest = max(highest, _replay(state, compactor))
    compactor.replaying = False
    state.clock.restore(_latest_time(state, highest))
    _check_own_log(state, record)  # once more: what an earlier stay had under way may have landed since
    _own_log(state)
    _look_at_clock(state, compactor)


def _latest_time(state: TabletState, highest: int) -> int:
    """The latest time assigned in the tablet, as far as its sound files and logs tell, `highest`; beside a file that
    cannot be opened, that of the tablets that were loaded before. METADATA is among them on a single server, and each
    flush of a tablet changed it. Else the cells of that file would hide later puts once it is put back, if the clock
    was ahead when they were written."""
    files = [file for stack in state.version.stacks for file in stack.files]
    if any(isinstance(file.reader, UnreadableFile) for file in files):
        highest = max(highest, state.shared.latest_millis)
    state.shared.latest_millis = max(state.shared.latest_millis, highest)
    return highest


@switches
def _look_at_clock(state: TabletState, compactor: Compactor) -> None:
    """An earlier server's clock was ahead, or this one's is behind: said, and repaired where that was asked for."""
    options = state.environment.options
    ahead = state.clock.ahead_millis()
    _say_if_nothing_was_written_for_long(state)
    if ahead <= options.max_clock_skew_seconds * 1000:
        return
    what = f"tablet {state.tablet_id} of table {state.version.layout.table}"
    now, highest = state.shared.wall.millis(), state.clock.highest
    if not options.set_back_clocks:
        logger.error(
            "%s has times %s the clock: an earlier server's was wrong, or this one's is. Its later versions get "
            "times after those, and what has a time to live expires so much later. If the clock is right now, start "
            "once with tablet.set_back_clocks = true",
            what,
            span(ahead),
        )
        return
    try:
        compactor.set_back(now, highest)
    except (DataDamaged, LimitExceeded) as error:
        logger.error("%s keeps its times, %s the clock: %s", what, span(ahead), error)
        return
    state.clock.set_back(now + LATEST_MILLIS)
    logger.warning("%s had times %s the clock: they were set back", what, span(ahead))


def _say_if_nothing_was_written_for_long(state: TabletState) -> None:
    """The root tablet changes with each start of a server that has it, so its newest time tells of the last one."""
    behind = state.clock.highest - state.shared.wall.millis()
    if state.tablet_id == ROOT_TABLET_ID and state.clock.highest and -behind > _LONG_MILLIS:
        logger.warning(
            "the root tablet's newest time is %s this machine's clock. If a server ran here since then, the clock is "
            "wrong: stop this one and set the clock right, before compactions drop what has a time to live",
            span(behind),
        )


def adopt(state: TabletState, parent: TabletState) -> None:
    """A split's child begins with the parent's SSTables, whose readers it shares, its sequence and its clock. The
    parent's memtables are empty. Does not switch."""
    stacks = {stack.key: stack.files for stack in parent.version.stacks}
    state.damaged.inherit(parent.damaged)
    _install_files(state, stacks)
    state.sequence = state.applied = parent.sequence
    # One past everything the parent assigned: none of its markers has to be remembered here.
    state.clock.restore(parent.clock.highest)


@switches
def _open_files(state: TabletState) -> None:
    """Every SSTable that the record names, length and footer checked."""
    layout = state.version.layout
    loaded: dict[str, tuple[LoadedFile, ...]] = {}
    for key, refs in state.keeper.record.files:
        in_memory = layout.in_memory(key)
        loaded[key] = in_order(_open(state, key, ref, in_memory) for ref in refs)
    _install_files(state, loaded)
    for error in _unreadable(state):
        state.damaged.told(error)


@switches
def _open(state: TabletState, key: str, ref: SSTableRef, in_memory: bool) -> LoadedFile:
    """A damaged or missing one is no reason to serve nothing of the tablet: the other files and all writes go on."""
    environment = state.environment
    try:
        return open_sstable(environment.fs, environment.cache, ref, in_memory, environment.shared.checksum)
    except (Corruption, FileNotFound) as error:
        return LoadedFile(ref, UnreadableFile(ref, state.keeper.record, key, error))


def _unreadable(state: TabletState) -> Iterator[Corruption]:
    for stack in state.version.stacks:
        for file in stack.files:
            if isinstance(file.reader, UnreadableFile):
                yield file.reader.error()


def _install_files(state: TabletState, files: dict[str, tuple[LoadedFile, ...]]) -> None:
    loaded = dict(files)
    current = [Stack(stack.key, stack.active, (), loaded.pop(stack.key, ())) for stack in state.version.stacks]
    # The rest was written under an earlier grouping of the families: readable, not written to any more.
    earlier = [Stack(key, None, (), rest) for key, rest in sorted(loaded.items()) if rest]
    state.install(Version(state.version.layout, (*current, *earlier)))


@switches
def _replay(state: TabletState, compactor: Compactor) -> int:
    """Into the memtables, what the logs hold; the newest server-assigned time in it."""
    environment = state.environment
    pacer = Pacer(environment.runtime, environment.options.slice_seconds)
    highest = 0
    replayed = 0
    next_flush_bytes = environment.options.memtable_bytes
    for record in by_sequence(_logs(state)):
        highest = max(highest, record.clock_millis)
        for key, _ in record.pairs:
            check_known(key, f"the log of tablet {state.tablet_id}")
        layout = state.version.layout
        state.tally.markers += sum([key[-10] != PUT for key, _ in record.pairs])
        by_stack = state.spreading.spread(layout, record.pairs)
        state.insert(layout, by_stack, [checksum_of(pairs) for pairs in by_stack], record.sequence)
        state.sequence = state.applied
        state.clock.highest = max(state.clock.highest, highest)
        replayed += 1
        if not replayed % _RECORDS_BETWEEN_PAUSES:
            pacer.pause()
            size = state.version.memtable_bytes()
            if size > next_flush_bytes and state.shared.has_room_for(size):
                try:
                    compactor.flush()
                except OutOfSpace as error:
                    # It fitted into memory before this start, nearly; a tablet that is not served cannot be dropped.
                    logger.warning("tablet %d: stays in memory while its log is read: %s", state.tablet_id, error)
                    next_flush_bytes = 2 * size
    state.spreading.say(state.tablet_id, state.version.layout.table, "the log")
    if replayed:
        logger.info("tablet %d: %d log records replayed", state.tablet_id, replayed)
    return highest


@switches
def _logs(state: TabletState) -> list[Iterator[LogRecord]]:
    """The records of each log that the record names. Not of this server's own: before this load the tablet was
    either never here or was unloaded with everything flushed. A log without a name only says that everything below
    its sequence is in SSTables: what a server logged during an earlier stay of the tablet must not come back."""
    refs = state.keeper.record.logs
    floor = max([ref.first_needed for ref in refs if ref.incarnation == NO_LOG] + [0])
    first_needed: dict[str, int] = {}
    for ref in refs:
        if ref.incarnation not in (NO_LOG, state.shared.incarnation):
            first_needed[ref.incarnation] = max(ref.first_needed, floor, first_needed.get(ref.incarnation, 0))
    for incarnation, first in sorted(first_needed.items()):
        for gap in sorted_gaps(state.environment.fs, log_folder(incarnation)):
            _check_gap(state, gap, first)
    return [
        recovered(state.environment.fs, log_folder(incarnation), state.tablet_id, first, state.shared.sorted_indexes)
        for incarnation, first in sorted(first_needed.items())
    ]


def _check_gap(state: TabletState, gap: Gap, first_needed: int) -> None:
    """Corruption if the tablet may have lost an acknowledged write there. METADATA's are no exception: a change of a
    schema, a table that was made or dropped would be missing without a word."""
    if gap.may_have_lost(state.tablet_id, first_needed):
        raise gap.damage(state.tablet_id)


def _check_own_log(state: TabletState, record: TabletRecord) -> None:
    """LeftUnflushed when this server's own log has what `record` needs: going on would lose it, and each flush would
    move the redo point past it. This can be without a bug: METADATA's log refused a change for want of room, and its
    server died and the change came back, so that the tablet seemed to be another owner's."""
    held = state.environment.log.highest_needed(state.tablet_id)
    first_needed = max([ref.first_needed for ref in record.logs] + [1])
    if held >= first_needed:
        own = state.shared.incarnation
        message = (
            f"tablet {state.tablet_id} is not loaded: the log of this server, {own}, has records of it up to sequence "
            f"{held}, which no SSTable has, and METADATA needs all from {first_needed} on; it left without a flush, so "
            "this server has to end, that its log is recovered"
        )
        logger.error("%s", message)
        raise LeftUnflushed(message)


@switches
def by_sequence(logs: Iterable[Iterator[LogRecord]]) -> Iterator[LogRecord]:
    """Records of several logs, each ascending by sequence, as one; of one sequence only the highest generation."""
    waiting: LogRecord | None = None
    for record in merge(*logs, key=lambda record: (record.sequence, record.generation)):
        if waiting is not None and waiting.sequence != record.sequence:
            yield waiting
        waiting = record
    if waiting is not None:
        yield waiting


@switches
def _own_log(state: TabletState) -> None:
    """Before the first write: recovery must know that this server's log may hold records of the tablet. The master
    names it when it assigns the tablet; a record without it would lose what is acknowledged from now on."""
    incarnation = state.shared.incarnation
    first_needed = state.sequence + 1

    def edit(record: TabletRecord) -> TabletRecord:
        if any(log.incarnation == incarnation for log in record.logs):
            return record
        return dataclasses.replace(record, logs=(*record.logs, LogRef(incarnation, first_needed)))

    state.keeper.change(edit)
