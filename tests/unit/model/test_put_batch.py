"""Puts in columns are a sequence of mutations to whoever looks, and are made for nobody else."""

import pytest

from hbtable.errors import InvalidRequest
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation, keep_checksums
from hbtable.model.put_batch import PutBatch, first_row, puts_in_columns, rows_of

ROWS = [b"a", b"b", b"a"]


def batch() -> PutBatch:
    return PutBatch(b"f", b"q", SERVER_TIME, ROWS, [b"1", b"2", b"3"])


def test_its_mutations_are_those_puts() -> None:
    puts = batch()
    assert [(one.row, one.operations) for one in puts] == [
        (row, [(PUT, b"f", b"q", SERVER_TIME, value)]) for row, value in zip(ROWS, (b"1", b"2", b"3"), strict=True)
    ]
    assert puts[1].row == b"b"
    assert [one.row for one in puts[1:]] == [b"b", b"a"]
    assert len(puts) == 3


def test_what_is_kept_in_a_mutation_stays() -> None:
    puts = batch()
    keep_checksums(puts)
    assert all(one.checksum for one in puts)
    assert all(one.checksum for one in puts[1:])
    assert puts[0] is puts[0]


def test_it_is_in_columns_until_a_mutation_is_looked_at() -> None:
    puts = batch()
    assert rows_of(puts) == ROWS
    assert first_row(puts) == b"a"
    part = puts_in_columns(puts[1:])
    assert part is not None
    assert (part.rows, part.values) == ([b"b", b"a"], [b"2", b"3"])
    assert puts_in_columns(puts) is puts
    assert puts[0].checksum == 0
    assert puts_in_columns(puts) is None
    assert puts_in_columns(puts[1:]) is None
    assert rows_of(puts) == ROWS


def test_other_sequences_are_not_in_columns() -> None:
    mutations = [RowMutation(row, []) for row in ROWS]
    assert puts_in_columns(mutations) is None
    assert rows_of(mutations) == ROWS
    assert first_row(mutations) == b"a"


def test_a_first_row_that_is_no_bytes_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="the row"):
        first_row([RowMutation("a", [])])  # type: ignore[arg-type]
