"""A column with hundreds of versions reads as if all of them were looked at, and they are not."""

from collections.abc import Iterator
from itertools import chain

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from hbtable.encoding.cell_key import FLAG_TTL, Pair, cell_key
from hbtable.merge.visibility import rows
from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_FAMILY_VERSION, DELETE_VERSION, PUT
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.layout import LocalityGroupLayout
from hbtable.tablet.portions import Portions
from hbtable.tablet.reads.column_selection import ColumnSelection
from hbtable.tablet.reads.hot_columns import skipping_settled
from tests.harness.tablet_bench import Bench, delete, everything, put, values
from tests.harness.tiers import generated

NOW = 1000
KINDS = st.sampled_from([PUT, PUT, PUT, PUT, DELETE_COLUMN, DELETE_VERSION])
# kind, qualifier, newest time, how many, time between two, own time to live
RUN = st.tuples(
    KINDS,
    st.sampled_from([b"", b"q", b"q\x00", b"r"]),
    st.integers(500, 520),
    st.sampled_from([1, 2, 70, 150]),
    st.sampled_from([0, 1, 2]),
    st.sampled_from([0, 0, 0, 1, 10_000]),
)
FAMILY_RUN = st.tuples(
    st.sampled_from([DELETE_FAMILY, DELETE_FAMILY_VERSION]),
    st.just(b""),
    st.integers(300, 520),
    st.sampled_from([1, 2, 3, 80]),
    st.sampled_from([1, 2]),
    st.just(0),
)


def pairs_of(runs: list[tuple[int, bytes, int, int, int, int]]) -> list[Pair]:
    found: dict[bytes, bytes] = {}
    sequence = 0
    for kind, qualifier, newest, count, step, ttl in runs:
        for number in range(count):
            sequence += 1
            flags = FLAG_TTL if ttl and kind == PUT else 0
            value = ttl.to_bytes(8, "big") if flags else b"%d" % sequence
            found[cell_key(b"row", b"f", qualifier, newest - number * step, kind, sequence, flags)] = value
    return sorted(found.items())


def check(pairs: list[Pair], family: FamilySchema, spec: ReadSpec, size: int) -> None:
    selection = ColumnSelection(LocalityGroupLayout(TableSchema(b"t", {b"f": family})), spec, False)

    def open_pairs(start: bytes, stop: bytes) -> Iterator[Pair]:
        return iter([pair for pair in pairs if start <= pair[0] < stop])

    def seen(found: Iterator[Pair]) -> list[object]:
        times = (spec.min_timestamp, spec.max_timestamp)
        return list(rows([found], selection.rules, None, *times, spec.max_versions, NOW))

    stop = b"s"
    kept = chain.from_iterable(
        skipping_settled(open_pairs(b"", stop), open_pairs, stop, selection, size, Portions().take)
    )
    assert seen(kept) == seen(iter(pairs))


@settings(max_examples=generated(100), deadline=None)
@given(
    runs=st.lists(RUN | FAMILY_RUN, min_size=1, max_size=8),
    family=st.builds(
        FamilySchema,
        st.just(b"f"),
        max_versions=st.sampled_from([1, 3, 100]),
        min_versions=st.sampled_from([0, 2]),
        ttl_seconds=st.sampled_from([2**31 - 1, 0, 1]),
        new_version_behavior=st.booleans(),
    ),
    max_versions=st.sampled_from([1, 2, 80]),
    times=st.sampled_from([(0, MAX_TIMESTAMP), (0, 400), (450, MAX_TIMESTAMP)]),
    size=st.sampled_from([16, 64]),
)
def test_nothing_that_can_be_seen_is_left_out(
    runs: list[tuple[int, bytes, int, int, int, int]],
    family: FamilySchema,
    max_versions: int,
    times: tuple[int, int],
    size: int,
) -> None:
    check(pairs_of(runs), family, ReadSpec(None, *times, max_versions), size)


