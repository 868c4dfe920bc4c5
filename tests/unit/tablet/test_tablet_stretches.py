"""No call keeps the other tasks waiting for long, whatever it is about: work between two switches, counted."""

from collections.abc import Callable

import pytest

from hbtable.errors import NoSuchFamily
from hbtable.model.additions import APPEND
from hbtable.model.cell import SERVER_TIME
from hbtable.model.condition import ANY_CELL
from hbtable.model.mutation import DELETE_COLUMN, PUT, RowMutation
from hbtable.model.read import ALL_VERSIONS, EVERYTHING, ReadSpec, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.tablet import Tablet
from tests.harness.stretches import LONGEST, counted_stretches
from tests.harness.tablet_bench import Bench
from tests.harness.tiers import quick_first

COLUMNS = 20_000


def _wide(kind: int = PUT) -> RowMutation:
    value = b"v" if kind == PUT else b""
    return RowMutation(b"wide", [(kind, b"f", b"%07d" % number, SERVER_TIME, value) for number in range(COLUMNS)])


def _rows(kind: int = PUT) -> list[RowMutation]:
    value = b"v" if kind == PUT else b""
    return [RowMutation(b"row%07d" % n, [(kind, b"f", b"q", SERVER_TIME, value)]) for n in range(COLUMNS)]


def _rows_of_columns() -> list[RowMutation]:
    operations = _wide().operations[:20]
    return [RowMutation(b"row%07d" % number, operations) for number in range(1000)]


def _filled(tablet: Tablet) -> None:
    tablet.mutate([_wide()])
    tablet.mutate(_rows())


def _deleted(tablet: Tablet) -> None:
    _filled(tablet)
    tablet.mutate([_wide(DELETE_COLUMN)])
    tablet.mutate(_rows(DELETE_COLUMN))


ALL_COLUMNS = ReadSpec(columns={b"f": frozenset(b"%07d" % number for number in range(COLUMNS))})
SOME_ROWS = [b"row%07d" % number for number in range(0, COLUMNS, 4)]
NOTHING_PASSES = ReadSpec(filter=b"ValueFilter(=,'binary:x')")


def _page(spec: ReadSpec = EVERYTHING, *, reverse: bool = False) -> Callable[[Tablet], object]:
    """Of all that there is."""
    request = ScanRequest(spec=spec, reversed=reverse, max_rows=1 << 40, max_bytes=1 << 40)
    return lambda tablet: tablet.scan(request)


Step = Callable[[Tablet], object]

CALLS: dict[str, tuple[Step, Step]] = {
    "get of a wide row": (_filled, lambda tablet: tablet.read_rows([b"wide"], EVERYTHING)),
    "get of a wide row of which all is deleted": (_deleted, lambda tablet: tablet.read_rows([b"wide"], EVERYTHING)),
    "get of all versions of a deleted row": (
        _deleted,
        lambda tablet: tablet.read_rows([b"wide"], ReadSpec(max_versions=ALL_VERSIONS)),
    ),
    "get of many rows": (_filled, lambda tablet: tablet.read_rows(SOME_ROWS, EVERYTHING)),
    "get of many columns": (_filled, lambda tablet: tablet.read_rows([b"wide"], ALL_COLUMNS)),
    "get of many columns that are deleted": (_deleted, lambda tablet: tablet.read_rows([b"wide"], ALL_COLUMNS)),
    "scan": (_filled, _page()),
    "scan of deleted rows": (_deleted, _page()),
    "scan with a filter": (_filled, _page(NOTHING_PASSES)),
    "scan backwards": (_filled, _page(reverse=True)),
    "scan of deleted rows backwards": (_deleted, _page(reverse=True)),
    "scan of raw cells": (_deleted, _page(ReadSpec(raw=True, max_versions=ALL_VERSIONS))),
    "put of a wide row": (_filled, lambda tablet: tablet.mutate([_wide()])),
    "put of as many rows as the client sends": (_filled, lambda tablet: tablet.mutate(_rows_of_columns())),
    "delete of many columns": (_filled, lambda tablet: tablet.mutate([_wide(DELETE_COLUMN)])),
    "flush": (_deleted, lambda tablet: tablet.flush()),
    "major compaction": (_deleted, lambda tablet: tablet.compact(True)),
}
IN_TURNS = {
    "get of a wide row",
    "get of all versions of a deleted row",
    "get of many columns",
    "scan",
    "scan backwards",
    "scan of raw cells",
    "put of as many rows as the client sends",
    "delete of many columns",
}
"""Go where one of the others goes, too."""


