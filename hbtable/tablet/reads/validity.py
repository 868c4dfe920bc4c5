"""Says of a read whether it would be answered alike once more, for answers that are made before they are asked for."""

from collections.abc import Callable

from hbtable.tablet.state import TabletState


def valid_from_now(state: TabletState) -> Callable[[], bool] | None:
    """A function that says whether every scan which began since this call would be answered alike now. None where the
    time alone changes answers: a family of the table has a time to live. Neither switches."""
    layout = state.version.layout
    if len(layout.plain_families) < len(layout.rules):
        return None
    # By numbers: a page that waits must not keep the memtables of an old version.
    installed, applied, expiring = state.installed, state.applied, state.tally.expiring

    def is_valid() -> bool:
        return (
            state.is_open
            and state.applied == applied
            and state.installed == installed
            and state.tally.expiring == expiring  # else the page may hold a cell that expires
        )

    return is_valid
