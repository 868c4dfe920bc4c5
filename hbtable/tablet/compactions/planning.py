"""Tells the pure policies the facts of a loaded tablet, and passes their answers on. Looks only; does not switch."""

from typing import Final

from hbtable.model.range_delete import MAX_RECORD_BYTES, are_much_together, call_for_compaction, share_of_most
from hbtable.model.schema import major_compaction_millis
from hbtable.tablet.compactions.garbage import Aging, Expiring, is_aged, wholly_expired
from hbtable.tablet.compactions.policy import (
    FileFacts,
    MemtableFacts,
    MergePlan,
    StackFacts,
    plan_major,
    plan_merge,
    why_flush,
)
from hbtable.tablet.state import TabletState
from hbtable.tablet.version import LoadedFile, Stack, key_range

_NO_COUNTS = (0, 0, 0)


def planned_merge(state: TabletState, family: bytes = b"", split_bytes: int = 0) -> MergePlan | None:
    """The most urgent merge; of the stack of one family (as it stands in cell keys) alone when one is given. A tablet
    of more than `split_bytes` should split; 0: never."""
    facts = []
    much_deleted = are_much_together(state.keeper.record.range_bytes())
    for stack in _stacks(state, family):
        # Beside a damaged file markers have to stay, and where deleted cells are kept: a merge would gain nothing.
        counts_markers = _is_sound(state, stack) and not stack.families & state.version.layout.keeps_deleted
        for run in stack.sound_runs(state.damaged):
            facts.append(_stack_facts(state, stack, run, counts_markers, much_deleted))
    too_large = 0 < split_bytes < state.version.sstable_bytes(state.range) and not state.damaged
    return plan_merge(facts, state.environment.options, too_large)


def planned_major(state: TabletState, family: bytes = b"") -> MergePlan | None:
    """The major compaction of a stack that is due by age. None beside damage: it would not be a major one."""
    schema = state.version.layout.schema
    millis = major_compaction_millis(schema)
    period = int(state.environment.options.major_compaction_seconds * 1000) if millis is None else millis
    now = state.shared.wall.millis()
    for stack in _stacks(state, family):
        if not stack.files or not _is_sound(state, stack):
            continue
        files = [_aging(state, stack, file, now) for file in stack.files]
        if is_aged(files, period, now, f"{state.tablet_id} {stack.files[0].ref.path}".encode()):
            waited = now - min(file.since_millis for file in files)
            return plan_major(_stack_facts(state, stack, stack.files, True), waited)
    return None


def useless_files(state: TabletState) -> list[tuple[Stack, tuple[LoadedFile, ...]]]:
    """SSTables of which nothing can be seen: those of dropped families, and those of which every cell has expired."""
    found = [(stack, stack.files) for stack in state.version.dropped()]
    now = state.shared.wall.millis()
    for stack in state.version.stacks:
        longest = _ttls(state, stack)[1]
        if not longest or not stack.files:
            continue
        files = [
            Expiring(path, now if path in state.damaged else properties.max_timestamp, properties.markers)
            for path, properties in ((file.ref.path, file.reader.properties) for file in stack.files)
        ]
        gone = frozenset(wholly_expired(files, longest, now, state.version.shares_families(stack)))
        if gone:
            found.append((stack, tuple(file for file in stack.files if file.ref.path in gone)))
    return found


MANY_FROZEN: Final = 8
"""Memtables that no more is written to, in one stack: each read looks into all of them. More: fewer small files after
schemas that regroup families again and again."""


def has_many_frozen(state: TabletState) -> bool:
    """Each change of the schema that regroups families freezes a memtable."""
    return any(len(stack.frozen) >= MANY_FROZEN for stack in state.version.stacks)


