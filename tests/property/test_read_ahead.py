"""Scans whose pages are made ahead answer as scans without that do, byte for byte: two gateways over the same tablets
fetch in turns, one of which makes its next pages right after each fetch, while rows are written and deleted, cells
expire, schemas change, files are written, merged and split."""

from collections.abc import Sequence
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from hbtable.client import scanning
from hbtable.client.table_calls import AheadPage
from hbtable.hbase.calls import scanner_calls
from hbtable.hbase.codec import binary_answers
from hbtable.hbase.codec.interface import PageAhead
from hbtable.hbase.codec.thrift_structs import TScan
from hbtable.model.cell import SERVER_TIME
from hbtable.model.read import ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.reads import validity
from hbtable.tablet.state import TabletState
from tests.harness.tablet_bench import Bench, VanishingFileSystem
from tests.property.test_plain_pages import PUTS, ROWS, SCANS, THOROUGH, WHOLE, Machine, Tables, _joined

SCHEMA = TableSchema(
    b"t",
    {
        b"f": FamilySchema(b"f", max_versions=1, block_bytes=60, block_cache=True),
        b"g": FamilySchema(b"g", max_versions=3, block_bytes=60, locality_group="both"),
        b"h": FamilySchema(b"h", max_versions=1, block_bytes=60, locality_group="both"),
    },
)
ROWS_NEAR = st.integers(0, 30).map(lambda number: b"b%03d" % number)
PUTS_NEAR = st.lists(
    st.tuples(st.just("put"), ROWS_NEAR, st.just((b"f", b"q")), st.just(SERVER_TIME), st.binary(max_size=9)),
    min_size=1,
    max_size=9,
)
"""Of rows that LOADED has as well: most are in the next pages."""
LOADED: list[Any] = [("load", b"f", 40)]
STEPS = st.one_of(
    PUTS,
    st.tuples(st.just("load"), st.sampled_from([b"f", b"g", b"h"]), st.integers(1, 40)),
    st.tuples(st.just("delete"), ROWS, st.tuples(st.just(b"f"), st.just(b"q")), st.just(SERVER_TIME), st.booleans()),
    st.tuples(st.just("ttl"), ROWS, st.integers(1, 3000)),
    st.sampled_from([("flush",), ("compact",), ("wait",), ("wait",), ("alter",)]),
    st.tuples(st.just("split"), ROWS),
    st.tuples(st.just("fetch"), st.integers(1, 9)),
    st.tuples(st.just("writes beside"), ROWS),
)
BETWEEN_FETCHES = st.lists(st.one_of(PUTS_NEAR, st.just(("fetch", 3)), st.just(("fetch", 3)), STEPS), max_size=12)


class TablesAhead(Tables):
    """As the client library's table, with pages ahead."""

    def page_ahead(self, request: ScanRequest) -> AheadPage | None:
        row, before = scanning.place(request, request.position)
        if before or request.spec.filter is not None:
            return None
        tablet = next(one for one in self.tablets if one.range.holds(row) or not row)
        is_valid = tablet.valid_from_now()
        if is_valid is None:
            return None
        found = scanning.page_of_one_tablet(request, tablet.record, tablet.scan)
        return None if found is None else AheadPage(found, is_valid)


