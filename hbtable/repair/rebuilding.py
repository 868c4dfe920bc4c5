"""A table's tablets from its SSTables' identities, when METADATA does not tell, or cannot be trusted. Pure.

Rows are cut at every boundary that a record or a file speaks of. In each piece a file counts if its tablet covered the
piece, unless a file that covered it too was made from it: after a split one child may have compacted away what the
other still needs. What a regrouping made of it counts when all of it is there. Pieces of one tablet are put together
again where their files allow it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

from hbtable.model.range_delete import RangeDelete, with_ranges
from hbtable.model.ranges import EVERY_ROW, RowRange
from hbtable.model.tablet import GoneTablet, TabletRecord
from hbtable.repair.evidence import SSTableFound
from hbtable.repair.regroupings import EVERY_FAMILY, families_of, take_the_place


@dataclass(frozen=True, slots=True)
class Span:
    """A tablet as a file or a record has it."""

    rows: RowRange
    tablet_id: int
    generation: int
    knows_rows: bool = True
    """False of a file of an older hbtable, whose tablet no record tells of: `rows` are all then."""

    def is_before(self, other: "Span") -> bool:
        """Whether the other one came of this, by splits and merges. Both have a row in common, which never has two
        tablets at once. A merged tablet's generation is above those of both sides; a split's children keep their
        parent's, and have a part of its rows. Ids tell nothing: each server and the master give them out of a range
        of their own."""
        if self.tablet_id == other.tablet_id:
            return False
        if self.generation != other.generation:
            return self.generation < other.generation
        return self.knows_rows and self.rows != other.rows and covers(self.rows, other.rows)


def span_of(record: TabletRecord | GoneTablet) -> Span:
    """The generation of a tablet that is gone is that of the merged one, which is above its own."""
    generation = record.generation - 1 if isinstance(record, GoneTablet) else record.generation
    return Span(record.range, record.tablet_id, generation)


@dataclass(frozen=True, slots=True)
class RebuiltTablet:
    """A tablet made of what files say. `tablet_id` 0: it needs a new one."""

    rows: RowRange
    tablet_id: int
    files: tuple[SSTableFound, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    rows: RowRange
    tablet_id: int
    files: frozenset[str]
    replaced: frozenset[str]


def rows_of(file: SSTableFound, spans: Collection[Span]) -> RowRange:
    """The rows of the tablet that wrote it. Files of an older hbtable do not say it: as a record says; else all."""
    assert file.properties is not None
    identity = file.properties.identity
    if identity.origin is not None:
        return RowRange(identity.origin.start, identity.origin.stop)
    return next((span.rows for span in spans if span.tablet_id == identity.tablet_id), EVERY_ROW)


def replaces(file: SSTableFound, path: str, record: TabletRecord) -> bool:
    """Whether the tablet of `record` needs `path` no more once it has `file`: that was made from it by the tablet
    itself, or by one that covered all of its rows. What the other half of a split made has other rows."""
    if file.damage or file.properties is None or path not in file.properties.identity.replaced:
        return False
    identity = file.properties.identity
    if identity.origin is None:
        return identity.tablet_id == record.tablet_id
    return covers(RowRange(identity.origin.start, identity.origin.stop), record.range)


def left_in(file: SSTableFound, deleted: Mapping[str, tuple[RangeDelete, ...]]) -> tuple[RangeDelete, ...]:
    """The ranges, of those deleted of SSTables by path, whose rows the file has nevertheless: a compaction that read
    its inputs before the delete could not be named any more, and may have left its output behind."""
    found = with_ranges(file.deleted, deleted.get(file.path, ()))
    if file.properties is None:
        return found
    identity = file.properties.identity
    passed_over = dict(zip(identity.replaced, identity.replaced_ranges, strict=False))
    for path in identity.replaced:
        done, ranges = passed_over.get(path, ()), deleted.get(path, ())
        if with_ranges(done, ranges) != done:
            found = with_ranges(found, ranges)
    return found


def all_covered(rows: Iterable[RowRange]) -> bool:
    """Whether they leave no row out."""
    stop = b""
    for one in sorted(rows):
        if one.start > stop:
            return False
        if not one.stop:
            return True
        stop = max(stop, one.stop)
    return False


def rebuilt(
    files: Sequence[SSTableFound],
    replacers: Iterable[SSTableFound],
    current: Sequence[TabletRecord],
    past: Sequence[Span],
    substitutes: Collection[str] = (),
    families: Collection[bytes] | None = EVERY_FAMILY,
) -> list[RebuiltTablet]:
    """`files`: the table's usable ones. `replacers`: those whose word counts on what they replaced, the trash included.
    `current`: tablets as METADATA has them, as far as it can be read; `past`: what is known of others.
    `substitutes`: files that take the place of damaged ones. `families`: those that the table has."""
    spans = [*map(span_of, current), *past]
    rows = {file.path: rows_of(file, spans) for file in files}
    made = [(rows_of(file, spans), file) for file in replacers if file.properties is not None]
    known = {span.tablet_id for span in spans}
    written = {
        file.path: Span(rows[file.path], *_who(file), _has_origin(file) or _who(file)[0] in known) for file in files
    }
    pieces = []
    for piece in _cut([*(span.rows for span in spans), *rows.values(), *(held for held, _ in made)]):
        here = [file for held, file in made if covers(held, piece)]
        present = {path for path, held in rows.items() if covers(held, piece)}
        there = {path: span for path, span in written.items() if path in present}
        here_now = [record for record in current if covers(record.range, piece)]
        outlived = _outlived(there, here_now, substitutes)
        named_before = {ref.path for one in here_now for _, refs in one.files for ref in refs}
        usable = {file.path: file for file in files if file.path in present - outlived}
        replaced, parts = _replaced(here, usable, named_before.union(substitutes), families)
        gone = replaced | outlived
        named = frozenset(present - gone - parts)
        pieces.append(_Piece(piece, _owner([*map(span_of, here_now), *there.values()]), named, gone))
    by_path = {file.path: file for file in files}
    return _joined(pieces, by_path)


def _replaced(
    made: Sequence[SSTableFound], usable: Mapping[str, SSTableFound], needed: Collection[str],
    families: Collection[bytes] | None,
) -> tuple[frozenset[str], frozenset[str]]:  # fmt: skip
    """(the paths that nobody needs beside `made`, those of parts of a regrouping that never ended).

    All that such a part was made from is among the `usable` files, and has all that is in it. What METADATA names
    (`needed`), or something was made from, is no part: its regrouping ended, though of some family there was nothing,
    or the file of that has been compacted further."""
    makers: dict[str, list[SSTableFound]] = {}
    for file in made:
        assert file.properties is not None
        for path in file.properties.identity.replaced:
            makers.setdefault(path, []).append(file)
    parts: set[str] = set()
    for path, of_it in makers.items():
        if path in usable and not take_the_place(of_it, families_of(usable[path]), families):
            parts.update(file.path for file in of_it if _may_be_left_over(file, usable))
    parts -= makers.keys() | set(needed)
    whole = (path for path, of_it in makers.items() if any(file.path not in parts for file in of_it))
    return frozenset(whole), frozenset(parts)


def _may_be_left_over(file: SSTableFound, usable: Mapping[str, SSTableFound]) -> bool:
    """Nothing that it was made from has been collected: METADATA may never have named it."""
    return file.properties is not None and all(path in usable for path in file.properties.identity.replaced)


def _outlived(
    written: Mapping[str, Span], current: Sequence[TabletRecord], substitutes: Collection[str]
) -> frozenset[str]:
    """Files of tablets that were split or merged, which the record of the tablet that came of it does not name: it
    named all of them once, so they were compacted away, perhaps in several steps of which the first left no trace.
    `written`: by path the tablets that wrote them; `current`: records; all of these have the same piece of rows."""
    if not current:
        return frozenset()
    now = _latest(map(span_of, current))
    named = {ref.path for one in current if span_of(one) == now for _, refs in one.files for ref in refs}
    return frozenset(
        path for path, span in written.items()
        if span.is_before(now) and path not in named and path not in substitutes
    )  # fmt: skip


def _latest(spans: Iterable[Span]) -> Span:
    """The last one of tablets that had the same rows one after the other."""
    return reduce(lambda one, other: other if one.is_before(other) else one, spans)


def _has_origin(file: SSTableFound) -> bool:
    return file.properties is not None and file.properties.identity.origin is not None


def _who(file: SSTableFound) -> tuple[int, int]:
    assert file.properties is not None
    return file.properties.identity.tablet_id, file.properties.identity.generation


def _cut(ranges: Iterable[RowRange]) -> list[RowRange]:
    """All rows, in pieces that no range cuts."""
    bounds = {b""}
    for rows in ranges:
        bounds |= {rows.start, rows.stop}
    return [RowRange(start, stop) for start, stop in pairwise([*sorted(bounds), b""])]


def covers(rows: RowRange, piece: RowRange) -> bool:
    """Whether every row of `piece` is one of `rows`."""
    return rows.start <= piece.start and (not rows.stop or (bool(piece.stop) and piece.stop <= rows.stop))


def _owner(spans: Sequence[Span]) -> int:
    """The last tablet of a piece, of all that had it. Files alone may tell of it: METADATA lost a split or merge."""
    return _latest(spans).tablet_id if spans else 0


def _joined(pieces: Sequence[_Piece], by_path: dict[str, SSTableFound]) -> list[RebuiltTablet]:
    found: list[RebuiltTablet] = []
    used: set[int] = set()
    at = 0
    while at < len(pieces):
        first = pieces[at]
        named, replaced = set(first.files), set(first.replaced)
        at += 1
        while at < len(pieces) and pieces[at].tablet_id == first.tablet_id:
            following = pieces[at]
            if (named & following.replaced) or (following.files & replaced):
                break  # what counts here was compacted away there
            named |= following.files
            replaced |= following.replaced
            at += 1
        tablet_id = first.tablet_id if first.tablet_id not in used else 0
        used.add(first.tablet_id)
        stop = pieces[at - 1].rows.stop
        files = tuple(by_path[path] for path in sorted(named))
        found.append(RebuiltTablet(RowRange(first.rows.start, stop), tablet_id, files))
    return found
