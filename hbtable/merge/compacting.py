"""Chooses the cells that a compaction writes (paper, section 5.4; HBase's rules, docs/contract.md: data model).

Promise: whatever is compacted when, and however often, reads answer the same, with two exceptions that HBase has, too.
  1. A compaction that drops a marker unmasks puts of an older timestamp that are written later.
  2. Excess versions (more than the family keeps, not counting masked ones) may be gone. What would have uncovered
     them finds nothing: a read whose upper time bound hides the newer versions; a marker of one exact version, or a
     put of one exact timestamp with a time to live, written later or lying in a file that was not read; more versions
     that the family is told to keep. They do not find what an excess version had replaced: see `older_until`.

Hence, unless every older file is read (`drop_markers`):
  * markers stay, since older files may hold what they mask; what they mask here can go;
  * a put that has outlived its own time to live stays as a key without payload: an older put of the same column and
    timestamp may lie in an older file, and must not come back;
  * a put whose time an older file may hold, too (`older_until`), stays though it is in excess, or deleted in a family
    that keeps what is deleted: an older put of the same column and timestamp would take its place in the reads of 2.
    Puts of the server's time are later. (Times that clients set in the future do not count: see older_until() in
    tablet/compactions/outputs.py.)
A put in excess goes only when enough newer ones that live for ever cover it (when every older file is read: ones that
live at least as long as it): others would uncover it when they expire. Families without rules are gone from the schema:
nothing of them is written. Families that keep what is deleted: merge.keeping_deleted.
"""

from collections.abc import Iterable, Iterator

from hbtable.encoding.cell_key import INVERT, KNOWN_FLAGS, TERMINATOR, Pair, check_known
from hbtable.merge.keeping_deleted import Covers, KeptDeleted
from hbtable.merge.markers import Markers
from hbtable.merge.rules import FamilyRules, Rules
from hbtable.merge.tally import UNREAD, Tally
from hbtable.model.mutation import PUT
from hbtable.switches import switches


@switches
def compacted(  # noqa: C901 -- one pass over every pair of a compaction, no calls per plain put
    pairs: Iterable[Pair], rules: Rules, now_millis: int, drop_markers: bool, tally: Tally = UNREAD,
    earliest_put: int = 0, older_until: int = -1,
) -> Iterator[Pair]:  # fmt: skip
    """The pairs to be kept, keys strictly ascending. `pairs` are whole rows of whole families, ascending, equals
    allowed. With `drop_markers` the caller promises that every older pair of these families is among them; then no
    marker, nothing masked, and no expired put remains, but of families that keep these. No put has a time before
    `earliest_put`; no older one of these families that is not among them has a time after `older_until` (-1: there is
    none), but for times of the future. UnsupportedFormat for a cell of a later version."""
    from_bytes = int.from_bytes
    family = column = b"\x00\x00"  # no key begins so
    rule: FamilyRules | None = None
    marks: Markers | None = None
    kept: KeptDeleted | None = None
    covers, last_head = Covers(), b""
    for pair in pairs:
        key = pair[0]
        head = key[:-9]  # up to and including the kind: equal but for the sequence
        if head == last_head:
            continue
        last_head = head
        if key[:-18] != column:
            column = key[:-18]
            if not column.startswith(family):
                family = key[: key.index(b"\x00", key.index(TERMINATOR) + 2) + 1]
                rule = rules.get(family[family.index(TERMINATOR) + 2 : -1])
                marks = None
                kept = KeptDeleted(rule, now_millis, earliest_put) if rule is not None and rule.keep_deleted else None
            elif marks is not None and not marks.end_column():
                marks = None
            if kept is not None:
                kept.end_column()
            covers = Covers()
        if rule is None:
            continue
        timestamp = INVERT - from_bytes(key[-18:-10])
        if key[-10] != PUT:
            if kept is not None and not kept.deletes(timestamp):
                if not (kept.is_idle(key[-10], timestamp, INVERT - from_bytes(key[-9:-1])) and drop_markers):
                    yield pair
                continue
            if marks is None:
                marks = Markers(rule.new_version_behavior)
            marks.add(key[-10], timestamp, INVERT - from_bytes(key[-9:-1]))
            if not drop_markers:
                yield pair
            continue
        flags = key[-1]
        if flags > KNOWN_FLAGS:
            check_known(key)  # before anything is dropped: what the cell means is unknown
        if marks is not None and marks.hides(timestamp, INVERT - from_bytes(key[-9:-1])):
            if kept is not None and timestamp <= older_until:
                yield pair  # a read up to a time counts no later marker
            else:
                tally.dead += 1
            continue
        expiry = -1
        if flags:
            expiry = timestamp + from_bytes(pair[1][:8])
            if now_millis > expiry:
                if not drop_markers:
                    yield key, pair[1][:8]
                continue
        keep = rule.max_versions
        if rule.ttl_millis and now_millis - timestamp > rule.ttl_millis:
            keep = min(keep, rule.min_versions)
        # A mortal cover is not enough when an older put of this timestamp may lie in an older file, without an end.
        if (
            covers.forever >= keep or (drop_markers and expiry >= 0 and covers.outlive(expiry, keep))
        ) and timestamp > older_until:
            sequence = INVERT - from_bytes(key[-9:-1])
            if kept is None or not kept.is_needed(timestamp, sequence, expiry, keep, drop_markers):
                continue
        if expiry < 0:
            covers.forever += 1
        else:
            covers.add_mortal(expiry)
        if kept is not None:
            kept.keep(timestamp, INVERT - from_bytes(key[-9:-1]), expiry)
        yield pair
