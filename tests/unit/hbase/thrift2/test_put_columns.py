"""Thrift2's puts in columns are the same puts one by one, or are left to that way, which says what is right."""

import random
from typing import Any

import pytest

from hbtable.hbase.codec.thrift2_structs import TCellVisibility, TColumnValue, TPut
from hbtable.hbase.thrift2.conversion import put_mutation
from hbtable.hbase.thrift2.put_columns import puts_in_columns
from hbtable.model.mutation import MAX_ROW_BYTES

LARGEST_CELL = 60


def no_pause() -> None:
    pass


def a_put(choose: random.Random, column: tuple[bytes, bytes], unusual: float) -> TPut:
    def seldom(other: list[Any], usual: Any) -> Any:
        return choose.choice(other) if choose.random() < unusual else usual

    cells = [
        TColumnValue(
            seldom([b"", b"g", b"f:f"], column[0]),
            seldom([b"", b"other"], column[1]),
            seldom([b"v" * 50, None], choose.randbytes(choose.randrange(9))),
            seldom([0, 5, -5], None),
            seldom([b"tag"], None),
            seldom([4], None),
        )
        for _ in range(seldom([0, 2], 1))
    ]
    return TPut(
        seldom([b"", b"r" * (MAX_ROW_BYTES + 1), None], b"row%d" % choose.randrange(9)),
        cells,
        seldom([7, -1], None),
        choose.choice([None, {}, seldom([{b"_ttl": bytes(7) + b"\x09"}, {b"_ttl": b"bad"}, {b"a": b"b"}], {})]),
        seldom([0, 1, 2, 4], None),
        seldom([TCellVisibility(b"secret"), TCellVisibility(None)], None),
    )


def plain(mutation: Any) -> tuple[Any, ...]:
    return mutation.row, mutation.operations, mutation.skip_log, mutation.ttl_millis


@pytest.mark.parametrize("unusual", [0.0, 0.005, 0.05])
def test_they_are_as_one_by_one(unusual: float) -> None:
    taken = 0
    for seed in range(400):
        choose = random.Random(seed)
        column = choose.choice([(b"f", b"q"), (b"f", b""), (b"family", b"with:colon"), (b"f:f", b"q")])
        puts = [a_put(choose, column, unusual) for _ in range(choose.randint(1, 12))]
        batch = puts_in_columns(puts, LARGEST_CELL, no_pause)
        if batch is not None:
            taken += 1
            assert batch.in_columns
            one_by_one = [put_mutation(put, LARGEST_CELL, no_pause) for put in puts]
            assert list(map(plain, batch)) == list(map(plain, one_by_one)), f"seed {seed}"
    assert taken == 400 if not unusual else 0 < taken < 400


def test_columns_that_differ_in_a_later_part_are_noticed() -> None:
    pauses: list[int] = []
    puts = [TPut(b"r%d" % number, [TColumnValue(b"f", b"q", b"v")]) for number in range(3000)]
    batch = puts_in_columns(puts, LARGEST_CELL, lambda: pauses.append(1))
    assert batch is not None
    assert (len(batch.rows), len(batch.values), len(pauses)) == (3000, 3000, 11)
    puts[2000] = TPut(b"r", [TColumnValue(b"f", b"p", b"v")])
    assert puts_in_columns(puts, LARGEST_CELL, no_pause) is None


def test_a_row_that_is_too_long_is_left_to_be_refused() -> None:
    puts = [TPut(b"r" * length, [TColumnValue(b"f", b"q", b"v")]) for length in (1, MAX_ROW_BYTES)]
    assert puts_in_columns(puts, 1 << 20, no_pause) is not None
    puts.append(TPut(b"r" * (MAX_ROW_BYTES + 1), [TColumnValue(b"f", b"q", b"v")]))
    assert puts_in_columns(puts, 1 << 20, no_pause) is None
