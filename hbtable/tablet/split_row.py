"""Finds the row at which a loaded tablet is split: by what its SSTables know of their middles, and where that is too
little, by reading. The rules are those of splitting.py, which is pure."""

from collections.abc import Iterator
from typing import Final

from hbtable.encoding.cell_key import row_of, row_stop
from hbtable.model.read import EVERYTHING
from hbtable.switches import switches
from hbtable.tablet.reads.column_selection import ColumnSelection
from hbtable.tablet.reads.sources import ReadSnapshot
from hbtable.tablet.splitting import SplitCandidate, choose_row, may_split_at, middle_row
from hbtable.tablet.state import TabletState
from hbtable.tablet.version import key_range

_SMALL_TABLET_BYTES: Final = 64 << 20
"""Up to this a tablet without an index worth the name is read through to find its middle row."""


@switches
def split_row(state: TabletState) -> bytes | None:
    """The row at about half of the bytes, strictly inside; None when one row fills the tablet, or nothing does.
    *Switches.*"""
    start, stop = key_range(state.range)
    first = _first_row(state, start, stop)
    if first is None:
        return None
    candidates = []
    for stack in state.version.stacks:
        for file in stack.files:
            middle = file.reader.middle_key()
            if middle is not None:
                candidates.append(SplitCandidate(middle, file.bytes_in((start, stop))))
    chosen = choose_row(candidates, state.range, first)
    size = state.version.sstable_bytes(state.range) + state.version.memtable_bytes()
    if chosen is None and size <= _SMALL_TABLET_BYTES:
        sizes = [(row_of(key), len(key) + len(value)) for key, value in _pairs(state, start, stop)]
        chosen = middle_row(sizes)  # it does not switch, and reading the pairs does
    if chosen is None:
        # The middle lies in the first row, which is large: what follows it is the only place.
        chosen = _first_row(state, row_stop(first), stop)
    return chosen if chosen is not None and may_split_at(chosen, state.range, first) else None


@switches
def _first_row(state: TabletState, start: bytes, stop: bytes) -> bytes | None:
    return next((row_of(key) for key, _ in _pairs(state, start, stop)), None)


@switches
def _pairs(state: TabletState, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
    columns = ColumnSelection(state.version.layout, EVERYTHING, True)
    return ReadSnapshot(state.version, state.applied, columns, state.tally).range(start, stop, lambda _: False)
