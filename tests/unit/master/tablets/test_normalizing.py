"""Which tablets should be merged or split, by their sizes and ages; then properties of the plans for any table."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hbtable.master.tablets.normalizing import NormalizerOptions, PlannedMerge, PlannedSplit, may_have_plans, plans
from hbtable.model.ranges import RowRange
from hbtable.model.schema import TableSchema
from hbtable.model.tablet import NO_LOG, LogRef, MergesInto, SSTableRef, TabletRecord

MIB = 1 << 20
DAY = 86_400_000
NOW = 1_000 * DAY
OPTIONS = NormalizerOptions()
FILES = (("f", (SSTableRef("a", 100, 7, 1, 5, 3),)),)
UNSAID = TableSchema(b"t")


def saying(**attributes: object) -> TableSchema:
    return TableSchema(b"t", attributes=tuple(sorted((name, str(value)) for name, value in attributes.items())))


WANTED = saying(NORMALIZATION_ENABLED="true")


def tablets(count: int, age: int = 10 * DAY) -> list[TabletRecord]:
    """Each was flushed once, and holds nothing that its record would tell of."""
    bounds = [b"", *(b"%03d" % number for number in range(1, count)), b""]
    return [
        TabletRecord(16, 20 + place, RowRange(start, stop), NOW - age, "s", 3, (), (LogRef("s", 9),))
        for place, (start, stop) in enumerate(pairwise(bounds))
    ]


def merges(schema, found, sizes, options=OPTIONS, **more):
    """The places of each run."""
    sized = {tablet.tablet_id: size for tablet, size in zip(found, sizes, strict=True) if size is not None}
    chosen = plans(schema, found, sized, options, NOW, **more)
    assert may_have_plans(schema, found, options, NOW) or not chosen
    return [[one.tablet_id - 20 for one in plan.tablets] for plan in chosen if isinstance(plan, PlannedMerge)]


def splits(schema, found, sizes):
    sized = {tablet.tablet_id: size for tablet, size in zip(found, sizes, strict=True)}
    return [
        one.tablet.tablet_id - 20 for one in plans(schema, found, sized, OPTIONS, NOW) if isinstance(one, PlannedSplit)
    ]


def test_emptied_neighbours_become_one():
    assert merges(UNSAID, tablets(57), [0] * 57) == [list(range(57))]


def test_a_hundred_at_most_at_once():
    assert [len(run) for run in merges(UNSAID, tablets(250), [0] * 250)] == [100, 100, 50]


def test_neighbours_together_below_the_average():
    assert merges(UNSAID, tablets(5), [10, 10, 10, 100, 100]) == [[0, 1, 2]]
    assert merges(UNSAID, tablets(5), [30, 30, 30, 30, 30]) == []


def test_an_empty_one_goes_along_with_any_neighbour():
    assert merges(UNSAID, tablets(4), [0, 500, 0, 500]) == [[0, 1, 2]]
    assert merges(UNSAID, tablets(4), [500, 0, 500, 500]) == [[0, 1]]


def test_a_table_of_few_tablets_stays():
    assert merges(UNSAID, tablets(2), [0, 0]) == []
    assert merges(UNSAID, tablets(2), [0, 0], NormalizerOptions(min_tablets=2)) == [[0, 1]]


def test_merges_that_are_switched_off():
    assert merges(UNSAID, tablets(3), [0, 0, 0], merges_on=False) == []


@pytest.mark.parametrize(
    "schema",
    [
        saying(NORMALIZATION_ENABLED="false"),
        saying(NORMALIZATION_ENABLED="no"),
        saying(MERGE_ENABLED="false"),
        saying(NORMALIZATION_ENABLED="TRUE", MERGE_ENABLED="False"),
    ],
)
def test_a_table_that_wants_none(schema):
    assert merges(schema, tablets(5), [0] * 5) == []


def test_tablets_wait_until_they_are_old_enough():
    """Emptied ones for an hour, others for three days."""
    assert merges(UNSAID, tablets(3, age=DAY // 48), [0, 0, 0]) == []
    assert merges(UNSAID, tablets(3, age=DAY // 20), [0, 0, 0]) == [[0, 1, 2]]
    assert merges(UNSAID, tablets(3, age=2 * DAY), [1, 1, 100]) == []
    assert merges(UNSAID, tablets(3, age=4 * DAY), [1, 1, 100]) == [[0, 1]]


def test_tablets_that_were_never_written_to_wait_for_their_rows_unless_the_table_asks():
    made = [replace(tablet, logs=(LogRef("s", 1),)) for tablet in tablets(4)]
    assert merges(UNSAID, made, [0] * 4) == []
    assert merges(WANTED, made, [0] * 4) == [[0, 1, 2, 3]]
    young = [replace(tablet, created_millis=NOW - 2 * DAY) for tablet in made]
    assert merges(WANTED, young, [0] * 4) == [], "nothing was emptied, so these are not old enough"
    given_back = [replace(tablet, logs=(LogRef(NO_LOG, 1),)) for tablet in made]
    assert merges(UNSAID, given_back, [0] * 4) == []
    assert merges(UNSAID, [replace(tablet, logs=(), files=FILES) for tablet in made], [0] * 4) == [[0, 1, 2, 3]]


def test_less_than_a_mib_counts_as_nothing_where_the_table_asks():
    small = [MIB - 1] * 4
    assert merges(WANTED, tablets(4), small) == [[0, 1, 2, 3]]
    assert merges(UNSAID, tablets(4), small) == []


def test_what_is_half_way_or_withheld_or_not_told_of_parts_a_run():
    found = tablets(7)
    found[1] = replace(found[1], left=found[0])
    found[3] = replace(found[3], withheld_millis=5)
    found[5] = replace(found[5], merges_into=MergesInto(b"x", 99, 1))
    assert merges(UNSAID, found, [0] * 7) == []
    assert merges(UNSAID, tablets(5), [0, 0, None, 0, 0]) == [[0, 1], [3, 4]]


def test_a_hole_parts_a_run():
    found = tablets(5)
    del found[2]
    assert merges(UNSAID, found, [0] * 4) == [[0, 1], [3, 4]]


def test_a_target_count_is_what_stays():
    assert merges(saying(NORMALIZER_TARGET_REGION_COUNT=4), tablets(10), [0] * 10) == [[0, 1, 2, 3, 4, 5, 6]]
    assert merges(saying(NORMALIZER_TARGET_REGION_COUNT=12), tablets(10), [0] * 10) == []
    assert merges(saying(NORMALIZER_TARGET_REGION_COUNT="x"), tablets(3), [0] * 3) == [[0, 1, 2]]


def test_a_target_size_takes_the_place_of_the_average():
    schema = saying(NORMALIZER_TARGET_REGION_SIZE_MB=4)
    assert merges(schema, tablets(5), [2 * MIB] * 5) == [[0, 1], [2, 3]]


def test_what_would_be_split_again_is_not_merged():
    schema = saying(NORMALIZER_TARGET_REGION_SIZE_MB=1000)
    assert merges(schema, tablets(4), [100 * MIB] * 4) == []
    assert merges(replace(schema, split_bytes=1000 * MIB), tablets(4), [100 * MIB] * 4) == [[0, 1, 2, 3]]
    assert merges(schema, tablets(4), [10 * MIB] * 4, replace(OPTIONS, split_bytes=40 * MIB)) == [[0, 1], [2, 3]]


def test_large_tablets_split_only_where_the_table_asks():
    sizes = [MIB, MIB, 20 * MIB, MIB]
    assert splits(UNSAID, tablets(4), sizes) == []
    assert splits(WANTED, tablets(4), sizes) == [2]
    assert splits(saying(NORMALIZATION_ENABLED="true", MERGE_ENABLED="false"), tablets(4), sizes) == [2]
    assert splits(saying(NORMALIZATION_ENABLED="true", SPLIT_ENABLED="false"), tablets(4), sizes) == []
    assert splits(WANTED, tablets(3), [0, 0, 2 * MIB - 1]) == [], "halves that count as nothing would be merged"


sized = st.lists(st.sampled_from([None, 0, 0, 1, 5, 100, 3 * MIB, 90 * MIB, 200 * MIB]), min_size=1, max_size=30)
schemas = st.builds(
    lambda wanted, attribute, value, split: replace(
        saying(**({"NORMALIZATION_ENABLED": wanted} if wanted else {}), **({attribute: value} if attribute else {})),
        split_bytes=split,
    ),
    st.sampled_from(["", "true", "false"]),
    st.sampled_from(["", "NORMALIZER_TARGET_REGION_COUNT", "NORMALIZER_TARGET_REGION_SIZE_MB"]),
    st.integers(0, 300),
    st.sampled_from([0, 100, 64 * MIB]),
)


@given(sized, schemas, st.randoms(use_true_random=False))
def test_plans_touch_each_tablet_once_and_come_to_rest(sizes, schema, chance):
    """Carried out again and again, with any ages: merges end, and none makes a tablet that splits by its size."""
    found = [replace(one, created_millis=NOW - chance.randrange(6) * DAY) for one in tablets(len(sizes))]
    known = {one.tablet_id: size for one, size in zip(found, sizes, strict=True) if size is not None}
    limit = schema.split_bytes or 256 * MIB
    least = max(1, int(dict(schema.attributes).get("NORMALIZER_TARGET_REGION_COUNT", 0)))
    before = len(found)
    for _ in range(len(sizes)):
        chosen = [plan for plan in plans(schema, found, known, OPTIONS, NOW) if isinstance(plan, PlannedMerge)]
        touched = [one.tablet_id for plan in chosen for one in plan.tablets]
        assert len(touched) == len(set(touched))
        if not chosen:
            break
        for plan in chosen:
            ids = [one.tablet_id for one in plan.tablets]
            place = found.index(plan.tablets[0])
            assert tuple(found[place : place + len(ids)]) == plan.tablets, "neighbours"
            held = [known[tablet_id] for tablet_id in ids]
            big = [size for size in held if size >= MIB or (size and "true" not in str(schema.attributes))]
            assert sum(big) <= limit / 2 or len(big) == 1
            first, last = plan.tablets[0], plan.tablets[-1]
            merged = replace(first, range=RowRange(first.range.start, last.range.stop))
            found[place : place + len(ids)] = [merged]
            known[merged.tablet_id] = sum(held)
    else:
        pytest.fail("merges go on for ever")
    assert len(found) >= min(least, before)
