"""A tablet whose family changes its KEEP_DELETED_CELLS, against what HBase's guide says of it.

The model knows every cell and marker by its time. A read up to a time counts no later marker while the family keeps
deleted cells. What a flush or a major compaction takes away while it does not keep them is gone for good. Which markers
a major compaction drops is seen in a raw scan: those that it drops must mask nothing that is stored.
"""

from dataclasses import replace
from typing import NamedTuple

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_FAMILY_VERSION, DELETE_VERSION, PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.read import ALL_VERSIONS, ReadSpec, ScanRequest
from hbtable.model.schema import KEEP_DELETED_CELLS, FamilySchema, TableSchema
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench, everything
from tests.harness.tiers import generated

ROWS = (b"a", b"m")
QUALIFIERS = (b"", b"p", b"q")
OF_FAMILY = (DELETE_FAMILY, DELETE_FAMILY_VERSION)
KINDS = st.sampled_from([PUT, PUT, PUT, DELETE_COLUMN, DELETE_VERSION, DELETE_FAMILY, DELETE_FAMILY_VERSION])
TIMES = st.integers(1, 7)
VALUES = st.sampled_from([b"FALSE", b"TRUE", b"TTL"])
MANY = 70
"""Versions of one column at once: more than a read takes in one list (tablet.reads.hot_columns)."""


class Thing(NamedTuple):
    """A put or a marker. `qualifier`: b"" of a family's marker."""

    row: bytes
    qualifier: bytes
    kind: int
    time: int

    def masks(self, put: "Thing") -> bool:
        if self.kind == PUT or self.row != put.row:
            return False
        if self.kind not in OF_FAMILY and self.qualifier != put.qualifier:
            return False
        return self.time == put.time if self.kind in (DELETE_VERSION, DELETE_FAMILY_VERSION) else put.time <= self.time


