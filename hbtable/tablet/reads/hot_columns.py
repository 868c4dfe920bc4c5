"""Not reading the thousandth version of a column (a hot counter's memtable holds one per increment).

Pairs are read in lists. When a long list lies within one column and settles what can be seen of it, the sources are
sought anew behind the column. Settled means, newest first:
  * a column marker was met: whatever follows in the column is older, hence masked
  * a family marker is not older than the end of the list: it masks whatever follows. At the empty qualifier, where
    family markers sit, the first one masks all cells that follow it there, and no later marker masks more than it does
    (a row that is put and deleted again and again, as a lock is, leaves thousands)
  * or plain puts of as many different times as the read may return: those that follow are excess versions. (If a
    family marker or the family's time to live hides these, it hides what follows, too.) Not so where cells have a time
    to live of their own, markers of one exact version may hide some, or a time range may leave out the newest. The time
    of the list's first put does not count: a marker of that very version may have ended the list before
Nothing is settled where sequence decides (NEW_VERSION_BEHAVIOR), or where a marker may not count (KEEP_DELETED_CELLS),
or what is masked is shown (raw reads).
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from hbtable.encoding.cell_key import SUFFIX_BYTES, TERMINATOR, Pair
from hbtable.merge.rules import FamilyRules
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_FAMILY_VERSION, PUT
from hbtable.switches import switches
from hbtable.tablet.reads.column_selection import ColumnSelection

_LONG: Final = 64
"""Seeking anew costs as much as reading a hundred pairs or so."""
_LONGEST: Final = 512

Open = Callable[[bytes, bytes], Iterator[Pair]]
"""The pairs from one key on, up to another."""

Seek = Callable[[list[Pair]], bytes | None]
"""The key at which to read on behind a long list, None: at the next one."""

Take = Callable[[Iterator[Pair], int], list[Pair]]
"""The next pairs, at most so many; none when they have ended."""


@switches
def skipping_settled(
    pairs: Iterator[Pair],
    open_pairs: Open,
    stop: bytes,
    selection: ColumnSelection,
    size: int,
    take: Take,
    seek: Seek | None = None,
) -> Iterator[list[Pair]]:
    """The `pairs`, which `open_pairs` gave up to `stop`, in lists. The first list has `size` pairs, later ones grow up
    to 512. Most pairs that no read can see are left out; with `seek` also those that this read does not ask for. `take`
    makes the lists (tablet.portions)."""
    first = size
    while chunk := take(pairs, size):
        yield chunk
        target = seek(chunk) if seek is not None else None
        if target is not None:
            if stop and target >= stop:
                return
            pairs, size = open_pairs(target, stop), first
            continue
        if len(chunk) >= _LONG:
            pairs = behind(chunk, pairs, open_pairs, stop, selection)
        if size < _LONGEST:
            size *= 2


@switches
def behind(
    chunk: list[Pair], pairs: Iterator[Pair], open_pairs: Open, stop: bytes, selection: ColumnSelection
) -> Iterator[Pair]:
    """The pairs to read after `chunk`: the rest of `pairs`, or those that begin behind the column of the chunk."""
    column = chunk[0][0][:-SUFFIX_BYTES]
    if chunk[-1][0].startswith(column) and _is_settled(chunk, column, open_pairs, selection):
        return open_pairs(column[:-1] + b"\x02", stop)
    return pairs


@switches
def _is_settled(chunk: list[Pair], column: bytes, open_pairs: Open, selection: ColumnSelection) -> bool:
    family_start = column.index(TERMINATOR) + 2
    family_end = column.index(b"\x00", family_start)
    rule: FamilyRules | None = selection.rules.get(column[family_start:family_end])
    if rule is None:
        return True  # the schema has no such family any more
    if selection.spec.raw or column[family_start:family_end] in selection.markers_before:
        return False
    if rule.new_version_behavior or chunk[-1][0][:-SUFFIX_BYTES] != column:
        return False
    kinds = {key[-10] for key, _ in chunk}
    if len(column) == family_end + 3:
        return DELETE_FAMILY in kinds  # whatever else is there: older family markers may follow
    if DELETE_COLUMN in kinds:
        return True
    family = column[: family_end + 1]
    is_plain = kinds == {PUT} and not selection.timed and not any(key[-1] for key, _ in chunk)
    times = {key[-18:-10] for key, _ in chunk}
    is_enough = is_plain and len(times) > min(rule.max_versions, selection.max_versions)
    markers = open_pairs(family + TERMINATOR, family + b"\x00\x02")
    newest, masks_exactly = _family_marker(markers if is_enough else islice(markers, _LONGEST))
    if newest is not None and chunk[-1][0][-18:-10] >= newest:  # times stand inverted in keys
        return True
    return is_enough and not masks_exactly


@switches
def _family_marker(pairs: Iterator[Pair]) -> tuple[bytes | None, bool]:
    """The time of the newest family marker, inverted as in keys, None without one; and whether markers of one exact
    version are newer. Those that are older mask nothing that it does not. `pairs`: of the empty qualifier."""
    masks_exactly = False
    for key, _ in pairs:
        if key[-10] == DELETE_FAMILY:
            return key[-18:-10], masks_exactly
        if key[-10] == DELETE_FAMILY_VERSION:
            masks_exactly = True
    return None, masks_exactly
