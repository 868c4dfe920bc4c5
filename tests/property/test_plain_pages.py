"""Scans whose pages are bytes answer as scans row by row do, byte for byte: two gateways over the same tablets fetch in
turns, one of which never asks for plain pages, while rows are written and deleted, files written, merged and split."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from hbtable.client import scanning
from hbtable.encoding.cell_key import row_of, row_prefix, row_stop
from hbtable.errors import HbtableError
from hbtable.hbase.backend import TableBackend
from hbtable.hbase.calls.scanner_calls import ScannerCalls
from hbtable.hbase.calls.scanner_ids import ScannerIds, unsaved
from hbtable.hbase.calls.scanners import ScannerOptions, Scanners
from hbtable.hbase.codec import binary_answers
from hbtable.hbase.codec.answers import Objects
from hbtable.hbase.codec.interface import ThriftInterface
from hbtable.hbase.codec.thrift_structs import TScan
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, PUT, RowMutation
from hbtable.model.ranges import successor
from hbtable.model.read import ScanPage, ScanRequest
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import TabletRecord
from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.sstable.reader import SSTableReader
from hbtable.tablet.reads import lone_files, plain_pages
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench
from tests.harness.tiers import generated

FAMILIES = {
    b"f": FamilySchema(b"f", max_versions=1, block_bytes=60, block_cache=True),
    b"g": FamilySchema(b"g", max_versions=3, block_bytes=60, locality_group="both"),
    b"h": FamilySchema(b"h", max_versions=1, block_bytes=60, locality_group="both", ttl_seconds=2),
}
SCHEMA = TableSchema(b"t", FAMILIES)
OBJECTS = Objects(ThriftInterface())

ROWS = st.sampled_from([b"a", b"a\x00", b"a\x00\x01", b"b", b"ba", b"c\xff", b"d", b"d\x00\xff", b"e", b"f", b"g"])
COLUMNS = st.tuples(st.sampled_from([b"f", b"f", b"f", b"g", b"h"]), st.sampled_from([b"", b"q", b"r\x00", b"\xff"]))
TIMES = st.sampled_from([SERVER_TIME, SERVER_TIME, 3, 7])
PUTS = st.lists(st.tuples(st.just("put"), ROWS, COLUMNS, TIMES, st.binary(max_size=40)), min_size=1, max_size=12)
STEPS = st.one_of(
    PUTS,
    st.tuples(st.just("load"), st.sampled_from([b"f", b"g", b"h"]), st.integers(1, 40)),
    st.tuples(st.just("delete"), ROWS, COLUMNS, TIMES, st.booleans()),
    st.tuples(st.just("ttl"), ROWS, st.integers(1, 3000)),
    st.sampled_from([("flush",), ("compact",), ("compact",), ("wait",), ("alter",)]),
    st.tuples(st.just("split"), ROWS),
    st.tuples(st.just("fetch"), st.integers(1, 9)),
    st.tuples(st.just("fetch"), st.integers(10, 300)),
)
SCANS = st.builds(
    TScan,
    start_row=st.none() | ROWS,
    stop_row=st.none() | ROWS,
    timestamp=st.none() | st.sampled_from([5, 2**40]),
    columns=st.none() | st.sampled_from([[b"f"], [b"f:q"], [b"f", b"g", b"h"]]),
    caching=st.none(),
    filter=st.none() | st.sampled_from([b"PrefixFilter('b')", b"KeyOnlyFilter()"]),
    batch_size=st.none() | st.sampled_from([1, 2]),
    reversed=st.none() | st.booleans(),
    sort_columns=st.none() | st.booleans(),
    cache_blocks=st.none() | st.booleans(),
)
WHOLE = st.builds(lambda stop, cached: TScan(stop_row=stop, cache_blocks=cached), st.none() | ROWS, st.booleans())


class Tables:
    """One table of some tablets, in the place of the client library's. Counts the pages that were plain."""

    def __init__(self, may_be_plain: bool) -> None:
        self._may_be_plain = may_be_plain
        self.tablets: list[Tablet] = []
        self.plain_rows = 0

    def scan_page(self, request: ScanRequest) -> ScanPage:
        request = request if self._may_be_plain else replace(request, plain=False)
        page = scanning.page(request, self._scan_tablet, lambda: None)
        self.plain_rows += page.plain.rows if page.plain is not None else 0
        return page

    def _scan_tablet(
        self, row: bytes, before: bool, narrow: Callable[[TabletRecord], ScanRequest]
    ) -> tuple[ScanPage, TabletRecord]:
        if before:
            tablet = next(one for one in reversed(self.tablets) if not row or one.range.start < row)
        else:
            tablet = next(one for one in self.tablets if one.range.holds(row) or not row)
        return tablet.scan(narrow(tablet.record)), tablet.record