class KeepingMachine(RuleBasedStateMachine):
    """Family f keeps every version, so that only markers decide what is seen."""

    @initialize(seed=st.integers(0, 100), value=VALUES)
    def begin(self, seed: int, value: bytes) -> None:
        self.bench = Bench(seed, "sync", TableSchema(b"t", {b"f": self.family(value)}))
        self.in_memory: set[Thing] = set()
        self.in_files: set[Thing] = set()
        self.tablets: list[Tablet] = []
        self.records = [self.bench.records]
        self.bench.run(self.start)

    def family(self, value: bytes) -> FamilySchema:
        self.keeps = value != b"FALSE"
        return FamilySchema(b"f", max_versions=1000, attributes=((KEEP_DELETED_CELLS, value.decode()),))

    def start(self) -> None:
        self.bench.start_server()
        self.tablets = [self.bench.load(records) for records in self.records]

    def tablet_of(self, row: bytes) -> Tablet:
        return next(tablet for tablet in self.tablets if tablet.range.holds(row))

    # ------------------------------------------------------------ changes

    @rule(row=st.sampled_from(ROWS), qualifier=st.sampled_from(QUALIFIERS), kind=KINDS, time=TIMES)
    def write(self, row: bytes, qualifier: bytes, kind: int, time: int) -> None:
        thing = Thing(row, b"" if kind in OF_FAMILY else qualifier, kind, time)
        operation = (kind, b"f", thing.qualifier, time, b"v" if kind == PUT else b"")
        self.bench.run(self.tablet_of(row).mutate, [RowMutation(row, [operation])])
        self.in_memory.add(thing)

    @rule(row=st.sampled_from(ROWS), qualifier=st.sampled_from(QUALIFIERS))
    def write_many_versions(self, row: bytes, qualifier: bytes) -> None:
        times = range(10, 10 + MANY)
        operations = [(PUT, b"f", qualifier, time, b"v") for time in times]
        self.bench.run(self.tablet_of(row).mutate, [RowMutation(row, operations)])
        self.in_memory |= {Thing(row, qualifier, PUT, time) for time in times}

    @rule(kind=st.sampled_from([DELETE_COLUMN, DELETE_FAMILY, DELETE_VERSION]), time=st.sampled_from([40, 79]))
    def delete_among_many(self, kind: int, time: int) -> None:
        self.write(b"a", b"q", kind, time)

    @rule(value=VALUES)
    def alter(self, value: bytes) -> None:
        schema = self.bench.schema
        self.bench.schema = replace(schema, version=schema.version + 1, families={b"f": self.family(value)})
        for tablet in self.tablets:
            tablet.schema = self.bench.schema

    @rule()
    def flush(self) -> None:
        for tablet in self.tablets:
            self.bench.run(tablet.flush)
        self.flushed()

    def flushed(self) -> None:
        if not self.keeps:
            self.in_memory = {one for one in self.in_memory if not _is_masked(one, self.in_memory)}
        self.in_files |= self.in_memory
        self.in_memory = set()

    @rule()
    def major_compact(self) -> None:
        for tablet in self.tablets:
            self.bench.run(tablet.compact, True)
        self.flushed()
        if not self.keeps:
            self.in_files = {one for one in self.in_files if one.kind == PUT and not _is_masked(one, self.in_files)}
            return
        gone = self.in_files - self.stored()
        for marker in gone:
            assert marker.kind != PUT
            assert not any(marker.masks(one) for one in self.in_files if one.kind == PUT)
        self.in_files -= gone

    @rule()
    def restart(self) -> None:
        self.bench.memory = self.bench.memory.crash_clone(self.bench.runtime.random)
        self.bench.fs = self.bench.memory
        self.bench.run(self.start)

    @rule()
    def split(self) -> None:
        parent = self.tablets[0]
        if len(self.tablets) > 1 or not parent.may_split_at(b"m"):
            return

        def main() -> None:
            parent.freeze_for_unload()
            self.tablets = self.bench.split(parent, b"m")
            parent.close()
            self.records = self.bench.children[-2:]

        self.bench.run(main)
        self.flushed()

    # ------------------------------------------------------------ reads

    def stored(self) -> set[Thing]:
        found: set[Thing] = set()
        for row, cells in self.scanned(ScanRequest(spec=ReadSpec(max_versions=ALL_VERSIONS, raw=True))):
            found |= {Thing(row, column[2:], value[0], time) for column, time, value in cells}
        return found

    def scanned(self, request: ScanRequest) -> list[tuple[bytes, list[tuple[bytes, int, bytes]]]]:
        rows: list[tuple[bytes, list[tuple[bytes, int, bytes]]]] = []
        for tablet in reversed(self.tablets) if request.reversed else self.tablets:
            rows += self.bench.run(everything, tablet, request)
        return rows

    def expected(self, row: bytes, low: int, high: int, qualifier: bytes | None = None) -> list[tuple[bytes, int]]:
        things = self.in_memory | self.in_files
        markers = {one for one in things if one.time < high or not self.keeps}
        puts = [one for one in things if one.kind == PUT and one.row == row and low <= one.time < high]
        seen = [one for one in puts if not _is_masked(one, markers) and qualifier in (None, one.qualifier)]
        return sorted(((b"f:" + one.qualifier, one.time) for one in seen), key=lambda cell: (cell[0], -cell[1]))

    @invariant()
    def nothing_is_stored_that_the_model_does_not_know(self) -> None:
        assert self.stored() == self.in_memory | self.in_files

    @invariant()
    def reads_up_to_a_time_agree(self) -> None:
        for low, high in ((0, MAX_TIMESTAMP), (0, 4), (2, 6), (0, 41)):
            whole = {row: cells for row in ROWS if (cells := self.expected(row, low, high))}
            spec = ReadSpec(min_timestamp=low, max_timestamp=high, max_versions=ALL_VERSIONS)
            for request in (
                ScanRequest(spec=spec),
                ScanRequest(spec=spec, reversed=True),
                ScanRequest(spec=spec, cells_per_row=2, max_rows=1),
                ScanRequest(spec=ReadSpec(max_versions=ALL_VERSIONS), family_times={b"f": (low, high)}),
                ScanRequest(RowRange(b"a", b"z"), replace(spec, columns={b"f": None})),
            ):
                assert _by_row(self.scanned(request)) == whole, request
            for row in ROWS:
                read = self.tablet_of(row).read_rows
                assert _by_row(self.bench.run(read, [row], spec)).get(row, []) == self.expected(row, low, high)
                named = replace(spec, columns={b"f": frozenset((b"q",))})
                assert _by_row(self.bench.run(read, [row], named)).get(row, []) == self.expected(row, low, high, b"q")
                newest = replace(named, max_versions=1)
                answer = _by_row(self.bench.run(read, [row], newest)).get(row, [])
                assert answer == self.expected(row, low, high, b"q")[:1]


def _is_masked(thing: Thing, others: set[Thing]) -> bool:
    return thing.kind == PUT and any(other.masks(thing) for other in others)


def _by_row(rows: list[tuple[bytes, list[tuple[bytes, int, bytes]]]]) -> dict[bytes, list[tuple[bytes, int]]]:
    found: dict[bytes, list[tuple[bytes, int]]] = {}
    for row, cells in rows:
        found.setdefault(row, []).extend((column, time) for column, time, _ in cells)
    return found


TestDeletedCells = KeepingMachine.TestCase
TestDeletedCells.settings = settings(max_examples=generated(12), stateful_step_count=20, deadline=None)
TestDeletedCells = pytest.mark.filterwarnings("default")(TestDeletedCells)
