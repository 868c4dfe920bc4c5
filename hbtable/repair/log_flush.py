"""Writes the records that logs hold of rebuilt tablets into SSTables, so that no record has to name a log.

Of each family of a tablet only what no file of it holds: the files say up to where they are complete. What lies below
may have been deleted since, by a marker that a compaction dropped with it.
"""

from collections.abc import Collection, Iterable

from hbtable.commitlog.records import LogRecord
from hbtable.encoding.cell_key import TERMINATOR, Pair, row_of
from hbtable.model.schema import TableSchema
from hbtable.model.tablet import NO_LOG, LogRef, TabletRecord
from hbtable.repair.evidence import SSTableFound
from hbtable.repair.rebuilding import RebuiltTablet, Span
from hbtable.repair.writing import RepairWriter
from hbtable.sstable.properties import Origin, SSTableIdentity
from hbtable.switches import switches
from hbtable.tablet.layout import LocalityGroupLayout, families_of_key

Floors = dict[tuple[int, bytes], int]
"""(tablet, family) -> every sequence up to this one is in files."""


def floors(files: Iterable[SSTableFound]) -> Floors:
    """`files`: all that can be identified, also those that were replaced."""
    found: Floors = {}
    for file in files:
        if file.properties is None:
            continue
        identity = file.properties.identity
        # Files of older hbtables do not say it: what they hold is certain.
        complete_to = identity.origin.complete_to if identity.origin is not None else file.properties.last_sequence
        for family in families_of_key(identity.group):
            key = (identity.tablet_id, family)
            found[key] = max(found.get(key, 0), complete_to)
    return found


def ended(tablet_ids: Collection[int], spans: Collection[Span]) -> set[int]:
    """The tablets among these that were split or merged: that begins with a flush, so no log has anything of them. A
    later tablet has rows of theirs."""
    gone = set()
    for span in spans:
        if span.tablet_id in tablet_ids:
            for later in spans:
                if span.is_before(later) and not span.rows.intersect(later.rows).is_empty():
                    gone.add(span.tablet_id)
    return gone


@switches
def unflushed(
    records: Iterable[LogRecord], known: dict[int, TabletRecord], held: Floors, gone: Collection[int]
) -> tuple[list[Pair], int, int]:
    """(pairs ascending, highest sequence, highest assigned time) that no file holds, of the records of one table."""
    newest: dict[tuple[int, int], LogRecord] = {}
    for record in records:
        key = (record.tablet_id, record.sequence)
        if record.tablet_id not in gone and (key not in newest or newest[key].generation <= record.generation):
            newest[key] = record
    pairs: dict[bytes, bytes] = {}
    sequence = clock_millis = 0
    for record in newest.values():
        tablet = known.get(record.tablet_id)
        if tablet is not None and record.sequence < first_needed(tablet):
            continue
        for cell, value in record.pairs:
            if record.sequence > held.get((record.tablet_id, family_of(cell)), 0):
                pairs[cell] = value
                sequence = max(sequence, record.sequence)
                clock_millis = max(clock_millis, record.clock_millis)
    return sorted(pairs.items()), sequence, clock_millis


def first_unflushed(tablet_id: int, record: TabletRecord | None, families: Collection[bytes], held: Floors) -> int:
    """The first sequence of a tablet that some file of it may lack."""
    in_files = min((held.get((tablet_id, family), 0) for family in families), default=0)
    return max(in_files + 1, first_needed(record) if record is not None else 1)


def family_of(key: bytes) -> bytes:
    start = key.index(TERMINATOR) + 2
    return key[start : key.index(b"\x00", start)]


@switches
def flush(
    writer: RepairWriter, schema: TableSchema, table: bytes, tablet: RebuiltTablet, table_id: int, generation: int,
    pairs: Iterable[Pair], clock_millis: int, complete_to: int,
) -> list[SSTableFound]:  # fmt: skip
    """The pairs of a tablet's rows as SSTables, one for each stack. Families that the schema lacks are left out."""
    layout = LocalityGroupLayout(schema)
    places = {family: key for key in layout.keys for family in families_of_key(key)}
    by_stack: dict[str, list[Pair]] = {}
    for pair in pairs:
        key = places.get(family_of(pair[0]))
        if key is not None and tablet.rows.holds(row_of(pair[0])):
            by_stack.setdefault(key, []).append(pair)
    origin = Origin(tablet.rows.start, tablet.rows.stop, complete_to, table)
    made = []
    for key in sorted(by_stack):
        identity = SSTableIdentity(table_id, tablet.tablet_id, key, generation, (), clock_millis, origin)
        made.append(writer.sstable(by_stack[key], layout.sstable_options(key), identity))
    return made


def first_needed(record: TabletRecord) -> int:
    """The least redo point of its logs; of a log without a name the floor of all."""
    named = [log.first_needed for log in record.logs if log.incarnation != NO_LOG]
    floor = max([log.first_needed for log in record.logs if log.incarnation == NO_LOG], default=0)
    return max(min(named, default=floor), floor)


def no_log(sequence: int) -> tuple[LogRef, ...]:
    return (LogRef(NO_LOG, sequence + 1),)