class Machine:
    """A server with one table, and both gateways."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.schema = SCHEMA
        self.sides = [Tables(True), Tables(False)]
        self.tablets = [bench.open()]
        self.calls = [self._gateway(side) for side in self.sides]
        self.scanners: list[list[int]] = []

    def _gateway(self, side: Tables) -> ScannerCalls:
        runtime = self.bench.runtime
        scanners = Scanners(runtime, ScannerIds(unsaved()), ScannerOptions())
        record = TableRecord(16, TableState.ENABLED, SCHEMA)
        tables: Any = TableBackend(lambda name: side)  # type: ignore[arg-type, return-value]
        budget = MemoryBudget(1 << 30, runtime.sleep, runtime.clock_seconds)
        return ScannerCalls(tables, lambda _: record, scanners, lambda _: None, 64 << 20, lambda: None, budget)

    def open(self, scan: TScan) -> None:
        self.scanners.append([calls.scannerOpenWithScan(b"t", scan, None) for calls in self.calls])

    def fetch(self, count: int) -> None:
        """Of every scanner the next rows, from both gateways: the same bytes, and the same objects."""
        for side in self.sides:
            side.tablets = self.tablets
        for numbers in self.scanners:
            found = [calls.scannerGetList(number, count) for calls, number in zip(self.calls, numbers, strict=True)]
            plain_objects, objects = [repr(OBJECTS._rows(one)) for one in found]  # first: bytes empty the lists
            plain, rows = [_joined(binary_answers.rows(b"head", one)) for one in found]
            assert plain == rows
            assert plain_objects == objects

    def step(self, step: Any) -> None:
        if isinstance(step, list):
            for _, row, (family, qualifier), time, value in step:
                self.mutate(row, PUT, family, qualifier, time, value)
            return
        getattr(self, "do_" + step[0])(*step[1:])

    def mutate(
        self, row: bytes, kind: int, family: bytes, qualifier: bytes, time: int, value: bytes, ttl: int = 0
    ) -> None:
        tablet = next(one for one in self.tablets if one.range.holds(row))
        tablet.mutate([RowMutation(row, [(kind, family, qualifier, time, value)], False, ttl)])

    def do_load(self, family: bytes, count: int) -> None:
        for number in range(count):
            self.mutate(b"b%03d" % number, PUT, family, b"q", SERVER_TIME, b"v%d" % number)

    def do_delete(self, row: bytes, column: tuple[bytes, bytes], time: int, whole: bool) -> None:
        family, qualifier = column
        if whole:
            self.mutate(row, DELETE_FAMILY, family, b"", time, b"")
        else:
            self.mutate(row, DELETE_COLUMN, family, qualifier, time, b"")

    def do_ttl(self, row: bytes, millis: int) -> None:
        self.mutate(row, PUT, b"f", b"q", SERVER_TIME, b"short", millis)

    def do_flush(self) -> None:
        for tablet in self.tablets:
            tablet.flush()

    def do_compact(self) -> None:
        for tablet in self.tablets:
            tablet.compact(True)

    def do_wait(self) -> None:
        self.bench.runtime.sleep(1.5)

    def do_alter(self) -> None:
        """A family gets a time to live, or loses it."""
        family = self.schema.families[b"f"]
        changed = replace(family, ttl_seconds=2**31 - 1 if family.ttl_seconds == 2 else 2)
        version = self.schema.version + 1
        self.schema = replace(self.schema, version=version, families=self.schema.families | {b"f": changed})
        for tablet in self.tablets:
            tablet.schema = self.schema

    def do_split(self, row: bytes) -> None:
        place = next(place for place, one in enumerate(self.tablets) if one.range.holds(row))
        parent = self.tablets[place]
        if not parent.may_split_at(row) or len(self.tablets) > 3:
            return
        parent.freeze_for_unload()
        children = self.bench.split(parent, row)
        parent.close()
        self.tablets[place : place + 1] = children

    def do_fetch(self, count: int) -> None:
        self.fetch(count)


def _joined(answer: bytes | Any) -> bytes:
    return answer if isinstance(answer, bytes) else b"".join(answer)


def same_answers(scans: Sequence[TScan], before: Sequence[Any], between: Sequence[Any]) -> int:
    """The rows that came in plain pages."""
    bench = Bench(schema=SCHEMA)

    def main() -> int:
        machine = Machine(bench)
        for step in before:
            machine.step(step)
        for scan in scans:
            machine.open(scan)
        for step in between:
            machine.step(step)
        for _ in range(4):
            machine.fetch(100)
        held = [*bench.cache._blocks.values(), *bench.cache._protected.values()]
        assert bench.cache.used_bytes == sum(block.memory_bytes for block in held)
        return machine.sides[0].plain_rows

    return bench.run(main)


ARGUMENTS = (
    st.lists(SCANS | WHOLE | st.just(TScan()), min_size=1, max_size=4),
    st.lists(STEPS, min_size=2, max_size=12),
    st.lists(STEPS, max_size=10),
)
THOROUGH = settings(max_examples=generated(80), deadline=None, suppress_health_check=list(HealthCheck))


@THOROUGH
@given(*ARGUMENTS)
def test_both_ways_answer_the_same_bytes(scans: list[TScan], before: list[Any], between: list[Any]) -> None:
    same_answers(scans, before, between)


@pytest.mark.parametrize("scan", [TScan(), TScan(columns=[b"h", b"g", b"f"]), TScan(cache_blocks=False)])
def test_plain_pages_are_what_is_tested(scan: TScan) -> None:
    assert same_answers([scan], [("load", b"f", 40), ("compact",)], [("fetch", 7)]) == 40


def _behind_whatever_row(reader: SSTableReader, number: int) -> bytes:
    keys = reader._index.first_keys
    return row_prefix(row_of(keys[number + 1])) if number + 1 < len(keys) else row_stop(row_of(keys[-1]))


@pytest.mark.parametrize("bug", ["not alone", "time to live", "torn rows", "lost rows"])
def test_planted_bugs_are_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Any] = [("load", b"f", 40), ("compact",)]
    wide = [("put", b"d", (b"f", b"q%d" % number), SERVER_TIME, bytes(20)) for number in range(9)]
    deleted = [("delete", b"b020", (b"f", b"q"), SERVER_TIME, False)]
    steps: dict[str, tuple[list[Any], list[Any]]] = {
        "not alone": (loaded, deleted),
        "time to live": ([("load", b"h", 40), ("compact",)], [("fetch", 10), ("wait",), ("wait",)]),
        "torn rows": ([*loaded, wide, ("compact",)], []),
        "lost rows": (loaded, [("fetch", 10), [("put", b"b009\x00", (b"f", b"q"), SERVER_TIME, b"new")]]),
    }
    assert (same_answers([TScan()], *steps[bug]) > 0) is (bug != "time to live")
    if bug == "not alone":
        monkeypatch.setattr(lone_files, "_is_alone", lambda *_: True)
    elif bug == "time to live":
        monkeypatch.setattr(plain_pages, "_shows_all", lambda *_: True)
    elif bug == "torn rows":
        monkeypatch.setattr(SSTableReader, "row_behind", _behind_whatever_row)
    else:
        monkeypatch.setattr(plain_pages, "successor", lambda row: successor(row + b"\x00"))
    with pytest.raises((AssertionError, HbtableError)):
        same_answers([TScan()], *steps[bug])
