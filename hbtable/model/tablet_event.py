"""Events in the life of a tablet (paper, section 4: METADATA keeps "a log of all events pertaining to each tablet")."""

from typing import Final, NamedTuple

GIVEN: Final = "given"
"""The master made this server its owner."""
SERVED: Final = "served"
"""Its owner loaded it."""
NOT_LOADED: Final = "not loaded"
"""Its owner could not load it."""
TAKEN: Final = "taken"
"""The master took it from this server, or noted that a dead one has it no more."""
NOT_SPLIT: Final = "not split"
"""It has too many requests for one server, and no row would halve them."""
LEFT: Final = "left"
"""This server flushed it and gave it up."""
SPLIT: Final = "split"
"""This server made it, by splitting another one."""
MERGED: Final = "merged"
"""The master made it of several neighbours."""

ORDER: Final = (SPLIT, MERGED, GIVEN, NOT_LOADED, SERVED, NOT_SPLIT, LEFT, TAKEN)
"""Of the events of one generation."""


class TabletEvent(NamedTuple):
    """One event. `server` is the incarnation that it is about, `by` who noted it: an incarnation, or "" the master."""

    table_id: int
    tablet_id: int
    generation: int
    millis: int
    """Wall clock of who noted it."""
    what: str
    server: str
    by: str = ""
    why: str = ""
