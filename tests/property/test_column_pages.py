"""Scans whose pages come by column give the rows and values of scans row by row, while rows are written and deleted,
files written, merged and split."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from hbtable.encoding import rows_by_column
from hbtable.errors import HbtableError
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, RowsByColumn, ScanRequest, columns_of
from hbtable.sstable.reader import SSTableReader
from hbtable.tablet.reads import column_pages, lone_files
from tests.harness.tablet_bench import Bench
from tests.harness.tiers import generated
from tests.property.test_plain_pages import ROWS, SCHEMA, STEPS, THOROUGH, Machine, Tables, _behind_whatever_row

Column = tuple[bytes, bytes]
Rows = list[tuple[bytes, list[bytes | None]]]

COLUMNS = st.lists(
    st.tuples(st.sampled_from([b"f", b"f", b"g", b"h"]), st.sampled_from([b"q", b"q", b"", b"r\x00", b"\xff"])),
    min_size=1,
    max_size=4,
    unique=True,
)
SCANS = st.builds(
    lambda columns, start, stop, most, most_bytes: (columns, RowRange(start or b"", stop or b""), most, most_bytes),
    COLUMNS,
    st.none() | ROWS,
    st.none() | ROWS,
    st.sampled_from([1, 3, 1000]),
    st.sampled_from([1, 200, 1 << 20]),
)


def rows_of(table: Tables, request: ScanRequest, columns: Sequence[Column]) -> tuple[Rows, int]:
    """All rows of the scan; how many of them came by column."""
    names = [b"%b:%b" % column for column in columns]
    found: Rows = []
    by_column = 0
    while True:
        page = table.scan_page(request)
        assert len(page.rows) <= request.max_rows
        if page.columns is not None:
            assert page.rows == []
            for piece in page.columns.pieces:
                found += [(row, list(values)) for row, *values in zip(piece.rows, *piece.columns, strict=True)]
            rows = sum(len(piece.rows) for piece in page.columns.pieces)
            assert rows <= request.max_rows
            by_column += rows
        for row, cells in page.rows:
            values = {column: value for column, _, value in cells}
            found.append((row, [values.get(name) for name in names]))
        if page.next is None:
            return found, by_column
        request = replace(request, position=page.next)


def compared(machine: Machine, scan: tuple[list[Column], RowRange, int, int]) -> int:
    columns, rows, most, most_bytes = scan
    if rows.is_empty():
        return 0
    table = machine.sides[0]
    table.tablets = machine.tablets
    spec = ReadSpec(columns_of(b"%b:%b" % column for column in columns))
    request = ScanRequest(rows, spec, max_rows=most, max_bytes=most_bytes)
    expected, none = rows_of(table, request, columns)
    found, by_column = rows_of(table, replace(request, by_column=tuple(columns)), columns)
    assert found == expected
    assert none == 0
    return by_column


def same_rows(scans: Sequence[Any], steps: Sequence[Any]) -> int:
    """The rows that came by column."""
    bench = Bench(schema=SCHEMA)

    def main() -> int:
        machine = Machine(bench)
        for step in steps:
            machine.step(step)
        return sum(compared(machine, scan) for scan in scans)

    return bench.run(main)


@settings(THOROUGH, max_examples=generated(150))
@given(st.lists(SCANS, min_size=1, max_size=4), st.lists(STEPS, min_size=2, max_size=14))
def test_both_ways_give_the_same_rows(scans: list[Any], steps: list[Any]) -> None:
    same_rows(scans, steps)


_of_any = rows_by_column._of_any


def _whatever_kind(keys: Sequence[bytes], values: Sequence[bytes], wanted: Mapping[bytes, int]) -> RowsByColumn | None:
    return _of_any([b"%b%c%b\x00" % (key[:-10], PUT, key[-9:-1]) for key in keys], values, wanted)


def _oldest_version(keys: Sequence[bytes], values: Sequence[bytes], wanted: Mapping[bytes, int]) -> RowsByColumn | None:
    pairs = sorted(zip(reversed(keys), reversed(values), strict=True), key=lambda pair: pair[0][:-18])
    return _of_any([key for key, _ in pairs], [value for _, value in pairs], wanted)


LOADED: list[Any] = [("load", b"f", 40), ("compact",)]
Q = (b"f", b"q")
ALL = RowRange(b"", b"")


@pytest.mark.parametrize("columns", [[Q], [Q, (b"f", b"absent")]])
def test_rows_by_column_are_what_is_tested(columns: list[Column]) -> None:
    assert same_rows([(columns, ALL, 7, 1 << 20)], LOADED) == 40


@pytest.mark.parametrize("width", [2, 3, 7])
def test_rows_that_go_on_in_the_next_block_come_by_column(width: int) -> None:
    puts = [
        ("put", b"r%03d" % row, (b"f", b"%d" % column), 5, bytes(20)) for row in range(40) for column in range(width)
    ]
    columns = [(b"f", b"%d" % column) for column in range(width)]
    assert same_rows([(columns, ALL, 1000, 1 << 20)], [puts, ("flush",)]) == 40


def test_a_page_of_no_rows_comes_further() -> None:
    steps = [*LOADED, [("put", b"z", (b"f", b"rare"), 5, b"v")], ("flush",)]
    assert same_rows([([(b"f", b"rare")], ALL, 1000, 1 << 20)], steps) == 1


def test_older_versions_are_left_out() -> None:
    puts = [("put", b"d", (b"g", b"q"), time, b"v%d" % time) for time in (3, 9, 7)]
    assert same_rows([([(b"g", b"q"), (b"g", b"")], ALL, 1000, 1 << 20)], [puts, ("flush",)]) == 1


@pytest.mark.parametrize("bug", ["not alone", "markers", "torn rows", "lost rows", "older versions"])
def test_planted_bugs_are_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = [("put", b"d", (b"f", b"q%d" % number), 5, bytes(20)) for number in range(9)]
    versions = [("put", b"d", (b"g", b"q"), time, b"v%d" % time) for time in (3, 9, 7)]
    deleted = ("delete", b"b020", (b"f", b"q"), SERVER_TIME, False)
    steps: dict[str, list[Any]] = {
        "not alone": [*LOADED, [("put", b"b020", (b"f", b"q"), SERVER_TIME, b"new")]],
        "markers": [("load", b"f", 40), deleted, ("flush",)],
        "torn rows": [*LOADED, wide, ("compact",)],
        "lost rows": LOADED,
        "older versions": [versions, ("flush",)],
    }
    scans = [([Q], ALL, 9, 1 << 20), ([(b"f", b"q0"), (b"f", b"q8")], ALL, 9, 1 << 20), ([(b"g", b"q")], ALL, 9, 99)]
    same_rows(scans, steps[bug])
    if bug == "not alone":
        monkeypatch.setattr(lone_files, "_is_alone", lambda *_: True)
    elif bug == "markers":
        monkeypatch.setattr(rows_by_column, "_of_any", _whatever_kind)
    elif bug == "torn rows":
        monkeypatch.setattr(SSTableReader, "row_behind", _behind_whatever_row)
    elif bug == "lost rows":
        monkeypatch.setattr(column_pages, "successor", lambda row: row[:-1] + bytes((row[-1] + 1, 0)))
    else:
        monkeypatch.setattr(rows_by_column, "_of_any", _oldest_version)
    with pytest.raises((AssertionError, HbtableError)):
        same_rows(scans, steps[bug])
