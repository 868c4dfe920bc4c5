"""Without writes maintenance comes to an end, whatever happened before, changes of the schema and splits included: each
compaction that is planned makes the next one less likely. What it does changes no answer."""

from dataclasses import replace
from typing import Final
from unittest.mock import patch

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from hbtable.master.tables.family_identities import identified
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, PUT, RowMutation
from hbtable.model.read import ReadSpec, ScanRequest
from hbtable.model.schema import KEEP_DELETED_CELLS, FamilySchema, TableSchema
from hbtable.tablet.compactions import policy
from hbtable.tablet.options import TabletOptions
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench, everything
from tests.harness.tiers import generated

FAMILIES: Final = (b"e", b"f", b"g")
ROWS: Final = (b"a", b"h", b"m", b"s", b"z")
PICK = st.integers(0, 4)
KINDS: Final = ("put", "delete", "put", "delete", "flush", "flush", "group", "drop", "split", "keep")
STEPS = st.lists(
    st.tuples(st.sampled_from(KINDS), PICK, PICK),
    min_size=8,
    max_size=40,
)
GROUPS: Final = ("", "one", "two", "one", "")
ALL: Final = ScanRequest(spec=ReadSpec(max_versions=9))


class History:
    """One tablet, or what it was split into."""

    def __init__(self) -> None:
        self.bench = Bench(1, "sync", TableSchema(b"t", {name: FamilySchema(name) for name in FAMILIES}))
        self.bench.options = TabletOptions(merge_files=3, max_files=4)
        self.tablets: list[Tablet] = []

    def alter(self, families: dict[bytes, FamilySchema]) -> None:
        old = self.bench.schema
        self.bench.schema = identified(old, replace(old, version=old.version + 1, families=families))
        for tablet in self.tablets:
            tablet.schema = self.bench.schema

    def step(self, what: str, one: int, other: int) -> None:
        families = self.bench.schema.families
        name = FAMILIES[other % 3]
        tablet = next(tablet for tablet in self.tablets if tablet.range.holds(ROWS[one]))
        if what == "group":
            self.alter(families | {name: FamilySchema(name, locality_group=GROUPS[one])})
        elif what == "keep" and name in families:
            attributes = ((KEEP_DELETED_CELLS, "TRUE" if one % 2 else "FALSE"),)
            self.alter(families | {name: replace(families[name], attributes=attributes)})
        elif what == "drop" and len(families) > 1:
            self.alter({there: families[there] for there in families if there != name})
        elif what == "flush":
            tablet.flush()
        elif what == "split" and len(self.tablets) < 3 and tablet.may_split_at(ROWS[one]):
            tablet.freeze_for_unload()
            place = self.tablets.index(tablet)
            self.tablets[place : place + 1] = self.bench.split(tablet, ROWS[one])
            tablet.close()
        elif what in ("put", "delete") and name in families:
            kind = PUT if what == "put" else (DELETE_COLUMN, DELETE_FAMILY)[other % 2]
            qualifier = b"" if kind == DELETE_FAMILY else b"q"
            tablet.mutate([RowMutation(ROWS[one], [(kind, name, qualifier, SERVER_TIME, b"")])])

    def contents(self) -> list[object]:
        return [everything(tablet, ALL) for tablet in self.tablets]


def settle(tablet: Tablet) -> None:
    files = tablet.status().sstables
    for _ in range(files + 2):
        if not tablet.needs_compaction():
            return
        tablet.compact(False)
    raise AssertionError(f"{files} SSTables, and after {files + 2} compactions: {tablet.needs_compaction()}")


@pytest.mark.slow
@settings(max_examples=generated(200), deadline=None)
@given(STEPS)
def test_maintenance_ends_and_changes_no_answer(steps: list[tuple[str, int, int]]) -> None:
    history = History()

    def main() -> None:
        history.tablets = [history.bench.open()]
        for step in steps:
            history.step(*step)
        for tablet in history.tablets:
            settle(tablet)
        for tablet in history.tablets:
            tablet.flush()
        before = history.contents()
        for tablet in history.tablets:
            settle(tablet)
            assert not tablet._state.version.dropped()
        assert history.contents() == before

    with patch.object(policy, "_MANY_CELLS", 4):
        history.bench.run(main)


def test_markers_in_a_new_grouping_are_not_rewritten_for_ever() -> None:
    """The history that once rewrote the same SSTable twenty times in five seconds."""
    steps: list[tuple[str, int, int]] = [("put", row, 1) for row in range(5)] + [("flush", 0, 0)]
    steps += [("group", 1, 1), ("group", 1, 2)]
    steps += [("delete", row, family) for row in range(5) for family in (1, 2)] + [("flush", 0, 0)]
    test_maintenance_ends_and_changes_no_answer.hypothesis.inner_test(steps)
