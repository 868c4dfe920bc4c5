"""Chooses the row at which a tablet is split (paper, section 5.2): at about half of its bytes, between two rows. Pure.

The split row becomes the first of the right child. It must lie strictly inside the tablet's range, behind the first row
that holds anything, so that neither child is empty; a row is never cut, so a tablet that is one row cannot split.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from hbtable.encoding.cell_key import row_of
from hbtable.model.ranges import RowRange

_FEWEST_SAMPLES: Final = 32
"""Of a load. Fewer say nothing of it."""
_LEAST_PART: Final = 0.25
"""Of the load, on either side, from the first to the last moment. Less: splits that relieve nobody."""


class SplitCandidate(NamedTuple):
    """A key with about half of a file's bytes before it, and how many bytes of the file this tablet uses."""

    key: bytes
    weight_bytes: int


def choose_row(candidates: Sequence[SplitCandidate], rows: RowRange, first_row: bytes) -> bytes | None:
    """The weighted median of the candidates' rows that may be split rows; None when there is none."""
    inside = sorted(
        (row, candidate.weight_bytes)
        for candidate in candidates
        if may_split_at(row := row_of(candidate.key), rows, first_row)
    )
    half = sum(weight for _, weight in inside) / 2
    passed = 0
    for row, weight in inside:
        passed += weight
        if passed >= half:
            return row
    return None


def may_split_at(row: bytes, rows: RowRange, first_row: bytes) -> bool:
    return rows.start < row and row > first_row and rows.holds(row)


def halving_row(samples: Sequence[bytes], rows: RowRange) -> bytes | None:
    """The row that halves a load of which these rows are samples, in the order of time. None when there is none: most
    of the load is on one row, or it moves through the tablet, as writes of ascending rows do, so that all of it would
    soon be on one side."""
    ordered = sorted(samples)
    places = [place for place in range(1, len(ordered)) if ordered[place - 1] != ordered[place]]
    if len(ordered) < _FEWEST_SAMPLES or not places:
        return None
    chosen = ordered[min(places, key=lambda place: abs(2 * place - len(ordered)))]
    half = len(samples) // 2
    for part in samples[:half], samples[half:]:
        left = sum(1 for row in part if row < chosen)
        if not _LEAST_PART <= left / len(part) <= 1 - _LEAST_PART:
            return None
    return chosen if may_split_at(chosen, rows, b"") else None


def middle_row(sizes: Iterable[tuple[bytes, int]]) -> bytes | None:
    """The row at half of the bytes of a small tablet, from (row, bytes) of all its cells in order. None when there is
    but one row."""
    starts: list[tuple[bytes, int]] = []
    total = 0
    for row, size in sizes:
        if not starts or starts[-1][0] != row:
            starts.append((row, total))
        total += size
    later = starts[1:]
    if not later:
        return None
    return min(later, key=lambda start: abs(start[1] - total / 2))[0]
