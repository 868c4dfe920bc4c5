"""Reads go past the columns of a wide row that they do not ask for: the same answers, and few pairs looked at."""

import random
from itertools import chain

import pytest

from hbtable.encoding.cell_key import column_prefix, row_prefix
from hbtable.filters.evaluate import start
from hbtable.filters.grammar import parse
from hbtable.model.cell import Cell
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_VERSION, PUT, RowMutation
from hbtable.model.read import ALL_VERSIONS, ReadSpec, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.reads import sources
from hbtable.tablet.reads.seeking import ColumnSeeker
from hbtable.tablet.tablet import Tablet
from tests.harness.seek_differences import QUALIFIERS, random_filter
from tests.harness.tablet_bench import Bench, everything
from tests.harness.tiers import quick_first

WIDE = 20_000
SCHEMA = TableSchema(b"t", {
    b"f": FamilySchema(b"f", max_versions=3, bloom="ROWCOL"),
    b"g": FamilySchema(b"g", bloom="ROWCOL"),
    b"h": FamilySchema(b"h", locality_group="other"),
})  # fmt: skip


def wide(bench: Bench) -> Tablet:
    """A row before it, 20,000 columns in one family, a few in the next, and a row behind it."""
    tablet = bench.open()
    cells = [(PUT, b"f", b"%07d" % n, 5, b"v%d" % n) for n in range(WIDE)]
    tablet.mutate([RowMutation(b"wide", cells[::2]), RowMutation(b"after", cells[:1])])
    tablet.flush()
    tablet.mutate([RowMutation(b"wide", [*cells[1::2], (PUT, b"g", b"x", 5, b"w")]), RowMutation(b"xylo", cells[:1])])
    return tablet


READS = [
    (ReadSpec(columns={b"f": frozenset(b"%07d" % n for n in range(0, WIDE, 500))}), 40, 25_000),
    (ReadSpec(columns={b"f": frozenset(b"%07d" % n for n in range(19_000, 19_020)), b"g": None}), 21, 2000),
    (ReadSpec(filter=b"ColumnRangeFilter('0015000', true, '0015003', true)"), 4, 1500),
    (ReadSpec(filter=b"ColumnRangeFilter('0015000', false, '0015003', false) AND FirstKeyOnlyFilter()"), 1, 1500),
    (ReadSpec(filter=b"ColumnPrefixFilter('001500')"), 10, 1500),
    (ReadSpec(columns={b"f": None, b"g": None}, filter=b"ColumnPrefixFilter('001500')"), 10, 1500),
    (ReadSpec(filter=b"MultipleColumnPrefixFilter('0002', '001500')"), 1010, 3000),
    (ReadSpec(filter=b"QualifierFilter(=, 'binary:0015000')"), 1, 1500),
    (ReadSpec(filter=b"ColumnValueFilter('f', '0015000', =, 'binary:v15000')"), 1, 1500),
    (ReadSpec(filter=b"KeyOnlyFilter() AND FirstKeyOnlyFilter()"), 1, 1000),
    (ReadSpec(filter=b"ColumnCountGetFilter(7)"), 7, 1000),
    (ReadSpec(filter=b"ColumnPaginationFilter(5, 2)"), 5, 1000),
    (ReadSpec(filter=b"ColumnPrefixFilter('001500') OR QualifierFilter(=, 'binary:0000007')"), 11, 2500),
]


@pytest.mark.parametrize(("spec", "cells", "most"), READS, ids=[str(n) for n in range(len(READS))])
def test_few_pairs_are_looked_at(spec: ReadSpec, cells: int, most: int) -> None:
    bench = Bench(schema=SCHEMA)

    def main() -> None:
        tablet = wide(bench)
        before = tablet.cells_examined
        [(_, found)] = tablet.read_rows([b"wide"], spec)
        assert len(found) == cells
        assert tablet.cells_examined - before <= most
        for is_reversed in (False, True):
            before = tablet.cells_examined
            rows = dict(everything(tablet, ScanRequest(spec=spec, reversed=is_reversed)))
            assert rows[b"wide"] == found
            if not is_reversed:  # backwards a megabyte of rows is read before the filter sees any
                assert tablet.cells_examined - before <= most

    bench.run(main)


