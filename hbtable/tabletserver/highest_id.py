"""The highest tablet id that a server knows to be in use, before it takes new ones for the children of a split.

The counter may have been put back (metadata.numbers_in_use). The master sees to it before it gives out users' tablets;
METADATA's own come earlier, and their servers look for themselves.
"""

from collections.abc import Callable, Mapping

from hbtable.metadata.catalog import Catalog
from hbtable.metadata.numbers_in_use import in_metadata
from hbtable.model.tablet import METADATA_TABLE_ID
from hbtable.switches import switches
from hbtable.tablet.tablet import Tablet


@switches
def highest_tablet_id(tablets: Mapping[int, Tablet], catalog: Catalog) -> Callable[[], int]:
    """A function that returns the highest of the ids. They grow with `tablets`, those served here; the first time that
    METADATA's are among them it reads all of METADATA. It *switches* then."""
    looked = False

    def highest() -> int:
        nonlocal looked
        known = max(tablets, default=0)
        if not looked and any(tablet.record.table_id == METADATA_TABLE_ID for tablet in list(tablets.values())):
            known = max(known, in_metadata(catalog).tablet)
            looked = True
        return known

    return highest
