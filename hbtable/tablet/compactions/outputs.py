"""Says of an SSTable, before a compaction writes it, what it is made of and how it is written. Does not switch."""

from collections.abc import Sequence
from itertools import takewhile

from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.sstable.properties import Origin, SSTableIdentity
from hbtable.tablet.compactions.making import OutputSpec
from hbtable.tablet.compactions.planning import since_millis
from hbtable.tablet.damage import UnreadableFile
from hbtable.tablet.state import TabletState
from hbtable.tablet.version import LoadedFile, Stack, Version


def output_spec(
    state: TabletState,
    stack: Stack,
    inputs: tuple[LoadedFile, ...],
    drop_markers: bool,
    clock_millis: int,
    complete_to: int,
) -> OutputSpec:
    """`inputs`: none of a minor compaction. `complete_to`: the sequence up to which the output has all writes."""
    layout = state.version.layout
    record = state.keeper.record
    now = state.shared.wall.millis()
    identity = SSTableIdentity(
        record.table_id,
        record.tablet_id,
        stack.key,
        record.generation,
        tuple(file.ref.path for file in inputs),
        clock_millis,
        Origin(record.range.start, record.range.stop, complete_to, layout.table_record(record.table_id)),
        now if drop_markers else min(map(since_millis, inputs), default=now),
        tuple(file.ref.deleted for file in inputs) if any(file.ref.deleted for file in inputs) else (),
    )
    return OutputSpec(
        layout.sstable_options(stack.key),
        identity,
        layout.rules,
        now,
        drop_markers,
        earliest_put(inputs),
        sum(garbage.masked for file in inputs if (garbage := file.reader.properties.garbage) is not None),
        state.environment.options.output_bytes,
        -1 if drop_markers else older_until(state.version, stack, inputs),
    )


def last_complete(inputs: Sequence[LoadedFile]) -> int:
    """The sequence up to which all writes to the inputs' rows are in them, together. Files of an older hbtable do not
    say it: of these, what they hold is certain."""
    origins = [file.reader.properties.identity.origin for file in inputs]
    known = [origin.complete_to for origin in origins if origin is not None]
    return max([*known, *(file.ref.last_sequence for file in inputs)], default=0)


def earliest_put(inputs: Sequence[LoadedFile]) -> int:
    """A time before which no put of them is. Files of an older hbtable with markers and puts tell the time of whichever
    is earlier."""
    known = [file.reader.properties for file in inputs]
    times = [
        one.min_timestamp if one.earliest_put is None else one.earliest_put for one in known if one.markers < one.cells
    ]
    return min(times, default=MAX_TIMESTAMP if known else 0)


def older_until(version: Version, stack: Stack, inputs: Sequence[LoadedFile]) -> int:
    """A time after which no cell of the stack's families is that may be older than the inputs (of none: than the
    memtables), and not among them; -1 when there is no such cell. Left out are times that clients set in the future:
    one such cell would keep every version in excess that is written until then, of all rows of the stack."""
    paths = {file.ref.path for file in inputs}
    older = list(takewhile(lambda file: file.ref.path not in paths, stack.files))
    for other in version.holding(stack.families):
        if other.key != stack.key:
            if any(memtable.cells for memtable in other.memtables()):
                return MAX_TIMESTAMP
            older += other.files
    return max(map(_latest, older), default=-1)


def _latest(file: LoadedFile) -> int:
    """The latest time in the file, but for those that were in the future when it was written."""
    if isinstance(file.reader, UnreadableFile):
        return MAX_TIMESTAMP
    properties = file.reader.properties
    written = max(properties.identity.clock_millis, properties.identity.since_millis)
    return min(properties.max_timestamp, written or MAX_TIMESTAMP)
