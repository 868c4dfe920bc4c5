"""A mutation of one cell takes a shorter way than one of several; the outcome is the same."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hbtable.hbase.conversion import row_mutation
from hbtable.hbase.errors import BadArgument
from hbtable.model.mutation import MAX_ROW_BYTES

ROWS = st.sampled_from([None, b"", b"r", b"x" * MAX_ROW_BYTES, b"x" * (MAX_ROW_BYTES + 1)]) | st.binary(max_size=9)
COLUMNS = st.sampled_from([None, b"", b"f", b"f:", b"f:q", b":", b"f:q:r"]) | st.binary(max_size=9)
VALUES = st.none() | st.binary(max_size=60)


def outcome(row: bytes | None, mutations: list[Any], cell_bytes: int, deletes_first: bool) -> tuple[Any, ...]:
    """Of the first of equal mutations."""
    try:
        made = row_mutation(row, mutations, 7, 9, cell_bytes, deletes_first, lambda: None)
    except BadArgument as error:
        return "refused", str(error)
    assert len(made.operations) == len(mutations)
    return made.row, made.operations[0], made.skip_log, made.ttl_millis, made.ttls, made.checksum


@given(ROWS, COLUMNS, VALUES, st.booleans(), st.booleans(), st.sampled_from([30, 60, 10**6]), st.booleans())
@example(b"r", b"f:q", b"12345", False, True, 29, True)  # 1 + 3 + 5 + 20: what just fits
@example(b"r", b"f:q", b"123456", False, True, 29, True)
@example(b"x" * (MAX_ROW_BYTES + 1), b"f:q", b"v", False, True, 10**6, True)
def test_one_is_as_the_first_of_two(
    row: bytes | None,
    column: bytes | None,
    value: bytes | None,
    is_delete: bool,
    to_log: bool,
    cell_bytes: int,
    deletes_first: bool,
) -> None:
    mutation = (is_delete, column, value, to_log)
    one = outcome(row, [mutation], cell_bytes, deletes_first)
    assert one == outcome(row, [mutation, mutation], cell_bytes, deletes_first)


@pytest.mark.parametrize("mutations", [None, []])
def test_none_at_all(mutations: list[Any] | None) -> None:
    if mutations is None:
        with pytest.raises(BadArgument):
            row_mutation(b"r", mutations, 7, 0, 100, True, lambda: None)
    else:
        assert row_mutation(b"r", mutations, 7, 0, 100, True, lambda: None).operations == []
