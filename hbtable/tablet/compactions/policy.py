"""Chooses the SSTables to merge (paper, section 5.4: "we bound the number of such files"). Pure: facts in, a plan out.

Rules, first that fits, per stack:
  1. too many files: merge the cheapest run of neighbours
  2. files of similar size: merge a run in which no file is larger than all newer ones of it together (size-tiered: each
     byte is rewritten about once per factor of `merge_files` in size)
  3. a large share of delete markers, and of what they mask: a major compaction, so that deleted data goes away in
     time; of the whole tablet when files of another grouping may hold what the markers mask, because they could not be
     dropped otherwise, and the same file would be rewritten for ever
  4. reads came across so many deleted cells that they were dearer than such a compaction
  5. a file shared with a split's other child, mostly useless here: rewrite it
  6. a file shared with a split's other child, in a tablet that is larger than it may be: rewrite it, because the tablet
     does not split before
  7. a file of which so many ranges were deleted that no more may be soon: rewrite it
Runs are neighbours in age. Nothing here decides whether markers may be dropped: the compaction looks at what it reads.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hbtable.tablet.compactions.garbage import Masking, masked_cells
from hbtable.tablet.layout import shown_key
from hbtable.tablet.options import TabletOptions

_SIMILAR: Final = 1.2
_MANY_CELLS: Final = 1000
_MARKER_SHARE: Final = 4

_MANY_MARKERS: Final = 5000
"""In memory. Fewer: a scan of what a queue has delivered is cheaper, and there are more small files."""

_FLUSHED_SHARE: Final = 8

_DEAD_OF_A_FILE: Final = 100_000
_DEAD_PER_CELL: Final = 4
"""A compaction is worth its work once reads have stepped over so many deleted cells: for the file, and for each cell
that it reads. Then all the stepping over costs about as much as all the compactions, however the two come together."""


class FileFacts(NamedTuple):
    """One SSTable, as far as it belongs to the tablet."""

    path: str
    useful_bytes: int
    length_bytes: int
    cells: int
    markers: int
    family_markers: int = 0
    rows: int = 0
    masked: int = 0
    is_shared: bool = False
    """With a split's other child."""
    is_full_of_ranges: bool = False
    """Many ranges of its rows were deleted (model.range_delete)."""

    def is_mostly_useless(self) -> bool:
        return self.useful_bytes * 2 < self.length_bytes


class StackFacts(NamedTuple):
    """The SSTables of one stack, oldest first."""

    key: str
    files: Sequence[FileFacts]
    shares_families: bool = False
    """Another stack, of another grouping, may hold cells of the same families."""
    dead_met: int = 0
    """Deleted cells that reads of the tablet came across since its last compaction."""


class MemtableFacts(NamedTuple):
    """The facts about all memtables of a tablet."""

    cells: int
    markers: int
    dead_met: int
    """Deleted and expired cells that reads of the tablet came across since its last flush."""
    may_expire: bool = False
    """Of some family: what reads came across may have expired here, without any marker."""


class MergePlan(NamedTuple):
    """The files to merge. `str()` of it is a message."""

    key: str
    paths: tuple[str, ...]
    why: str
    regroups: bool = False
    """All files of the tablet are rewritten by the present grouping of the families, these among them."""

    def __str__(self) -> str:
        if self.regroups:
            return f"regroup all SSTables, because of {shown_key(self.key)!r}: {self.why}"
        return f"merge {len(self.paths)} SSTables of {shown_key(self.key)!r}: {self.why}"


def plan_merge(stacks: Sequence[StackFacts], options: TabletOptions, too_large: bool = False) -> MergePlan | None:
    """The most urgent merge, None when nothing is worth it. `too_large`: the tablet should split."""
    plans = [plan for stack in stacks if (plan := _plan_stack(stack, options, too_large)) is not None]
    return max(plans, key=lambda plan: len(plan.paths), default=None)


def plan_major(stack: StackFacts, waited_millis: int) -> MergePlan:
    """All of a stack, because of its age."""
    why = f"its oldest change waits since {waited_millis // 1000} s"
    return _plan(stack.key, stack.files, why)._replace(regroups=stack.shares_families)


def _plan_stack(stack: StackFacts, options: TabletOptions, too_large: bool) -> MergePlan | None:
    key, files, shares_families, dead_met = stack
    if len(files) > options.max_files:
        excess = max(options.merge_files, len(files) - options.max_files + 1)
        run = _cheapest_run(files, excess)
        return _plan(key, run, f"{len(files)} are more than {options.max_files}")
    run = _similar_run(files, options)
    if run:
        return _plan(key, run, f"{len(run)} are of similar size")
    cells = sum(file.cells for file in files)
    markers = sum(file.markers for file in files)
    masked = masked_cells([Masking(*file[3:8]) for file in files]) if markers else 0
    if cells >= _MANY_CELLS and (markers + masked) * _MARKER_SHARE >= cells:
        why = f"{markers} of {cells} cells are delete markers, which mask about {masked}"
        return _plan(key, files, why)._replace(regroups=shares_families)
    if markers and dead_met >= _worth(cells):
        return _plan(key, files, f"reads met {dead_met} deleted cells")._replace(regroups=shares_families)
    for file in files:
        if file.is_mostly_useless():
            why = f"only {file.useful_bytes} of its {file.length_bytes} bytes belong to this tablet"
            return _plan(key, [file], why)
        if file.is_full_of_ranges:
            return _plan(key, [file], "many ranges of its rows were deleted")
        if too_large and file.is_shared:
            return _plan(key, [file], "a split's other child shares it, and this tablet should split again")
    return None


def why_flush(facts: MemtableFacts) -> str:
    """A flush leaves what is masked behind, and lets a compaction come to the markers. "": it is not worth it."""
    is_marked = facts.markers * _FLUSHED_SHARE >= facts.cells
    if is_marked and facts.markers >= _MANY_MARKERS:
        return f"its memtable holds {facts.markers} delete markers"
    if facts.cells and (is_marked or facts.may_expire) and facts.dead_met >= _worth(facts.cells):
        return f"reads met {facts.dead_met} deleted cells"
    return ""


def _worth(cells: int) -> int:
    return _DEAD_OF_A_FILE + _DEAD_PER_CELL * cells


def _similar_run(files: Sequence[FileFacts], options: TabletOptions) -> Sequence[FileFacts]:
    """The longest run up to the newest file whose oldest is not much larger than the rest together."""
    for first in range(len(files) - options.merge_files + 1):
        run = files[first : first + options.max_files]
        sizes = [file.useful_bytes for file in run]
        if sizes[0] <= _SIMILAR * sum(sizes[1:]) and sum(sizes) <= options.merge_bytes:
            return run
    return ()


def _cheapest_run(files: Sequence[FileFacts], count: int) -> Sequence[FileFacts]:
    runs = [files[first : first + count] for first in range(len(files) - count + 1)]
    return min(runs, key=lambda run: sum(file.useful_bytes for file in run))


def _plan(key: str, files: Sequence[FileFacts], why: str) -> MergePlan:
    return MergePlan(key, tuple(file.path for file in files), why)
