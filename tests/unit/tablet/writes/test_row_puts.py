"""Rows that are puts into several columns become the pairs, records and checksums of the same puts one by one, or are
left to that way. The way of very many cells goes cell by cell, so it says what is right."""

import random
from dataclasses import replace
from typing import Any

import pytest

from hbtable.errors import HbtableError
from hbtable.model.cell import MAX_TIMESTAMP, SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, PUT, RowMutation
from hbtable.model.ranges import RowRange
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.layout import LocalityGroupLayout
from hbtable.tablet.writes.apply import HEAVY_BYTES, IsHeavy, WriteBuilder
from hbtable.tablet.writes.checked_write import CheckedWrite
from hbtable.tablet.writes.clock import TabletClock

NOW = 1_700_000_000_000
FAMILIES = {
    b"f": FamilySchema(b"f", added_in=3),
    b"g": FamilySchema(b"g", max_versions=1),
    b"n": FamilySchema(b"n", new_version_behavior=True),
}
APART = TableSchema(b"t", FAMILIES)
TOGETHER = TableSchema(b"t", {name: replace(family, locality_group="one") for name, family in FAMILIES.items()})
LARGEST_CELL = 70
COLUMNS = [(b"f", b"q"), (b"f", b"r"), (b"g", b"q"), (b"f", b""), (b"n", b"q"), (b"f", b"longer"), (b"g", b"s")]


def builder(schema: TableSchema) -> tuple[WriteBuilder, TabletClock]:
    clock = TabletClock(lambda: NOW, lambda: 0.0)
    return WriteBuilder(LocalityGroupLayout(schema), RowRange(b"a", b"x"), 16, 3, clock, LARGEST_CELL, 20), clock


def parts(built: CheckedWrite) -> tuple[Any, ...]:
    return (
        built.rows, built.by_stack, built.checksums, b"".join(built.records), built.logged, built.last_sequence,
        built.time,
    )  # fmt: skip


def some_rows(choose: random.Random, unusual: float) -> list[RowMutation]:
    """Mostly puts into the columns of the row before; each thing that is unusual once in a while."""

    def seldom(other: Any, usual: Any) -> Any:
        return choose.choice(other) if choose.random() < unusual else usual

    rows = []
    columns = choose.sample(COLUMNS, choose.randint(1, 5))
    for _ in range(choose.choice((1, 2, 3, 30))):
        if choose.random() < 0.2:
            columns = choose.choices(COLUMNS, k=choose.randint(1, 5))  # perhaps one of them twice
        time = choose.choice((SERVER_TIME, SERVER_TIME, 5))
        operations = [
            (
                seldom([DELETE_COLUMN, 8.0, 9, None], PUT),
                seldom([b"missing", "f", bytearray(b"f"), None], family),
                seldom([b"\x00", b"a\x00b", "q", bytearray(b"q"), None], qualifier),
                seldom([5, 5.0, MAX_TIMESTAMP, -3, "5", None], time),
                seldom([b"v" * 60, "v", bytearray(b"v"), None], choose.randbytes(choose.randint(0, 9))),
            )
            for family, qualifier in columns
        ]
        row = seldom([b"a\x00b", b"", b"z", "b", None, b"b" * 21], b"b%d" % choose.randrange(20))
        mutation = RowMutation(row, operations, seldom([True], False), seldom([1000], 0))
        if choose.random() < unusual:
            mutation.ttls = [choose.choice((0, 7)) for _ in operations]
        rows.append(mutation)
    return rows


def outcome(make: Any) -> Any:
    try:
        return parts(make())
    except (HbtableError, TypeError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("schema", [TOGETHER, APART], ids=["together", "apart"])
@pytest.mark.parametrize("unusual", [0.0, 0.01, 0.1])
def test_they_are_as_cell_by_cell(schema: TableSchema, unusual: float) -> None:
    for seed in range(300):
        choose = random.Random(seed)
        rows = some_rows(choose, unusual)
        is_ahead = choose.random() < unusual
        (in_rows, its_clock), (by_cells, other_clock) = builder(schema), builder(schema)
        for clock in (its_clock, other_clock):
            if is_ahead:
                clock.note(b"b7", NOW + 5, True)
        found = outcome(lambda: in_rows.build(rows, 7))  # noqa: B023 - called at once
        due = outcome(lambda: by_cells.build_in_parts(rows, 7, lambda: None))  # noqa: B023
        assert found == due, f"seed {seed}"
        assert its_clock.highest == other_clock.highest


@pytest.mark.parametrize("schema", [TOGETHER, APART], ids=["together", "apart"])
def test_usual_ones_are_not_made_cell_by_cell(schema: TableSchema, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_due(*_: object) -> None:
        raise AssertionError("cell by cell")

    monkeypatch.setattr(WriteBuilder, "_any", not_due)
    rows = some_rows(random.Random(3), 0.0)
    assert builder(schema)[0].build(rows, 1).logged == len(rows)


def test_a_row_of_large_cells_is_weighed_cell_by_cell() -> None:
    clock = TabletClock(lambda: NOW, lambda: 0.0)
    made = WriteBuilder(LocalityGroupLayout(APART), RowRange(), 16, 3, clock, 10 << 20)
    value = bytes(HEAVY_BYTES // 2)
    row = RowMutation(b"a", [(PUT, b"f", b"q", SERVER_TIME, value), (PUT, b"f", b"r", SERVER_TIME, value)])
    with pytest.raises(IsHeavy):
        made.build([row], 1)
