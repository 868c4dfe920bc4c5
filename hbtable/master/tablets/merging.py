"""The records of two neighbouring tablets at each step of their merge (paper, section 5.2: the master merges). Pure.

Both are at rest: nobody owns them and no log holds anything of them. The merged tablet has a new id, so that no record
in any log is taken for one of its own; it names the files of both, which lie inside its halves (merges.py looks); its
sequences and its generation go on above those of both. Sequences of the two sides overlap, which does no harm: they
order cells of one row, and the sides have no row in common.

    rest          L [a, m)                           R [m, b)
    marked        L merges into (b, M, gen of R)     R
    committed     L merges into ...                  M [a, b), absorbs m      R's row became M's
    retired       gone, generation of M              M [a, b), absorbs m
    done          gone, generation of M              M [a, b)

Nobody may own L from the mark on, nor M before it is done.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from hbtable.errors import InvalidRequest
from hbtable.master.tablets.assignment import describe
from hbtable.master.tablets.ownership import first_unflushed, released
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import NO_LOG, GoneTablet, LogRef, MergesInto, SSTableRef, TabletRecord

Files = tuple[tuple[str, tuple[SSTableRef, ...]], ...]


def neighbours(tablets: Sequence[TabletRecord], tablet_ids: Sequence[int]) -> list[TabletRecord]:
    """The tablets with these ids, ascending. `tablets`: the table's, ascending. InvalidRequest unless they are two or
    more, of this table, without a gap, and none is withheld."""
    places = {tablet.tablet_id: place for place, tablet in enumerate(tablets)}
    for tablet_id in tablet_ids:
        if tablet_id not in places:
            raise InvalidRequest(
                f"there is no tablet {tablet_id} in this table; it may have been split or merged: look again"
            )
    wanted = sorted({places[tablet_id] for tablet_id in tablet_ids})
    if len(wanted) != len(tablet_ids) or len(wanted) < 2:
        raise InvalidRequest("a merge needs at least two different tablets")
    for one, other in pairwise(wanted):
        if other != one + 1:
            raise InvalidRequest(
                f"{describe(tablets[one])} and {describe(tablets[other])} are not neighbours: a merged tablet would "
                "cover rows of those in between"
            )
    chosen = [tablets[place] for place in wanted]
    for tablet in chosen:
        if tablet.withheld_millis:
            raise InvalidRequest(
                f"{describe(tablet)} is withheld, and a withheld tablet is not merged: release it first"
            )
    return chosen


def is_at_rest(record: TabletRecord) -> bool:
    """Nobody owns it, all of it is in the SSTables that it names, and no split or merge of it is unfinished."""
    return (
        not record.owner
        and all(ref.incarnation == NO_LOG for ref in record.logs)
        and record.left is None
        and not record.is_merging()
        and not record.withheld_millis
    )


def marked(left: TabletRecord, right: TabletRecord, merged_id: int) -> TabletRecord:
    """The first new row of the left one."""
    return replace(left, merges_into=MergesInto(right.range.stop, merged_id, right.generation))


def merged(left: TabletRecord, right: TabletRecord, now: int) -> TabletRecord:
    """The record that the right tablet's row becomes: the commit of the merge. `left` is marked."""
    into = left.merges_into
    if into is None or left.range.stop != right.range.start:
        raise ValueError(f"tablets {left.tablet_id} and {right.tablet_id} are not about to be merged")
    return TabletRecord(
        left.table_id,
        into.tablet_id,
        RowRange(left.range.start, right.range.stop),
        # Later than both in any case: names of tablets are made of it.
        max(now, left.created_millis + 1, right.created_millis + 1),
        generation=generation_of_merged(left),
        files=_files_of_both(left.files, right.files),
        logs=(LogRef(NO_LOG, max(_first_free(left), _first_free(right))),),
        absorbs=left.range.stop,
    )


def generation_of_merged(left: TabletRecord) -> int:
    """`left` is marked. Every record of the left tablet has a smaller one, and every descendant of the merged tablet
    one that is not smaller."""
    assert left.merges_into is not None
    return max(left.generation, left.merges_into.right_generation) + 1


def gone(left: TabletRecord, now: int) -> GoneTablet:
    """`left` is marked, and the merge was committed."""
    return GoneTablet(left.table_id, left.tablet_id, left.range, generation_of_merged(left), now)


def undone(left: TabletRecord) -> TabletRecord:
    """The left tablet when the merge was not committed, and cannot be any more. In a new generation: the mark,
    should it come once more, finds another record."""
    return released(replace(left, merges_into=None))


def can_commit(left: TabletRecord, at_stop: TabletRecord | None) -> bool:
    """Whether a master of the past might still commit: the right tablet may be as it was when `left` was marked. Once
    it is not, it never is again: generations only grow."""
    assert left.merges_into is not None
    return (
        at_stop is not None
        and not at_stop.owner
        and not at_stop.is_merging()
        and at_stop.generation <= left.merges_into.right_generation
    )


def _files_of_both(left: Files, right: Files) -> Files:
    found: dict[str, list[SSTableRef]] = {}
    for group, refs in (*left, *right):
        found.setdefault(group, []).extend(refs)
    return tuple(
        (group, tuple(sorted(found[group], key=lambda ref: (ref.first_sequence, ref.path)))) for group in sorted(found)
    )


def _first_free(record: TabletRecord) -> int:
    """A sequence above all of the tablet's."""
    flushed = max((ref.last_sequence for _group, refs in record.files for ref in refs), default=0)
    return max(first_unflushed(record), flushed + 1)