def planned_flush(state: TabletState) -> str:
    """The reason why the memtables are worth a flush for what is deleted in them, or for their number; "" when they are
    not."""
    if has_many_frozen(state):
        return f"{MANY_FROZEN} memtables or more of one locality group wait for it"
    layout = state.version.layout
    if len(layout.keeps_deleted) == len(layout.rules):
        return ""  # a flush would leave nothing behind
    markers = state.tally.markers - state.markers_at_flush
    may_expire = any(rule.ttl_millis for rule in layout.rules.values())
    if not markers and not may_expire:
        return ""
    cells = sum(memtable.cells for stack in state.version.stacks for memtable in stack.memtables())
    return why_flush(MemtableFacts(cells, markers, state.tally.dead - state.dead_at_flush, may_expire))


def since_millis(file: LoadedFile) -> int:
    """The time at which the oldest change in the file was flushed. Files of older hbtables tell about when the newest
    one was."""
    identity = file.reader.properties.identity
    return identity.since_millis or identity.clock_millis


# ------------------------------------------------------------ facts


def _stacks(state: TabletState, family: bytes) -> list[Stack]:
    return [stack for stack in state.version.stacks if not family or family in stack.families]


def _is_sound(state: TabletState, stack: Stack) -> bool:
    version, damaged = state.version, state.damaged
    if not damaged:
        return True
    readable = version.stacks if version.shares_families(stack) else (stack,)
    return not any(file.ref.path in damaged for one in readable for file in one.files)


def write_pressure(state: TabletState) -> float:
    """The SSTables of one locality group, or the ranges that are deleted from one SSTable or from all, as a share of
    the most. From 1 on writers wait for a compaction."""
    files = state.version.most_files(state.damaged) / state.environment.options.stall_files
    deleted = (file.ref.deleted for stack in state.version.stacks for file in stack.files if file.ref.deleted)
    return max(files, *map(share_of_most, deleted), state.keeper.record.range_bytes() / MAX_RECORD_BYTES)


def _stack_facts(
    state: TabletState,
    stack: Stack,
    files: tuple[LoadedFile, ...],
    counts_markers: bool,
    much_deleted: bool = False,
) -> StackFacts:
    keys = key_range(state.range)
    dead_met = state.tally.dead - state.dead_at_compaction
    facts = [_facts(file, keys, counts_markers, much_deleted) for file in files]
    return StackFacts(stack.key, facts, state.version.shares_families(stack), dead_met)


def _facts(file: LoadedFile, keys: tuple[bytes, bytes], counts_markers: bool, much_deleted: bool) -> FileFacts:
    """`much_deleted`: the ranges of all SSTables are much together."""
    properties = file.reader.properties
    garbage = properties.garbage
    path, length, cells = file.ref.path, file.ref.length_bytes, properties.cells
    useful, is_shared = file.bytes_in(keys), not file.inside(keys)
    is_full = call_for_compaction(file.ref.deleted) or (much_deleted and bool(file.ref.deleted))
    if not counts_markers:
        return FileFacts(path, useful, length, cells, 0, is_shared=is_shared, is_full_of_ranges=is_full)
    masking = (garbage.family_markers, garbage.rows, garbage.masked) if garbage is not None else _NO_COUNTS
    return FileFacts(path, useful, length, cells, properties.markers, *masking, is_shared, is_full)


def _aging(state: TabletState, stack: Stack, file: LoadedFile, now_millis: int) -> Aging:
    properties = file.reader.properties
    origin, garbage = properties.identity.origin, properties.garbage
    shortest = _ttls(state, stack)[0]
    is_clean = (
        not properties.markers
        and not file.ref.deleted
        and garbage is not None
        and not garbage.mortal
        and not (shortest and now_millis - properties.min_timestamp > shortest)
        and origin is not None
        and origin.table == state.version.layout.table_record(state.keeper.record.table_id)
    )
    return Aging(since_millis(file), is_clean)


def _ttls(state: TabletState, stack: Stack) -> tuple[int, int]:
    """The shortest and the longest time to live of the stack's families, in milliseconds. 0: no cell expires; or not
    every one does."""
    rules = [rule for family, rule in state.version.layout.rules.items() if family in stack.families]
    mortal = [rule.ttl_millis for rule in rules if rule.ttl_millis]
    every = bool(rules) and all(rule.ttl_millis and not rule.min_versions for rule in rules)
    return min(mortal, default=0), max(mortal) if every else 0
