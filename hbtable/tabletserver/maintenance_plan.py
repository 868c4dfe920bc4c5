"""Chooses what a tablet server flushes, compacts and splits next (paper, sections 5.4 and 6). Pure.

Flushes come first, because writers wait for memory and log room; then merging and major compactions, which readers wait
for; then splits; last what is due by age alone. Within each kind METADATA tablets come first: every user tablet's flush
ends with a write to them. Of the compactions, the one comes next whose tablet's writers are nearest to waiting for it:
others that are due again and again would keep them waiting for ever.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hbtable.model.tablet import METADATA_TABLE_ID, ROOT_TABLET_ID


@dataclass(frozen=True, slots=True)
class MaintenanceOptions:
    """Options: when a tablet server does background work."""

    period_seconds: float = 0.25
    """Seconds between two looks at memory, log and tablets. Longer: less idle work, memtables overshoot more."""
    total_memtable_bytes: int = 128 << 20
    """All memtables together; above it the largest is flushed, and writes of more than 5,000 cells or 8 MiB of large
    cells wait; at twice as much all writers do. Larger: more memory, fewer small SSTables."""
    log_bytes: int = 256 << 20
    """The commit log's size above which the tablets that need its oldest segment are flushed. Larger: longer
    recovery, fewer small SSTables of quiet tablets."""
    flush_age_seconds: float = 3600.0
    """A memtable is flushed when its oldest cell is older. Longer: old log segments live longer."""
    roll_seconds: float = 3600.0
    """A segment of the log that anything was written to ends after so long, so that it can be let go: what was deleted
    leaves the log, too. Longer: fewer small segments on a quiet server."""
    split_bytes: int = 256 << 20
    """A tablet of more SSTable bytes splits, unless its table says otherwise. 0: never."""
    hot_split_share: float = 0.4
    """In a cluster, and with several server processes: a tablet whose requests take this part of a processor, of late,
    splits at the row that halves them, so that the halves go to two servers. Larger: fewer splits, and more load on one
    server. 0: never."""
    hot_split_requests: float = 200.0
    """Rows read and written in a second; a tablet of fewer does not split because of its load, whatever they take. The
    normalizer does not merge tablets that have so many together."""
    hot_split_seconds: float = 60.0
    """The time for which a tablet has too much load before it splits. Longer: what comes in waves splits nothing."""
    parallel_flushes: int = 2
    """Minor compactions at a time. More: writers wait less for memory, readers more for the processor."""
    parallel_compactions: int = 1
    """Merging and major compactions at a time. More: they share one processor, and readers wait longer."""
    retry_seconds: float = 5.0
    """The time for which a tablet is left alone after background work on it failed."""


class TabletFacts(NamedTuple):
    """One served tablet as the planner sees it."""

    tablet_id: int
    table_id: int
    memtable_bytes: int
    memtable_limit_bytes: int
    """At this size its memtable is flushed (TabletOptions)."""
    memtable_age_seconds: float
    """0 when the memtable is empty."""
    too_large: str
    """The reason why it should split; "" when it should not."""
    compaction: str
    """The reason why the compaction policy wants to merge its SSTables; "" when it does not."""
    needs_old_logs: bool
    """Its record still names logs of earlier servers, though nothing or little is left in them."""
    deleted: str = ""
    """The reason why its memtables should be flushed for what is deleted in them; "" when they should not."""
    pressure: float = 0.0
    """From 1 on its writers wait for a compaction (Tablet.write_pressure)."""
    aged: str = ""
    """The reason why it should have a major compaction although nobody waits for it; "" when it should not."""


class Flush(NamedTuple):
    """A minor compaction of a tablet, and the reason as a clause after "because"."""

    tablet_id: int
    why: str


class Compact(NamedTuple):
    """A merging compaction, or what the compaction policy prefers at the time."""

    tablet_id: int
    why: str
    can_wait: bool = False
    """It is due by age alone: it takes its place behind all others, and leaves pauses between itself and its like."""


class Split(NamedTuple):
    """A split at this row; in the middle without one."""

    tablet_id: int
    why: str
    row: bytes | None = None


Decision = Flush | Compact | Split


def plan(
    tablets: Sequence[TabletFacts], log_bytes: int, oldest_segment: Collection[int], options: MaintenanceOptions
) -> list[Decision]:
    """Everything worth doing now, most urgent first. `oldest_segment`: tablets that need the log's oldest segment."""
    ordered = sorted(tablets, key=lambda facts: (facts.table_id != METADATA_TABLE_ID, -facts.memtable_bytes))
    flushes = _flushes(ordered, log_bytes, oldest_segment, options)
    due = sorted(ordered, key=lambda facts: (facts.table_id != METADATA_TABLE_ID, -facts.pressure))
    compactions = [Compact(facts.tablet_id, facts.compaction) for facts in due if facts.compaction]
    # The root tablet never splits (paper, 5.1): its record is the lock service's single file.
    splits = [
        Split(facts.tablet_id, facts.too_large)
        for facts in ordered
        if facts.too_large and facts.tablet_id != ROOT_TABLET_ID
    ]
    aged = [Compact(facts.tablet_id, facts.aged, True) for facts in ordered if facts.aged and not facts.compaction]
    return [*flushes, *compactions, *splits, *aged]


def may_rest(facts: TabletFacts, options: MaintenanceOptions) -> bool:
    """Whether there is nothing to do for this tablet by itself: as long as the facts are the same, only the log, or all
    memtables together, may ask for its flush."""
    return not (facts.too_large or facts.compaction or facts.aged or _why_flush(facts, False, options))


def _flushes(
    ordered: Sequence[TabletFacts], log_bytes: int, oldest_segment: Collection[int], options: MaintenanceOptions
) -> list[Flush]:
    total = sum(facts.memtable_bytes for facts in ordered)
    full_log = log_bytes > options.log_bytes
    decisions: list[Flush] = []
    for facts in ordered:
        why = _why_flush(facts, full_log and facts.tablet_id in oldest_segment, options)
        if why:
            decisions.append(Flush(facts.tablet_id, why))
            total -= facts.memtable_bytes
    if total > options.total_memtable_bytes:
        decisions.extend(_largest(ordered, {flush.tablet_id for flush in decisions}, total, options))
    return decisions


def _why_flush(facts: TabletFacts, holds_log: bool, options: MaintenanceOptions) -> str:
    if facts.memtable_bytes >= facts.memtable_limit_bytes:
        return f"its memtable holds {facts.memtable_bytes} bytes"
    if holds_log:
        return "the log is too large and this tablet needs its oldest segment"
    if facts.needs_old_logs:
        return "it still needs the log of an earlier server"
    if facts.deleted:
        return facts.deleted
    if facts.memtable_age_seconds > options.flush_age_seconds:
        return f"its memtable is {facts.memtable_age_seconds:.0f} s old"
    return ""


def _largest(ordered: Sequence[TabletFacts], chosen: set[int], total: int, options: MaintenanceOptions) -> list[Flush]:
    """The largest memtables, until the rest fits."""
    decisions: list[Flush] = []
    for facts in sorted(ordered, key=lambda facts: -facts.memtable_bytes):
        if total <= options.total_memtable_bytes or not facts.memtable_bytes:
            break
        if facts.tablet_id not in chosen:
            why = f"all memtables together are over {options.total_memtable_bytes} bytes and its is the largest"
            decisions.append(Flush(facts.tablet_id, why))
            total -= facts.memtable_bytes
    return decisions
