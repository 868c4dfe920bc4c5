"""Checks of what a read-modify-write is about: a row and columns that the tablet has. StaleLocation, NoSuchFamily,
LimitExceeded, InvalidRequest: nothing happened. A call may name a million columns, which are looked at in parts.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from hbtable.errors import StaleLocation
from hbtable.model.additions import Column, check_additions
from hbtable.model.mutation import RowMutation
from hbtable.model.values import check_bytes
from hbtable.switches import switches
from hbtable.tablet.state import TabletState
from hbtable.tablet.writes.apply import bad_row, no_such_family

_AT_ONCE: Final = 256
"""Columns that are looked at between two pauses: some 30 us."""


@switches
def checked_additions(
    state: TabletState, row: bytes, mutation: RowMutation, pause: Callable[[], None]
) -> Sequence[Column]:
    """As check_additions(), of a row and of columns that the tablet has. *Switches* between columns."""
    check_row(state, row, ())
    added_to = check_additions(mutation, pause)
    check_columns(state, row, added_to, pause)
    return added_to


@switches
def check_columns(state: TabletState, row: bytes, columns: Iterable[Column], pause: Callable[[], None]) -> None:
    """As check_row(), of very many columns. *Switches* between parts of them."""
    columns = iter(columns)
    while some := tuple(islice(columns, _AT_ONCE)):
        check_row(state, row, some)
        pause()


def columns_of_suffixes(values: Iterable[tuple[bytes, bytes, bytes]]) -> Iterator[Column]:
    """The columns that an append names, each as soon as its suffix is seen to be bytes."""
    for family, qualifier, suffix in values:
        check_bytes("the value", suffix)
        yield family, qualifier


def check_row(state: TabletState, row: bytes, columns: Sequence[Column]) -> None:
    """The row and these few columns. Does not switch."""
    state.gate.check_served()
    if type(row) is not bytes or not row or len(row) > state.max_row_bytes:
        raise bad_row(row, state.max_row_bytes)
    if not state.range.holds(row):
        raise StaleLocation(f"row {row!r} lies outside tablet {state.tablet_id}")
    layout = state.version.layout
    for family, qualifier in columns:
        check_bytes("the column family", family)
        check_bytes("the qualifier", qualifier)
        if family not in layout.stored:
            raise no_such_family(layout, family)
