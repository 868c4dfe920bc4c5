"""What the active memtable alone tells of a column's newest cell is what a read of all sources tells."""

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from hbtable.memtable.memtable import Memtable
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import (
    DELETE_COLUMN,
    DELETE_FAMILY,
    DELETE_FAMILY_VERSION,
    DELETE_VERSION,
    PUT,
    RowMutation,
)
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.reads import newest_write as newest
from hbtable.tablet.reads.newest_write import newest_write
from hbtable.tablet.reads.reading import newest_version
from hbtable.tablet.tablet import Tablet
from tests.harness.tablet_bench import Bench
from tests.harness.tiers import generated

FAMILIES = {
    b"f": FamilySchema(b"f"),
    b"n": FamilySchema(b"n", new_version_behavior=True),
    b"t": FamilySchema(b"t", ttl_seconds=2),
}
SCHEMA = TableSchema(b"t", FAMILIES)
ROWS = (b"a", b"b\x00")
QUALIFIERS = (b"", b"q", b"r\x00")
WRITES = st.tuples(
    st.sampled_from([PUT, PUT, PUT, DELETE_COLUMN, DELETE_FAMILY, DELETE_FAMILY_VERSION, DELETE_VERSION]),
    st.sampled_from(ROWS),
    st.sampled_from([b"f", b"f", b"f", b"n", b"t"]),
    st.sampled_from(QUALIFIERS),
    st.sampled_from([SERVER_TIME, 3, 5, 2**50]),
    st.sampled_from([0, 0, 0, 50]),
)
STEPS = st.lists(WRITES | st.sampled_from(["flush", "compact", "wait", "regroup"]), min_size=1, max_size=15)


def told(steps: list[Any]) -> int:
    """How often the memtable could tell. Every time it must be right."""
    bench = Bench(schema=SCHEMA)

    def main() -> int:
        tablet, schema, count = bench.open(), SCHEMA, 0
        for step in steps:
            if step == "flush" or step == "compact":
                tablet.flush() if step == "flush" else tablet.compact(True)
            elif step == "wait":
                bench.runtime.sleep(1.5)
            elif step == "regroup":
                family = replace(schema.families[b"f"], locality_group="other")
                families = schema.families | {b"f": family}
                schema = replace(schema, version=schema.version + 1, families=families)
                tablet.schema = schema
            else:
                kind, row, family, qualifier, time, ttl = step
                kind = DELETE_COLUMN if kind == DELETE_VERSION and time == SERVER_TIME else kind
                operation = (kind, family, qualifier, time, b"%d" % count if kind == PUT else b"")
                tablet.mutate([RowMutation(row, [operation], False, ttl if kind == PUT else 0)])
            count += _compared(tablet)
        return count

    return bench.run(main)


def _compared(tablet: Tablet) -> int:
    count = 0
    for row in ROWS:
        for family in FAMILIES:
            for qualifier in QUALIFIERS:
                cell = newest_write(tablet._state, row, family, qualifier)
                if cell is not None:
                    assert (cell, 0) == newest_version(tablet._state, row, family, qualifier)
                    count += 1
    return count


@settings(max_examples=generated(80), deadline=None)
@given(STEPS)
def test_the_memtable_is_right(steps: list[Any]) -> None:
    told(steps)


PUT_NOW = (PUT, b"a", b"f", b"q", SERVER_TIME, 0)
PUT_OLD = (PUT, b"a", b"f", b"q", 5, 0)


def test_the_memtable_can_tell() -> None:
    assert told([PUT_NOW, "flush", PUT_NOW, PUT_NOW]) == 3


@pytest.mark.parametrize("bug", ["a family marker", "a file as new"])
def test_planted_bugs_are_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if bug == "a family marker":
        steps: list[Any] = [PUT_OLD, (DELETE_FAMILY, b"a", b"f", b"", 5, 0)]
        told(steps)
        monkeypatch.setattr(Memtable, "holds_any", lambda *_: False)
    else:
        steps = [PUT_NOW, "flush", PUT_OLD]
        told(steps)
        monkeypatch.setattr(newest, "_is_older", lambda *_: True)
    with pytest.raises(AssertionError):
        told(steps)
