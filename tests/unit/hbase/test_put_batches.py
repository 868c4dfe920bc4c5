"""Rows of one put each are taken together where each of them alone would be taken, and mean the same."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hbtable.hbase.conversion import row_mutation
from hbtable.hbase.errors import BadArgument
from hbtable.hbase.put_batches import put_batch
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import MAX_ROW_BYTES
from hbtable.model.put_batch import PutBatch

CELL_BYTES = 40
ROWS = st.sampled_from([b"r", b"s", b"t", b"t", b"x" * 20]) | st.binary(max_size=3)
COLUMNS = st.sampled_from([b"f:q"] * 20 + [b"f:", b"f", b"", b":", b"f:q:r"])
VALUES = st.sampled_from([b"v", b"", b"v" * 16, b"v" * 17])


def one_by_one(batches: list[Any]) -> Iterator[Any]:
    for row, column, value in batches:
        made = row_mutation(row, [(False, column, value, True)], SERVER_TIME, 0, CELL_BYTES, False, lambda: None)
        yield made.row, made.operations, made.skip_log, made.ttl_millis


@given(st.lists(st.tuples(ROWS, COLUMNS, VALUES), min_size=1, max_size=6))
def test_it_means_the_same(batches: list[Any]) -> None:
    puts = put_batch(batches, SERVER_TIME, CELL_BYTES, lambda: None)
    if puts is not None:
        assert [(it.row, it.operations, it.skip_log, it.ttl_millis) for it in puts] == list(one_by_one(batches))


@given(st.lists(st.tuples(ROWS, st.just(b"f:q"), VALUES), min_size=2, max_size=6))
def test_none_is_left_out_that_could_be_taken(batches: list[Any]) -> None:
    most = max(len(row) for row, _, _ in batches) + max(len(value) for _, _, value in batches) + 23
    try:
        list(one_by_one(batches))
    except BadArgument:
        assert put_batch(batches, SERVER_TIME, CELL_BYTES, lambda: None) is None
    else:
        assert most > CELL_BYTES or put_batch(batches, SERVER_TIME, CELL_BYTES, lambda: None) is not None


def test_rows_of_several_kinds_are_not_taken_together() -> None:
    put, others = (b"r", b"f:q", b"v"), (b"r", [(False, b"f:q", b"v", False)])
    assert put_batch([put, others], SERVER_TIME, CELL_BYTES, lambda: None) is None
    assert put_batch([others, others], SERVER_TIME, CELL_BYTES, lambda: None) is None


def test_rows_without_a_column_are_not_put_into_that_of_later_ones() -> None:
    without: list[Any] = [(b"r%d" % n, b"", b"v") for n in range(1024)]
    assert put_batch([*without, (b"s", b"f:q", b"v")], SERVER_TIME, CELL_BYTES, lambda: None) is None


def test_a_row_that_is_too_long() -> None:
    long = (b"r" * (MAX_ROW_BYTES + 1), b"f:q", b"v")
    assert put_batch([long, long], SERVER_TIME, 1 << 20, lambda: None) is None


def test_very_many_leave_others_their_turn() -> None:
    paused: list[int] = []
    puts = put_batch([(b"%d" % n, b"f:q", b"v%d" % n) for n in range(5000)], 5, 1 << 20, lambda: paused.append(1))
    assert puts is not None
    assert (len(puts), puts.rows[4999], puts.values[4999], puts.timestamp) == (5000, b"4999", b"v4999", 5)
    assert len(paused) >= 4


@pytest.mark.parametrize("protocol", ["binary", "compact"])
def test_a_batch_of_a_client_stays_in_columns(gateway: Any, connect: Any, protocol: str) -> None:
    client = connect(gateway, protocol, True)
    put = [client.thrift.Mutation(column=b"f:q", value=b"v" * 300)]
    batches = [client.thrift.BatchMutation(row=b"%d" % number, mutations=put) for number in range(100)]
    taken: list[Any] = []
    gateway.table.mutate = taken.append
    client.call("mutateRows", tableName=b"t", rowBatches=batches, attributes={})
    assert [(type(puts), puts.in_columns, puts.rows) for puts in taken] == [
        (PutBatch, True, [b"%d" % number for number in range(100)])
    ]
