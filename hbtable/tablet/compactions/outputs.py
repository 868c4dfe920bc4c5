"""Says of an SSTable, before a compaction writes it, what it is made of and how it is written. Does not switch."""

from collections.abc import Sequence

from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.sstable.properties import Origin, SSTableIdentity
from hbtable.tablet.compactions.making import OutputSpec
from hbtable.tablet.compactions.planning import since_millis
from hbtable.tablet.state import TabletState
from hbtable.tablet.version import LoadedFile, Stack


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
