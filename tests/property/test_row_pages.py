"""Aggregates of rows alone, whose pages are keys cut from blocks, are those of scans row by row, while rows are written
and deleted, files written, merged and split."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from hbtable.aggregates.groups import Groups
from hbtable.encoding import rows_by_column
from hbtable.errors import HbtableError
from hbtable.model.aggregation import Aggregate, Aggregation
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT
from hbtable.model.ranges import RowRange
from hbtable.model.read import ReadSpec, ScanPage, ScanRequest
from hbtable.sstable.reader import SSTableReader
from hbtable.tablet.reads import lone_files, reading, row_pages
from tests.harness.tablet_bench import Bench
from tests.harness.tiers import generated
from tests.property.test_plain_pages import ROWS, SCHEMA, STEPS, THOROUGH, Machine, Tables, _behind_whatever_row

KEYS = b"FirstKeyOnlyFilter() AND KeyOnlyFilter()"
ALL = RowRange(b"", b"")
SCANS = st.tuples(
    st.sampled_from([None, KEYS, b"FirstKeyOnlyFilter()", b"PrefixFilter('b')"]),
    st.none() | st.sampled_from([{b"f": None}, {b"f": None, b"g": None, b"h": None}, {b"f": frozenset((b"q",))}]),
    st.builds(lambda start, stop: RowRange(start or b"", stop or b""), st.none() | ROWS, st.none() | ROWS),
    st.sampled_from([0, 0, 1, 2]),
    st.sampled_from([1, 3, 1000]),
    st.sampled_from([1, 200, 1 << 20]),
)


def rows_of(table: Tables, request: ScanRequest) -> list[bytes]:
    found: list[bytes] = []
    while True:
        page = table.scan_page(request)
        found += [row for row, _ in page.rows]
        if page.next is None:
            return found
        request = replace(request, position=page.next)


def told_of(table: Tables, request: ScanRequest, aggregation: Aggregation) -> dict[bytes, list[Any]]:
    groups = Groups(aggregation)
    while True:
        page = table.scan_page(replace(request, aggregation=aggregation))
        assert page.aggregated is not None
        groups.merge(page.aggregated.groups)
        if page.next is None:
            return groups.results()
        request = replace(request, position=page.next)


def compared(machine: Machine, scan: Any) -> None:
    spec_filter, columns, bounds, row_bytes, most, most_bytes = scan
    if bounds.is_empty():
        return
    table = machine.sides[0]
    table.tablets = machine.tablets
    request = ScanRequest(bounds, ReadSpec(columns, filter=spec_filter), max_rows=most, max_bytes=most_bytes)
    expected: dict[bytes, list[Any]] = {} if row_bytes else {b"": [0, None]}
    for row in rows_of(table, request):
        group = expected.setdefault(row[:row_bytes], [0, None])
        group[:] = [group[0] + 1, row]
    aggregation = Aggregation((Aggregate("rows"), Aggregate("last")), row_bytes=row_bytes)
    assert told_of(table, request, aggregation) == expected


def same_rows(scans: Sequence[Any], steps: Sequence[Any], page: Callable[..., ScanPage | None]) -> int:
    """The rows whose keys came from blocks, by row_pages.row_page or another `page`."""
    bench = Bench(schema=SCHEMA)
    count = 0

    def counted(*arguments: Any) -> ScanPage | None:
        nonlocal count
        found = page(*arguments)
        count += found.rows_scanned if found is not None else 0
        return found

    def main() -> None:
        machine = Machine(bench)
        for step in steps:
            machine.step(step)
        for scan in scans:
            compared(machine, scan)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "row_page", counted)
        bench.run(main)
    return count


@settings(THOROUGH, max_examples=generated(150))
@given(st.lists(SCANS, min_size=1, max_size=4), st.lists(STEPS, min_size=2, max_size=14))
def test_both_ways_give_the_same_rows(scans: list[Any], steps: list[Any]) -> None:
    same_rows(scans, steps, row_pages.row_page)


LOADED: list[Any] = [("load", b"f", 40), ("compact",)]


@pytest.mark.parametrize("asked", [None, KEYS])
@pytest.mark.parametrize("row_bytes", [0, 3])
def test_keys_from_blocks_are_what_is_tested(asked: bytes | None, row_bytes: int) -> None:
    assert same_rows([(asked, None, ALL, row_bytes, 7, 1 << 20)], LOADED, row_pages.row_page) == 40


def test_rows_of_some_columns_are_looked_for_one_by_one() -> None:
    assert same_rows([(KEYS, {b"f": frozenset((b"q",))}, ALL, 0, 7, 1 << 20)], LOADED, row_pages.row_page) == 0


_rows_alone = rows_by_column.rows_alone


def _whatever_kind(keys: Sequence[bytes]) -> Any:
    return _rows_alone([b"%b%c%b\x00" % (key[:-10], PUT, key[-9:-1]) for key in keys])


def _of_no_family(keys: Sequence[bytes]) -> Any:
    found = _rows_alone(keys)
    return found and (found[0], set())


@pytest.mark.parametrize("bug", ["not alone", "markers", "torn rows", "lost rows", "expired"])
def test_planted_bugs_are_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = [("put", b"d", (b"f", b"q%d" % number), 5, bytes(20)) for number in range(9)]
    deleted = ("delete", b"b020", (b"f", b"q"), SERVER_TIME, False)
    steps: dict[str, list[Any]] = {
        "not alone": [*LOADED, deleted],
        "markers": [("load", b"f", 40), deleted, ("flush",)],
        "torn rows": [*LOADED, wide, ("compact",)],
        "lost rows": LOADED,
        "expired": [("load", b"h", 40), ("flush",), ("wait",), ("wait",)],
    }
    scans = [(KEYS, None, ALL, 0, 9, 1 << 20), (None, None, ALL, 0, 1000, 1 << 20)]
    same_rows(scans, steps[bug], row_pages.row_page)
    if bug == "not alone":
        monkeypatch.setattr(lone_files, "_is_alone", lambda *_: True)
    elif bug == "markers":
        monkeypatch.setattr(row_pages, "rows_alone", _whatever_kind)
    elif bug == "torn rows":
        monkeypatch.setattr(SSTableReader, "row_behind", _behind_whatever_row)
    elif bug == "lost rows":
        monkeypatch.setattr(row_pages, "successor", lambda row: row[:-1] + bytes((row[-1] + 1, 0)))
    else:
        monkeypatch.setattr(row_pages, "rows_alone", _of_no_family)
        monkeypatch.setattr(row_pages._Page, "takes", lambda *_: True)
    with pytest.raises((AssertionError, HbtableError)):
        same_rows(scans, steps[bug], row_pages.row_page)