@pytest.mark.parametrize("size", [16, 64])
@pytest.mark.parametrize(
    ("runs", "new_version_behavior", "spec"),
    [
        # hundreds of one time are one version
        ([(PUT, b"q", 520, 500, 0, 0), (PUT, b"q", 510, 1, 0, 0)], False, ReadSpec(max_versions=2)),
        # newer than the marker, though of an older time
        ([(DELETE_COLUMN, b"q", 520, 1, 0, 0), (PUT, b"q", 519, 400, 1, 0)], True, ReadSpec(max_versions=100)),
        # the newest hundreds are masked one by one
        ([(DELETE_FAMILY_VERSION, b"", 2000, 900, 1, 0), (PUT, b"q", 2000, 1500, 1, 0)], False, ReadSpec()),
        ([(DELETE_VERSION, b"q", 900, 300, 1, 0), (PUT, b"q", 900, 500, 1, 0)], False, ReadSpec()),
        # a family marker behind hundreds of cells
        (
            [(PUT, b"", 900, 500, 1, 0), (DELETE_FAMILY, b"", 300, 1, 0, 0), (PUT, b"q", 300, 1, 0, 0)],
            False,
            ReadSpec(),
        ),
        # hundreds have expired, each by itself
        ([(PUT, b"q", 900, 500, 1, 1), (PUT, b"q", 300, 1, 0, 0)], False, ReadSpec()),
        # hundreds are too new
        ([(PUT, b"q", 900, 500, 1, 0), (PUT, b"r", 300, 1, 0, 0)], False, ReadSpec(max_timestamp=450)),
        # a family marker among hundreds of exact ones, and older cells than it masks
        (
            [
                (DELETE_FAMILY_VERSION, b"", 2000, 300, 1, 0),
                (DELETE_FAMILY, b"", 1500, 1, 0, 0),
                (PUT, b"q", 1700, 100, 1, 0),
                (PUT, b"q", 1500, 300, 1, 0),
            ],
            False,
            ReadSpec(max_versions=100),
        ),
        # the marker that sequence sets above hundreds of later times is not the newest
        (
            [
                (DELETE_FAMILY, b"", 900, 200, 1, 0),
                (PUT, b"q", 700, 300, 1, 0),
                (DELETE_FAMILY, b"", 650, 1, 0, 0),
            ],
            True,
            ReadSpec(max_versions=100),
        ),
        # what needs none of the above
        (
            [(DELETE_COLUMN, b"q", 900, 1, 0, 0), (PUT, b"q", 899, 500, 1, 0), (PUT, b"r", 1, 1, 0, 0)],
            False,
            ReadSpec(),
        ),
    ],
)
def test_what_must_not_be_passed_over(
    runs: list[tuple[int, bytes, int, int, int, int]], new_version_behavior: bool, spec: ReadSpec, size: int
) -> None:
    family = FamilySchema(b"f", max_versions=100, new_version_behavior=new_version_behavior)
    check(pairs_of(runs), family, spec, size)


@pytest.mark.parametrize("ttl", [0, 1], ids=["a marker", "a put that has expired"])
@pytest.mark.parametrize("size", [16, 64])
def test_what_masks_the_newest_of_a_list_may_end_the_list_before(size: int, ttl: int) -> None:
    """Lists have 16, 32, 64 pairs and so on: the last of those that mask nothing, one that masks, and what it masks."""
    family = FamilySchema(b"f", max_versions=1000)
    masking = PUT if ttl else DELETE_VERSION
    ends = {size - 1, 3 * size - 1, 7 * size - 1}
    for others in sorted({end + step for end in ends for step in (-1, 0, 1)}):
        runs = [(PUT, b"q", 900, 600, 1, 0), (masking, b"q", 900, 1, 1, ttl), (masking, b"q", 2000, others, 1, ttl)]
        for versions in (1, size, 2 * size, 4 * size, 8 * size):
            for most in (versions - 1, versions, versions + 1):
                check(pairs_of(runs), family, ReadSpec(max_versions=max(1, most)), size)


def test_most_versions_are_not_even_read() -> None:
    pairs = pairs_of([(PUT, b"q", 10_000, 5_000, 1, 0), (PUT, b"z", 1, 1, 1, 0)])
    selection = ColumnSelection(LocalityGroupLayout(TableSchema(b"t", {b"f": FamilySchema(b"f")})), ReadSpec(), False)

    def open_pairs(start: bytes, stop: bytes) -> Iterator[Pair]:
        return iter([pair for pair in pairs if start <= pair[0] < stop])

    kept = list(
        chain.from_iterable(skipping_settled(open_pairs(b"", b"s"), open_pairs, b"s", selection, 64, Portions().take))
    )
    assert len(kept) == 65
    assert kept[-1] == pairs[-1]


@pytest.mark.parametrize("spec", [ReadSpec(), ReadSpec(columns={b"f": frozenset((b"q",))}), ReadSpec(max_versions=100)])
@pytest.mark.parametrize("deleted", [b"f", b"f:q"])
@pytest.mark.parametrize("ends_with_put", [False, True])
def test_a_lock_that_was_often_held(bench: Bench, deleted: bytes, spec: ReadSpec, ends_with_put: bool) -> None:
    """What a read looks at does not grow with how often the row was put and deleted before."""

    def main() -> None:
        tablet = bench.open()
        costs = []
        for number in range(1200):
            bench.runtime.sleep(0.001)
            tablet.mutate([put(b"r", b"f:q", b"%d" % number)])
            tablet.mutate([delete(b"r", deleted)])
            if number % 400 == 399:
                bench.runtime.sleep(0.001)
                if ends_with_put:
                    tablet.mutate([put(b"r", b"f:q", b"held")])
                before = tablet.cells_examined
                assert values(tablet, b"r", spec) == ({b"f:q": b"held"} if ends_with_put else {})
                row = RowRange(b"r", b"s")
                assert len(everything(tablet, ScanRequest(row, spec))) == ends_with_put
                costs.append(tablet.cells_examined - before)
        assert max(costs) < 800
        assert costs[0] == costs[1] == costs[2]

    bench.run(main)


def test_a_counter_that_was_incremented_often(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        for n in range(300):
            bench.runtime.sleep(0.001)
            assert tablet.increment(b"r", b"f", b"n", 2) == 2 * n + 2
        tablet.mutate([put(b"r", b"f:z", b"")])
        assert sorted(values(tablet, b"r")) == [b"f:n", b"f:z"]

    bench.run(main)
