"""Tells a table with a hole from one that was read while it changed.

METADATA is read page by page. Of a tablet that is split, or merged with its neighbour, between two pages, one page has
the row from before and the next one that from after it: they seem to leave rows out, or to cover some twice.
"""

from collections.abc import Callable
from typing import Final

from hbtable.errors import Conflict, Corruption
from hbtable.metadata.tiling import verify_tiling
from hbtable.model.tablet import TabletRecord
from hbtable.switches import switches

_READS: Final = 20


@switches
def check_whole(read: Callable[[], list[TabletRecord]]) -> list[TabletRecord]:
    """The table's tablets as `read` gives them, which cover each row once. Corruption for those that do not, in two
    reads one after the other at the same place: what a change leaves has other tablets each time. Conflict: they go on
    changing. Errors of `read`."""
    found = ""
    for _ in range(_READS):
        tablets = read()
        try:
            verify_tiling(tablets)
        except Corruption as error:
            if str(error) == found:
                raise
            found = str(error)
        else:
            return tablets
    raise Conflict(f"the tablets go on changing while they are read: {found}; try again")