def test_very_many_columns_are_sorted_in_turns_with_others() -> None:
    pauses: list[int] = []
    names = [b"%07d" % number for number in range(50_000)]
    seeker = ColumnSeeker({b"f": frozenset(names)}, None, lambda: pauses.append(1))
    prefix = row_prefix(b"r")
    stored = b"f"
    keys = [column_prefix(prefix, stored, b"%07dx" % number) + bytes(18) for number in (7, 7)]
    assert seeker.target([(key, b"") for key in keys]) == column_prefix(prefix, stored, b"0000008")
    assert len(pauses) > 20  # at most 2,500 are sorted in between


def random_row(rng: random.Random) -> list[tuple[int, bytes, bytes, int, bytes]]:
    operations = []
    for _ in range(700):
        kind = rng.choice((PUT,) * 30 + (DELETE_COLUMN, DELETE_VERSION))
        family, qualifier = rng.choice((b"f", b"f", b"g", b"h")), rng.choice(QUALIFIERS)
        operations.append(
            (kind, family, qualifier, rng.randrange(1, 9), b"" if kind != PUT else b"%d" % rng.randrange(9))
        )
    if rng.random() < 0.3:
        operations.append((DELETE_FAMILY, b"g", b"", rng.randrange(1, 6), b""))
    return operations


@pytest.mark.parametrize("part", quick_first(range(8), 0, 1))
def test_a_filter_passes_what_it_would_pass_of_all_cells(monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    monkeypatch.setattr(sources, "SOUGHT_AFTER", 4)
    rng = random.Random(part)
    bench = Bench(schema=SCHEMA)

    def main() -> None:
        tablet = bench.open()
        for number in range(3):
            tablet.mutate([RowMutation(b"r%d" % number, random_row(rng))])
            if rng.random() < 0.5:
                tablet.flush()
        rows = everything(tablet, ScanRequest(spec=ReadSpec(max_versions=ALL_VERSIONS)))
        for _ in range(60):
            text = random_filter(rng)
            versions = rng.choice((1, 2, ALL_VERSIONS))
            names = rng.choice((None, None, frozenset(rng.choices(QUALIFIERS, k=rng.choice((3, 40))))))
            columns = None if names is None else {b"f": rng.choice((None, names)), b"g": rng.choice((None, names))}
            spec = ReadSpec(columns=columns, max_versions=versions, filter=text)
            expected = filtered(rows, spec)
            for piece in (0, 50):
                request = ScanRequest(spec=spec, cells_per_row=piece)
                found = everything(tablet, request)
                assert [row for row, _ in found] == sorted(row for row, _ in found)
                together = {
                    row: list(chain.from_iterable(cells for one, cells in found if one == row)) for row, _ in found
                }
                assert together == expected, text
            alone = {row: cells for one in rows for row, cells in filtered([one], spec).items()}
            assert dict(tablet.read_rows([row for row, _ in rows], spec)) == alone, text

    bench.run(main)


def filtered(rows: list[tuple[bytes, list[Cell]]], spec: ReadSpec) -> dict[bytes, list[Cell]]:
    """The filter over all cells that the read asks for."""
    assert spec.filter is not None
    running = start(parse(spec.filter))
    found = {}
    for row, cells in rows:
        if running.finished:
            break
        if running.skips_row(row):
            continue
        asked = [cell for cell in cells if is_asked(cell[0], spec)]
        if not running.needs_versions:
            asked = [cell for place, cell in enumerate(asked) if nth(asked, place) < spec.max_versions]
        kept = running.apply(row, asked, spec.max_versions) if asked else []
        if kept:
            found[row] = kept
    return found


def is_asked(column: bytes, spec: ReadSpec) -> bool:
    family, _, qualifier = column.partition(b":")
    if spec.columns is None:
        return True
    names = spec.columns.get(family, frozenset())
    return names is None or qualifier in names


def nth(cells: list[Cell], place: int) -> int:
    """The number of newer cells of its column."""
    return sum(1 for cell in cells[:place] if cell[0] == cells[place][0])
