"""The pure decisions: which files to merge, where to split, how a reversed scan goes in chunks."""

import pytest

from hbtable.encoding.cell_key import cell_key, range_key, row_of, row_prefix
from hbtable.merge.visibility import TakePart
from hbtable.model.cell import Row
from hbtable.model.mutation import PUT
from hbtable.model.ranges import RowRange
from hbtable.model.read import ScanRequest
from hbtable.tablet.compactions.policy import FileFacts, StackFacts, plan_merge
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.reads.page import PageBuilder
from hbtable.tablet.reads.reverse import descending
from hbtable.tablet.splitting import SplitCandidate, choose_row, middle_row

OPTIONS = TabletOptions(merge_files=3, max_files=6, merge_bytes=10_000)


def files(*sizes: int) -> list[FileFacts]:
    return [FileFacts(f"f{place}", size, size, 10, 0) for place, size in enumerate(sizes)]


def stack(*sizes: int) -> list[StackFacts]:
    return [StackFacts("s", files(*sizes))]


def merged(*sizes: int) -> tuple[str, ...]:
    plan = plan_merge(stack(*sizes), OPTIONS)
    return plan.paths if plan is not None else ()


@pytest.mark.parametrize(
    ("sizes", "paths"),
    [
        ((), ()),
        ((10, 10), ()),
        ((10, 10, 10), ("f0", "f1", "f2")),
        ((1000, 10, 10), ()),
        ((1000, 10, 10, 10), ("f1", "f2", "f3")),
        ((9000, 9000, 9000), ()),
        ((5000, 500, 50, 5, 5), ()),
        ((1, 1, 1000, 100, 10, 1, 1), ("f4", "f5", "f6")),  # too many: of all runs of neighbours the cheapest
    ],
)
def test_which_files_are_merged(sizes: tuple[int, ...], paths: tuple[str, ...]) -> None:
    assert merged(*sizes) == paths


def test_merging_again_and_again_ends_with_few_files_and_writes_each_byte_few_times() -> None:
    sizes: list[int] = []
    written = 0
    for _ in range(500):
        sizes.append(10)
        while (plan := plan_merge(stack(*sizes), TabletOptions(merge_files=3, max_files=6))) is not None:
            places = sorted(int(path[1:]) for path in plan.paths)
            total = sum(sizes[place] for place in places)
            sizes[places[0] : places[-1] + 1] = [total]
            written += total
    assert len(sizes) <= 6
    assert written <= 500 * 10 * 8


def test_a_plan_is_a_message() -> None:
    assert str(plan_merge(stack(1, 1, 1), OPTIONS)) == "merge 3 SSTables of 's': 3 are of similar size"


def test_many_markers_call_for_a_major_compaction_of_the_stack() -> None:
    files = [FileFacts("a", 9, 9, 9_000, 0), FileFacts("b", 5, 5, 4_000, 3_900)]
    plan = plan_merge([StackFacts("s", files)], OPTIONS)
    assert plan is not None
    assert plan.paths == ("a", "b")
    assert not plan.regroups


def test_markers_that_mask_cells_of_an_earlier_grouping_call_for_a_regrouping() -> None:
    stacks = [
        StackFacts("f/g\x017", [FileFacts("a", 9, 9, 10_000, 5_000)], shares_families=True),
        StackFacts("f", [FileFacts("b", 9, 9, 10, 0)], shares_families=True),
    ]
    plan = plan_merge(stacks, OPTIONS)
    assert plan is not None
    assert plan.regroups
    assert (
        str(plan)
        == "regroup all SSTables, because of 'f/g': 5000 of 10000 cells are delete markers, which mask about 0"
    )


def test_a_file_that_belongs_mostly_to_the_other_child_is_rewritten() -> None:
    plan = plan_merge([StackFacts("s", [FileFacts("a", 10, 100, 10, 0)])], OPTIONS)
    assert plan is not None
    assert "only 10 of its 100 bytes" in plan.why


def candidate(row: bytes, weight: int = 1) -> SplitCandidate:
    return SplitCandidate(cell_key(row, b"f", b"", 1, PUT, 1), weight)


def test_the_split_row_is_the_weighted_median() -> None:
    candidates = [candidate(b"b", 1), candidate(b"m", 10), candidate(b"z", 1)]
    assert choose_row(candidates, RowRange(), b"a") == b"m"


@pytest.mark.parametrize("rows", [RowRange(b"m"), RowRange(b"", b"m"), RowRange(b"n", b"z")])
def test_the_split_row_lies_strictly_inside(rows: RowRange) -> None:
    assert choose_row([candidate(b"m")], rows, b"") is None


def test_no_split_before_the_first_row_that_holds_anything() -> None:
    assert choose_row([candidate(b"m")], RowRange(), b"m") is None


def test_the_middle_row_of_a_small_tablet() -> None:
    assert middle_row([(b"a", 1), (b"b", 1), (b"b", 1), (b"c", 1)]) == b"b"
    assert middle_row([(b"a", 100), (b"b", 1)]) == b"b"
    assert middle_row([(b"a", 1), (b"a", 1)]) is None
    assert middle_row([]) is None


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
@pytest.mark.parametrize(("start", "stop"), [(b"", b""), (b"b", b""), (b"", b"d"), (b"b", b"e"), (b"x", b"y")])
def test_chunks_of_a_reversed_scan_leave_no_row_out(chunk: int, start: bytes, stop: bytes) -> None:
    every = [b"a", b"b", b"b\x00", b"c", b"d", b"e"]
    keys = [cell_key(row, b"f", b"%d" % n, 1, PUT, 1) for row in every for n in range(3)]

    def hint(upper: bytes, cells: int) -> bytes | None:
        before = [key for key in keys if not upper or key < upper]
        return before[-min(chunk, len(before))] if before else None

    def between(lower: bytes, upper: bytes, _: TakePart) -> list[Row]:
        inside = {row_of(key) for key in keys if key >= lower and (not upper or key < upper)}
        return [(row, [(b"f:", 1, b"")]) for row in sorted(inside)]

    page = PageBuilder(ScanRequest(), None)
    found = [row for row, _ in descending(range_key(start), range_key(stop), hint, between, lambda _: False, page)]
    assert found == [row for row in reversed(every) if row >= start and (not stop or row < stop)]
    assert row_prefix(b"a") < row_prefix(b"b")
