"""A scan goes on inside a row without reading again what it has given out, whatever happened to the files meanwhile."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from hbtable.errors import InvalidRequest
from hbtable.model.cell import Cell, Row
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_VERSION, PUT, Operation, RowMutation
from hbtable.model.read import ALL_VERSIONS, EVERYTHING, ReadSpec, ScanPosition, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench, everything
from tests.harness.tiers import quick_first

CELLS = 6_000
FAMILIES = (
    FamilySchema(b"a", max_versions=3),
    FamilySchema(b"b", max_versions=5, new_version_behavior=True),
    FamilySchema(b"c", max_versions=4, min_versions=2, ttl_seconds=3600, locality_group="other"),
    FamilySchema(b"d", max_versions=1000),
)
SCHEMA = TableSchema(b"t", {family.name: family for family in FAMILIES})
EVERY_VERSION = ReadSpec(max_versions=ALL_VERSIONS)
RAW = ReadSpec(max_versions=ALL_VERSIONS, raw=True)


def joined(rows: list[Row]) -> list[tuple[bytes, list[Cell]]]:
    found: list[tuple[bytes, list[Cell]]] = []
    for row, cells in rows:
        if found and found[-1][0] == row:
            found[-1][1].extend(cells)
        else:
            found.append((row, list(cells)))
    return found


def filled() -> tuple[Bench, Callable[[], Tablet]]:
    """Versions and markers of every kind, over memtables and files; rows before and after."""
    bench = Bench(schema=SCHEMA)

    def fill() -> Tablet:
        tablet = bench.open()
        now = bench.runtime.wall_millis()
        for time in range(1, 8):
            operations: list[Operation] = [
                (PUT, family.name, qualifier, now - 10_000_000 * (time % 2) + time, b"%d" % time)
                for family in FAMILIES
                for qualifier in (b"", b"q", b"q\x00r", b"\xff")
            ]
            operations.append((DELETE_COLUMN, b"a", b"q", now - 10_000_000 + 1, b""))
            operations.append((DELETE_VERSION, b"b", b"q", now + 4, b""))
            operations.append((DELETE_FAMILY, b"d", b"", now - 10_000_000 + 3, b""))
            tablet.mutate([RowMutation(row, operations) for row in (b"k", b"m", b"z")])
            if time in (2, 3, 6):
                tablet.flush()
        tablet.mutate([RowMutation(b"m", [(PUT, b"d", b"v", now + n, b"%d" % n) for n in range(300)])])
        return tablet

    return bench, fill


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("piece", quick_first([2, 100, 1, 3, 7], 1, 2))
@pytest.mark.parametrize(
    "spec",
    [
        EVERYTHING,
        EVERY_VERSION,
        ReadSpec({b"b": None, b"d": frozenset((b"q", b"v"))}, max_versions=2),
        RAW,
        replace(RAW, max_versions=2),
        replace(RAW, columns={b"a": frozenset((b"q",)), b"d": None}),
    ],
)
def test_pieces_over_any_number_of_pages_are_the_row(is_reversed: bool, piece: int, spec: ReadSpec) -> None:
    bench, fill = filled()

    def main() -> None:
        tablet = fill()
        whole = everything(tablet, ScanRequest(spec=spec, reversed=is_reversed))
        request = ScanRequest(spec=spec, reversed=is_reversed, cells_per_row=piece)
        for max_rows in (1, 2, 5):
            assert joined(everything(tablet, replace(request, max_rows=max_rows))) == whole
        # A peer that does not know names of cells counts them.
        rows: list[Row] = []
        while True:
            page = tablet.scan(replace(request, max_rows=4))
            rows += page.rows
            if page.next is None:
                break
            request = replace(request, position=ScanPosition(*page.next[:3]))
        assert joined(rows) == whole

    bench.run(main)


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("spec", [EVERYTHING, RAW, replace(RAW, max_versions=1)])
def test_the_cells_that_a_scan_in_pieces_looks_at_grow_with_the_row(
    bench: Bench, spec: ReadSpec, is_reversed: bool
) -> None:
    def main() -> None:
        tablet = bench.open()
        names = [b"%06d" % n for n in range(CELLS)]
        tablet.mutate([RowMutation(b"r", [(PUT, b"f", name, 5, b"v") for name in names[::2]])])
        tablet.flush()
        tablet.mutate([RowMutation(b"r", [(PUT, b"f", name, 5, b"v") for name in names[1::2]])])
        before = tablet.cells_examined
        rows = everything(tablet, ScanRequest(spec=spec, reversed=is_reversed, cells_per_row=50, max_rows=1))
        assert [len(cells) for _, cells in rows] == [50] * (CELLS // 50)
        # Each page reads lists of 16, 32 and 64 cells for its piece of 50, and backwards a chunk before it.
        assert tablet.cells_examined - before < 10 * CELLS

    bench.run(main)


@pytest.mark.parametrize("spec", [EVERY_VERSION, RAW])
def test_versions_of_one_column_are_not_read_again(bench: Bench, spec: ReadSpec) -> None:
    bench.schema = TableSchema(b"t", {b"f": FamilySchema(b"f", max_versions=1_000_000)})

    def main() -> None:
        tablet = bench.open()
        for first in range(0, CELLS, 1000):
            puts: list[Operation] = [(PUT, b"f", b"q", n + 1, b"v") for n in range(first, first + 1000)]
            tablet.mutate([RowMutation(b"r", puts)])
        before = tablet.cells_examined
        rows = everything(tablet, ScanRequest(spec=spec, cells_per_row=50, max_rows=1))
        assert [cell[1] for _, cells in rows for cell in cells] == list(range(CELLS, 0, -1))
        assert tablet.cells_examined - before < 10 * CELLS

    bench.run(main)


def test_cells_of_one_time_are_each_given_once_by_a_raw_scan(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        kinds = (PUT, DELETE_VERSION, DELETE_COLUMN, PUT)
        for number in range(40):
            kind = kinds[number % 4]
            value = b"%d" % number if kind == PUT else b""
            tablet.mutate([RowMutation(b"r", [(kind, b"f", b"q", 5 + number // 20, value)])])
            if number % 7 == 0:
                tablet.flush()
        whole = everything(tablet, ScanRequest(spec=RAW))
        assert len(whole[0][1]) > 12
        for piece in (1, 3):
            rows = everything(tablet, ScanRequest(spec=RAW, cells_per_row=piece, max_rows=1))
            assert joined(rows) == whole

    bench.run(main)


@pytest.mark.parametrize("is_reversed", [False, True])
def test_flushes_merges_and_splits_between_two_pages_change_nothing(is_reversed: bool) -> None:
    bench, fill = filled()

    def main() -> None:
        tablet = fill()
        whole = everything(tablet, ScanRequest(spec=EVERY_VERSION, reversed=is_reversed))
        request = ScanRequest(spec=EVERY_VERSION, reversed=is_reversed, cells_per_row=3, max_rows=1)
        rows: list[Row] = []
        for number in range(10_000):
            page = tablet.scan(request)
            rows += page.rows
            if page.next is None:
                break
            request = replace(request, position=page.next)
            if number == 5:
                tablet.flush()
            if number == 25:
                tablet.compact(major=True)
            if number == 30 and page.next.row == b"m":
                tablet.freeze_for_unload()
                left, right = bench.split(tablet, b"n")
                rest = everything(left, request)
                if not is_reversed:
                    rest += everything(right, ScanRequest(spec=EVERY_VERSION, cells_per_row=3))
                rows += rest
                break
        assert number == 30
        assert joined(rows) == whole

    bench.run(main)


def test_a_family_deleted_between_two_pieces_ends_there(bench: Bench) -> None:
    def main() -> None:
        tablet = bench.open()
        puts: list[Operation] = [(PUT, b"f", b"%d" % n, 5, b"v") for n in range(9)]
        tablet.mutate([RowMutation(b"r", [*puts, (PUT, b"g", b"q", 5, b"v")])])
        request = ScanRequest(cells_per_row=3, max_rows=1)
        page = tablet.scan(request)
        assert page.next is not None
        assert page.next[3:] == (b"f:2", 5, 1)
        tablet.mutate([RowMutation(b"r", [(DELETE_FAMILY, b"f", b"", 6, b"")])])
        rest = everything(tablet, replace(request, position=page.next))
        assert rest == [(b"r", [(b"g:q", 5, b"v")])]
        gone = replace(request, position=page.next._replace(column=b"dropped:2"))
        assert everything(tablet, gone) == [(b"r", [(b"g:q", 5, b"v")])]

    bench.run(main)


@pytest.mark.parametrize("wrong", [{"timestamp": -1}, {"timestamp": 2**63}, {"versions": -1}, {"timestamp": "1"}])
def test_a_position_that_no_server_gave_is_refused(bench: Bench, wrong: dict[str, int]) -> None:
    def main() -> None:
        position = ScanPosition(b"r", 3, b"", b"f:2", 5, 1)._replace(**wrong)
        with pytest.raises(InvalidRequest, match="of a position"):
            bench.open().scan(ScanRequest(position=position))

    bench.run(main)
