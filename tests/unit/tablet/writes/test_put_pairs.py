"""Puts in columns become the pairs, records and checksums of the same puts one by one, or are left to that way."""

import random
from typing import Any

import pytest

from hbtable.errors import HbtableError, StaleLocation
from hbtable.model.cell import SERVER_TIME
from hbtable.model.put_batch import PutBatch
from hbtable.model.ranges import RowRange
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.layout import LocalityGroupLayout
from hbtable.tablet.writes.apply import HEAVY_BYTES, IsHeavy, WriteBuilder
from hbtable.tablet.writes.checked_write import CheckedWrite
from hbtable.tablet.writes.clock import TabletClock

NOW = 1_700_000_000_000
SCHEMA = TableSchema(b"t", {b"f": FamilySchema(b"f", added_in=3), b"g": FamilySchema(b"g", max_versions=1)})
LARGEST_CELL = 70
LONGEST_ROW = 20


def builder(rows: RowRange) -> tuple[WriteBuilder, TabletClock]:
    clock = TabletClock(lambda: NOW, lambda: 0.0)
    return WriteBuilder(LocalityGroupLayout(SCHEMA), rows, 16, 3, clock, LARGEST_CELL, LONGEST_ROW), clock


def parts(built: CheckedWrite) -> tuple[Any, ...]:
    return (
        built.rows, built.by_stack, built.checksums, b"".join(built.records), built.logged, built.last_sequence,
        built.time,
    )  # fmt: skip


def a_batch(choose: random.Random) -> PutBatch:
    """Mostly of usual puts; each thing that is unusual once in a while."""

    def seldom(unusual: Any, usual: Any) -> Any:
        return unusual if choose.random() < 0.01 else usual

    count = choose.choice((1, 2, 3, 40))
    rows = [
        seldom(choose.choice((b"", b"r\x00w", bytearray(b"r"), "r", None, b"r" * 21)), b"r%d" % choose.randrange(50))
        for _ in range(count)
    ]
    values = [seldom(choose.choice((b"v" * 60, bytearray(b"v"), None)), choose.randbytes(5)) for _ in range(count)]
    family = choose.choice((b"f", b"f", b"f", b"g", b"g", b"g", b"g", b"g", b"h", bytearray(b"f")))
    qualifier = choose.choice((b"q", b"q", b"q", b"q", b"", b"", b"\x00", "q"))
    timestamp = choose.choice((SERVER_TIME, SERVER_TIME, SERVER_TIME, SERVER_TIME, SERVER_TIME, 5))
    return PutBatch(family, qualifier, timestamp, rows, values)


def outcome(make: Any) -> Any:
    try:
        return parts(make())
    except (HbtableError, TypeError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("seed", range(300))
def test_they_are_as_one_by_one(seed: int) -> None:
    choose = random.Random(seed)
    rows = choose.choice((RowRange(), RowRange(), RowRange(b"r1", b"r4"), RowRange(b"r", b"")))
    puts = a_batch(choose)
    is_ahead = choose.random() < 0.2
    (in_columns, its_clock), (one_by_one, other_clock) = builder(rows), builder(rows)
    for clock in (its_clock, other_clock):
        if is_ahead:
            clock.note(b"r7", NOW + 5, True)
    built = in_columns.build_puts(puts, 7)
    assert puts.in_columns
    if built is None:
        assert outcome(lambda: in_columns.build(puts, 7)) == outcome(lambda: one_by_one.build(list(puts), 7))
    else:
        assert parts(built) == parts(one_by_one.build(list(puts), 7))
    assert its_clock.highest == other_clock.highest


def test_usual_ones_are_not_made_one_by_one() -> None:
    puts = PutBatch(b"f", b"q", SERVER_TIME, [b"a", b"b"], [b"1", b"2"])
    assert builder(RowRange(b"a", b"c"))[0].build_puts(puts, 1) is not None


@pytest.mark.parametrize("rows", [RowRange(b"a", b"c"), RowRange(b"b", b""), RowRange(b"b", b"d")])
def test_one_outside_of_the_tablet_is_refused_before_any_is_built(rows: RowRange) -> None:
    made, clock = builder(rows)
    puts = PutBatch(b"f", b"q", SERVER_TIME, [b"a", b"c"], [b"1", b"2"])
    assert made.build_puts(puts, 1) is None
    with pytest.raises(StaleLocation):
        made.build(puts, 1)
    assert clock.highest == 0


def test_none_at_all() -> None:
    assert builder(RowRange())[0].build_puts(PutBatch(b"f", b"q", SERVER_TIME, [], []), 1) is None


def test_heavy_ones_are_left_to_those_who_let_others_run() -> None:
    clock = TabletClock(lambda: NOW, lambda: 0.0)
    made = WriteBuilder(LocalityGroupLayout(SCHEMA), RowRange(), 16, 3, clock, 10 << 20)
    puts = PutBatch(b"f", b"q", SERVER_TIME, [b"a", b"b"], [bytes(HEAVY_BYTES // 2), bytes(HEAVY_BYTES // 2 + 1)])
    assert made.build_puts(puts, 1) is None
    with pytest.raises(IsHeavy):
        made.build(puts, 1)