def test_a_page_with_a_filter_lets_others_run_between_few_rows(bench: Bench) -> None:
    """They come to it in lists of 512, and there was no pause within a list."""

    def main() -> None:
        bench.options = TabletOptions(worker_bytes=1 << 50, scan_seconds=1000.0, slice_seconds=0.0001)
        tablet = bench.open()
        tablet.mutate(_rows()[:3000])
        with counted_stretches(bench.runtime) as stretches:
            _page(NOTHING_PASSES)(tablet)
        stretches.check(LONGEST // 20)

    bench.run(main)


@pytest.mark.parametrize("name", quick_first(sorted(CALLS, key=IN_TURNS.__contains__), 0, len(CALLS) - len(IN_TURNS)))
def test_no_call_keeps_others_waiting(bench: Bench, name: str) -> None:
    before, call = CALLS[name]

    def main() -> None:
        bench.options = TabletOptions(worker_bytes=1 << 50, scan_seconds=1000.0)
        tablet = bench.open()
        before(tablet)
        with counted_stretches(bench.runtime) as stretches:
            call(tablet)
        stretches.check()

    bench.run(main)


def _puts_and_deletes() -> RowMutation:
    """Of columns each of which is put, and then deleted."""
    kinds = ((PUT, b"v"), (DELETE_COLUMN, b""))
    return RowMutation(
        b"wide",
        [(kind, b"f", b"%07d" % number, 7, value) for number in range(COLUMNS // 2) for kind, value in kinds],
    )


def test_a_write_that_masks_much_of_itself_keeps_nobody_waiting() -> None:
    """Where sequence decides, each of its cells is looked at once more."""
    bench = Bench(schema=TableSchema(b"t", {b"f": FamilySchema(b"f", new_version_behavior=True)}))

    def main() -> None:
        bench.options = TabletOptions(worker_bytes=1 << 50)
        tablet = bench.open()
        with counted_stretches(bench.runtime) as stretches:
            tablet.mutate([_puts_and_deletes()])
        stretches.check(LONGEST // 4)
        assert tablet.read_rows([b"wide"], EVERYTHING) == []

    bench.run(main)


def _adding(family_of_last: bytes) -> RowMutation:
    operations = [(APPEND, b"f", b"%07d" % number, SERVER_TIME, b"v") for number in range(COLUMNS)]
    operations.append((APPEND, family_of_last, b"q", SERVER_TIME, b"v"))
    return RowMutation(b"wide", operations)


ADDING: dict[str, Step] = {
    "add_to_columns": lambda tablet: tablet.add_to_columns(_adding(b"none")),
    "mutate_if": lambda tablet: tablet.mutate_if(b"wide", EVERYTHING, ANY_CELL, None, _adding(b"none")),
    "check_and_mutate": lambda tablet: tablet.check_and_mutate(b"wide", b"f", b"q", None, _adding(b"none")),
    "append": lambda tablet: tablet.append(b"wide", [one[1:3] + one[4:] for one in _adding(b"none").operations]),
}


@pytest.mark.parametrize("name", ADDING)
def test_columns_that_are_added_to_are_checked_in_parts(bench: Bench, name: str) -> None:
    """The last of them is refused, so that all were looked at, and nothing else was done."""

    def main() -> None:
        tablet = bench.open()
        with counted_stretches(bench.runtime) as stretches, pytest.raises(NoSuchFamily):
            ADDING[name](tablet)
        stretches.check(COLUMNS)

    bench.run(main)
