"""The rows at which a tablet is cut further: whatever they are, pieces between them are ascending and none is empty."""

from hypothesis import given
from hypothesis import strategies as st

from hbtable.dataflow.splits import between_rows

ROWS = st.binary(max_size=12)


@given(ROWS, ROWS, st.integers(1, 40))
def test_cuts_ascend_between_the_first_and_the_last_row(one: bytes, other: bytes, pieces: int) -> None:
    first, last = sorted((one, other))
    cuts = between_rows(first, last, pieces)
    assert cuts == sorted(set(cuts))
    assert len(cuts) < max(pieces, 1)
    assert all(first < cut <= last for cut in cuts)


def test_evenly_spread_rows_come_in_even_pieces() -> None:
    rows = [b"user" + number.to_bytes(3, "big") for number in range(0, 1 << 24, 997)]
    cuts = between_rows(rows[0], rows[-1], 8)
    sizes = [sum(low <= row < high for row in rows) for low, high in zip([b"", *cuts], [*cuts, b"\xff"], strict=True)]
    assert len(sizes) == 8
    assert max(sizes) - min(sizes) <= 2


def test_rows_that_cannot_be_told_apart_are_one_piece() -> None:
    assert between_rows(b"a", b"a", 5) == []
    assert between_rows(b"a", b"a\x00", 5) == []
