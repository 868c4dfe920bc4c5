"""Time ranges of single families: each family's cells by its own range, in memtables, files, pieces and both ways."""

from collections.abc import Mapping

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from hbtable.errors import InvalidRequest
from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.mutation import DELETE_COLUMN, DELETE_VERSION, PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench, everything, put

FAMILIES = (b"f", b"g", b"h")
ROWS = (b"a", b"a\x00\x01", b"b")
TIMES = st.integers(0, 6)
RANGES = st.tuples(TIMES, TIMES | st.just(MAX_TIMESTAMP))
KINDS = st.sampled_from([PUT, PUT, PUT, DELETE_COLUMN, DELETE_VERSION])
Write = tuple[int, bytes, bytes, bytes, int]
WRITES = st.lists(
    st.tuples(KINDS, st.sampled_from(ROWS), st.sampled_from(FAMILIES), st.sampled_from([b"", b"q", b"q\x00"]), TIMES),
    max_size=25,
)


def schema(grouped: bool) -> TableSchema:
    groups = ("", "", "") if grouped else ("", "g", "h")
    families = [
        FamilySchema(name, max_versions=3, locality_group=group) for name, group in zip(FAMILIES, groups, strict=True)
    ]
    return TableSchema(b"t", {family.name: family for family in families})


def expected(
    writes: list[Write], others: tuple[int, int], times: Mapping[bytes, tuple[int, int]], versions: int
) -> list[tuple[bytes, list[tuple[bytes, int]]]]:
    """By the rules, cell by cell: masked by what was deleted, in the range of its family, among the newest of those."""
    found: dict[bytes, list[tuple[bytes, int]]] = {}
    for row, family, qualifier in sorted({(row, family, qualifier) for _, row, family, qualifier, _ in writes}):
        here = [(kind, time) for kind, *place, time in writes if place == [row, family, qualifier]]
        low, high = times.get(family, others)
        seen = {
            time
            for kind, time in here
            if kind == PUT
            and low <= time
            and (time < high or high == MAX_TIMESTAMP)
            and (DELETE_VERSION, time) not in here
            and not any(other == DELETE_COLUMN and time <= upto for other, upto in here)
        }
        for time in sorted(seen, reverse=True)[:versions]:
            found.setdefault(row, []).append((family + b":" + qualifier, time))
    return sorted(found.items())


def joined(rows: list[tuple[bytes, list[tuple[bytes, int, bytes]]]]) -> list[tuple[bytes, list[tuple[bytes, int]]]]:
    """Without values, pieces of one row together."""
    found: dict[bytes, list[tuple[bytes, int]]] = {}
    for row, cells in rows:
        found.setdefault(row, []).extend((column, time) for column, time, _ in cells)
    return list(found.items())


@settings(max_examples=30, deadline=None)
@given(
    WRITES, RANGES, st.dictionaries(st.sampled_from([*FAMILIES, b"nope", b"f:"]), RANGES, max_size=4),
    st.integers(1, 3), st.sets(st.integers(0, 25)), st.booleans(), st.sampled_from([0, 1, 2]), st.booleans(),
)  # fmt: skip
def test_each_family_shows_the_newest_versions_of_its_own_range(
    writes: list[Write],
    others: tuple[int, int],
    times: dict[bytes, tuple[int, int]],
    versions: int,
    flushes: set[int],
    grouped: bool,
    piece: int,
    backwards: bool,
) -> None:
    bench = Bench(schema=schema(grouped))

    def main() -> None:
        tablet = bench.open()
        for number, (kind, row, family, qualifier, time) in enumerate(writes):
            tablet.mutate([RowMutation(row, [(kind, family, qualifier, time, b"v")])])
            if number in flushes:
                tablet.flush()
        spec = ReadSpec(None, *others, versions)
        asked = ScanRequest(spec=spec, reversed=backwards, cells_per_row=piece, max_rows=2, family_times=times)
        wanted = expected(writes, others, times, versions)
        assert joined(everything(tablet, asked)) == (wanted[::-1] if backwards else wanted)
        one = dict.fromkeys(FAMILIES[:1])
        asked = ScanRequest(RowRange(b"a", b"b"), ReadSpec(one, *others, versions), family_times=times)
        of_one = [(row, [cell for cell in cells if cell[0][:2] == b"f:"]) for row, cells in wanted if row < b"b"]
        assert joined(everything(tablet, asked)) == [(row, cells) for row, cells in of_one if cells]

    bench.run(main)


def test_versions_newer_than_the_range_do_not_settle_a_column(bench: Bench) -> None:
    """Hundreds of them: hot_columns must look behind them."""

    def main() -> None:
        tablet = bench.open()
        tablet.mutate([put(b"r", b"f:q", b"v", time) for time in range(1, 601)])
        for backwards in (False, True):
            asked = ScanRequest(reversed=backwards, family_times={b"f": (3, 5)})
            assert everything(tablet, asked) == [(b"r", [(b"f:q", 4, b"v")])]

    bench.run(main)


def test_files_that_no_family_can_find_a_cell_in_are_not_read(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        for time in (10, 20, 30):
            tablet.mutate([put(b"r%d" % time, b"f:q", b"v", time)])
            tablet.flush()

        def examined(times: dict[bytes, tuple[int, int]] | None) -> int:
            before = tablet._state.tally.examined
            tablet.scan(ScanRequest(family_times=times))
            return tablet._state.tally.examined - before

        assert examined(None) == 3
        assert examined({b"f": (15, 25)}) == 3  # g may have some of any time
        selective = ScanRequest(spec=ReadSpec({b"f": None}), family_times={b"f": (15, 25)})
        before = tablet._state.tally.examined
        assert everything(tablet, selective) == [(b"r20", [(b"f:q", 20, b"v")])]
        assert tablet._state.tally.examined - before == 1

    bench.run(main)


def test_a_raw_scan_shows_markers_of_the_range_only(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        for family in (b"f", b"g"):
            tablet.mutate([put(b"r", family + b":q", b"v", time) for time in (1, 5, 9)])
            tablet.mutate([RowMutation(b"r", [(DELETE_COLUMN, family, b"q", time, b"")]) for time in (2, 6)])
        asked = ScanRequest(spec=ReadSpec(max_versions=9, raw=True), family_times={b"f": (4, 7)})
        found = [(column, time, value[0]) for _, cells in everything(tablet, asked) for column, time, value in cells]
        of_f = [(b"f:q", 6, DELETE_COLUMN), (b"f:q", 5, PUT)]
        kinds = ((9, PUT), (6, DELETE_COLUMN), (5, PUT), (2, DELETE_COLUMN), (1, PUT))
        assert found == [*of_f, *((b"g:q", time, kind) for time, kind in kinds)]

    bench.run(main)


def test_what_is_no_range_of_times_is_refused_below_every_door(bench: Bench) -> None:
    def refused(tablet: Tablet, times: object, why: str) -> None:
        with pytest.raises(InvalidRequest, match=why):
            tablet.scan(ScanRequest(family_times=times))  # type: ignore[arg-type]

    def main() -> None:
        tablet = bench.open()
        refused(tablet, {b"f": (-1, 5)}, "the lower time bound of a family")
        refused(tablet, {b"f": (0, 2**63)}, "the upper time bound of a family")
        refused(tablet, {b"f": (0, 1.5)}, "the upper time bound of a family")
        refused(tablet, {"f": (0, 1)}, "a family with a time range")
        refused(tablet, {b"f%d" % number: (0, 1) for number in range(1001)}, "1001 families .* at most 1000")

    bench.run(main)