class AheadMachine(Machine):
    """The first of its two gateways makes pages ahead."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.schema = SCHEMA
        ahead = TablesAhead(True)
        self.sides = [ahead, Tables(True)]
        self.calls = [self._gateway(side) for side in self.sides]
        self.calls[0]._pause = lambda: bench.runtime.sleep(0)
        self.made: dict[int, tuple[int, PageAhead]] = {}
        self.taken = 0
        self.beside: list[bytes] = []
        """Rows to be written while pages are made."""

    def fetch(self, count: int) -> None:
        for side in self.sides:
            side.tablets = self.tablets
        ahead, without = self.calls
        for first, second in self.scanners:
            answer = self._fetched(first, count)
            assert _bytes(answer) == _bytes(without.scannerGetList(second, count))
        writers = [self.bench.runtime.spawn(self._write, row) for row in self.beside]
        self.beside = []
        for first, _ in self.scanners:
            make = ahead.look_ahead(32 << 20, first, count)
            page = None if make is None else make()
            if page is not None:
                self.made[first] = count, page
        for writer in writers:
            writer.join()

    def _fetched(self, number: int, count: int) -> Any:
        made_for, page = self.made.pop(number, (0, None))
        if page is not None and made_for == count and page.take():
            self.taken += 1
            return page.answer
        return self.calls[0].scannerGetList(number, count)

    def _write(self, row: bytes) -> None:
        for number in range(3):
            self.step([("put", row, (b"f", b"q%d" % number), SERVER_TIME, b"beside")])
            self.bench.runtime.sleep(0)

    def step(self, step: Any) -> None:
        if not isinstance(step, list) and step[0] == "writes beside":
            self.beside.append(step[1])
        else:
            super().step(step)


def _bytes(answer: Any) -> bytes:
    return _joined(binary_answers.rows(b"head", answer))


def pages_taken(scans: Sequence[TScan], before: Sequence[Any], between: Sequence[Any], after: int = 4) -> int:
    """The number of pages that were made ahead and given out; all answers are compared."""
    bench = Bench(schema=SCHEMA)
    bench.fs = VanishingFileSystem(bench.memory, lambda: bench.runtime.sleep(0))  # reads switch, as those of a disk may

    def main() -> int:
        machine = AheadMachine(bench)
        for step in before:
            machine.step(step)
        for scan in scans:
            machine.open(scan)
        for step in between:
            machine.step(step)
        for _ in range(after):
            machine.fetch(3)
        return machine.taken

    return bench.run(main)


@pytest.fixture(autouse=True)
def _from_the_first_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanner_calls, "_PAGES_BEFORE", 0)


@THOROUGH
@given(
    st.lists(st.just(TScan()) | WHOLE | SCANS, min_size=1, max_size=3),
    st.lists(STEPS, max_size=5),
    BETWEEN_FETCHES,
)
def test_pages_made_ahead_are_those_of_a_fetch(scans: list[TScan], before: list[Any], between: list[Any]) -> None:
    pages_taken(scans, [*LOADED, *before], between)


@pytest.mark.parametrize("scan", [TScan(), TScan(reversed=True), TScan(columns=[b"f:q"]), TScan(sort_columns=True)])
@pytest.mark.parametrize("state", [[], [("compact",)]])
def test_pages_are_taken(scan: TScan, state: list[Any]) -> None:
    assert pages_taken([scan], [*LOADED, *state], [("fetch", 3), ("fetch", 3)]) >= 4


@pytest.mark.parametrize(
    "change",
    [
        [("put", b"b001\x00", (b"f", b"q"), SERVER_TIME, b"new"), ("put", b"b004", (b"f", b"q"), SERVER_TIME, b"new")],
        ("delete", b"b004", (b"f", b"q"), SERVER_TIME, True),
        ("compact",),
        ("split", b"b020"),
        ("alter",),
    ],
)
def test_after_a_change_no_page_is_taken_that_was_made_before(change: Any) -> None:
    assert pages_taken([TScan()], LOADED, [("fetch", 3), change, ("fetch", 3)], after=0) == 0


def test_no_page_is_taken_that_was_made_while_its_tablet_was_written_to() -> None:
    beside = [("writes beside", b"b004"), ("fetch", 3)]
    assert pages_taken([TScan(cache_blocks=False)], [*LOADED, ("compact",)], [*beside, ("fetch", 3)], after=0) == 0


def test_no_page_with_a_cell_that_expires_is_taken() -> None:
    expiring = ("ttl", b"b004", 1000)
    assert pages_taken([TScan()], [*LOADED, expiring], [("fetch", 3), ("wait",), ("fetch", 3)], after=0) == 0


def test_a_scanner_whose_page_was_made_in_vain_makes_no_other() -> None:
    change = ("put", b"b004", (b"f", b"q"), SERVER_TIME, b"new")
    assert pages_taken([TScan()], LOADED, [("fetch", 3), [change]]) == 0


@pytest.mark.parametrize("bug", ["writes", "versions", "expiry"])
def test_planted_bugs_are_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = validity.valid_from_now

    def without(state: TabletState) -> Any:
        is_valid = whole(state)
        part = {"writes": "applied", "versions": "installed"}.get(bug)
        if is_valid is None or part is None:
            return is_valid
        then = getattr(state, part)

        def is_valid_but(state: TabletState = state) -> bool:
            now = getattr(state, part)
            setattr(state, part, then)
            try:
                return is_valid()
            finally:
                setattr(state, part, now)

        return is_valid_but

    monkeypatch.setattr(validity, "valid_from_now", without)
    steps: dict[str, Any] = {
        "writes": ("put", b"b004", (b"f", b"q"), SERVER_TIME, b"new"),
        "versions": ("alter",),
        "expiry": ("ttl", b"b004", 1000),
    }
    step = [steps[bug]] if bug == "writes" else steps[bug]
    if bug == "expiry":
        monkeypatch.setattr("hbtable.merge.tally.Tally.expiring", property(lambda _: 0, lambda _, value: None))
        case = [*LOADED, step], [("fetch", 3), ("wait",), ("fetch", 3)]
    else:
        case = LOADED, [("fetch", 3), step, ("wait",), ("wait",), ("fetch", 3)]
    with pytest.raises(AssertionError):
        pages_taken([TScan()], *case)


def test_the_case_of_each_planted_bug_passes_without_it() -> None:
    put = ("put", b"b004", (b"f", b"q"), SERVER_TIME, b"new")
    for step in ([put], ("alter",)):
        pages_taken([TScan()], LOADED, [("fetch", 3), step, ("wait",), ("wait",), ("fetch", 3)])
    pages_taken([TScan()], [*LOADED, ("ttl", b"b004", 1000)], [("fetch", 3), ("wait",), ("fetch", 3)])
