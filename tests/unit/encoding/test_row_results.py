"""Rows as Thrift answers them, made of sorted pairs: the bytes that the gateway makes of what a reader sees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hbtable.encoding.cell_key import FLAG_TTL, Pair, cell_key
from hbtable.encoding.row_results import row_results, rows_of
from hbtable.hbase.codec import binary_answers
from hbtable.merge.rules import FamilyRules
from hbtable.merge.visibility import rows
from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.mutation import DELETE_COLUMN, PUT
from hbtable.model.read import PlainSlices

RULES = {b"f": FamilyRules(3), b"g\x017": FamilyRules(1)}
NAMES = st.sampled_from([b"a", b"a\x00", b"a\x00\x01", b"b", b"\xff", b"c\xff"])
CELLS = st.dictionaries(
    st.tuples(NAMES, st.sampled_from(sorted(RULES)), st.just(b"") | NAMES),
    # Times, lengths and columns that neighbours have in common, and that they have not.
    st.tuples(
        st.sampled_from([0, 5, 6, MAX_TIMESTAMP]) | st.integers(0, MAX_TIMESTAMP),
        st.integers(1, 2**40),
        st.sampled_from([b"", b"x", b"y"]) | st.binary(max_size=30),
    ),
    max_size=12,
)


# Qualifiers that look, in a key, like the end of a row and another column.
HOSTILE = st.sampled_from([b"", b"q", b"\xff", b"\xffq", b"\x01f\x00", b"\x01f\x00q", b"\x01", b"\x01f"])


@st.composite
def rows_of_one_column(draw: st.DrawFn) -> dict[tuple[bytes, bytes, bytes], tuple[int, int, bytes]]:
    """As CELLS: mostly one cell in each row, all of one column; now and then another one in between."""
    family, qualifier = draw(st.sampled_from(sorted(RULES))), draw(HOSTILE)
    row = st.binary(min_size=1, max_size=4) | st.sampled_from([b"row1", b"row2", b"row3", b"f", b"f\x00"])
    cell = st.tuples(st.sampled_from([5, 6]) | st.integers(0, MAX_TIMESTAMP), st.integers(1, 9), st.binary(max_size=3))
    cells = {(name, family, qualifier): found for name, found in draw(st.dictionaries(row, cell, max_size=12)).items()}
    other = st.tuples(row, st.sampled_from(sorted(RULES)), HOSTILE)
    return cells | draw(st.dictionaries(other, cell, max_size=draw(st.sampled_from([0, 0, 1]))))


@given(CELLS | rows_of_one_column())
def test_plain_cells_are_what_a_reader_sees(
    cells: dict[tuple[bytes, bytes, bytes], tuple[int, int, bytes]],
) -> None:
    pairs: list[Pair] = sorted(
        (cell_key(*column, timestamp, PUT, sequence), value) for column, (timestamp, sequence, value) in cells.items()
    )
    seen = list(rows([pairs], RULES, None, 0, MAX_TIMESTAMP, 1, 0))
    results = row_results([key for key, _ in pairs], [value for _, value in pairs])
    if results is None:
        columns = [column for _, found in seen for column, _, _ in found if len(found) > 1]
        assert any(not column.isascii() or b"\x00" in column for column in columns)
        return
    answer = binary_answers.rows(b"", seen)
    assert answer == b"\x0f\x00\x00\x0c" + len(seen).to_bytes(4, "big") + results.data + b"\x00"
    assert rows_of(PlainSlices([results.data], len(seen), 0)) == [
        (row, binary_answers.in_map_order(found)) for row, found in seen
    ]
    assert results.values(0, len(pairs)) == [value for _, value in pairs]
    for number, (row, found) in enumerate(seen):
        assert results.slice(number, number + 1) in results.data
        assert results.cells(number, number + 1) == len(found)
        assert results.content_bytes(number, number + 1) == len(row) + sum(
            len(column) + len(value) for column, _, value in found
        )


@pytest.mark.parametrize(
    "keys",
    [
        [cell_key(b"a", b"f", b"q", 5, PUT, 2), cell_key(b"a", b"f", b"q", 4, PUT, 1)],
        [cell_key(b"a", b"f", b"q", 5, DELETE_COLUMN, 2)],
        [cell_key(b"a", b"f", b"q", 5, PUT, 2, FLAG_TTL)],
        [cell_key(b"a", b"f", b"q", 5, PUT, 2, 4)],
    ],
    ids=["versions", "marker", "time to live", "flag of a later version"],
)
def test_nothing_else_is_plain(keys: list[bytes]) -> None:
    assert row_results(keys, [b"12345678v" for _ in keys]) is None
    others = [cell_key(b"0%d" % n, b"f", b"q", 5, PUT, n) for n in range(3)]  # rows before them, of the same column
    assert row_results(others + keys, [b"12345678v" for _ in others + keys]) is None
