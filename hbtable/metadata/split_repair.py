"""Completes a split after its commit: anyone who sees an embedded left child may do it.

The commit was one compare-and-set: the row of `end` became the right child and embeds the left child's record. What is
left to do is idempotent, and safe to be done by several at once:

    1  put the left child's row if no row with its end is there
    2  clear the embedding by compare-and-set

In this order: a crash between the two leaves the left child named twice, which readers understand (metadata.tiling);
the other order would leave it named nowhere.
"""

from dataclasses import replace

from hbtable.errors import Conflict
from hbtable.metadata.catalog import Catalog
from hbtable.model.tablet import TabletRecord
from hbtable.switches import switches


@switches
def complete_split(catalog: Catalog, record: TabletRecord) -> TabletRecord | None:
    """`record` as its row was read. The row as it stands now, without an embedded child; None when it is gone.

    Durable on return. The caller must not hold anything that a METADATA write waits for.
    """
    current: TabletRecord | None = record
    while current is not None and current.left is not None:
        catalog.put_tablet_if_absent(current.left)
        cleared = replace(current, left=None)
        try:
            catalog.replace_tablet(current, cleared)
            return cleared
        except Conflict:
            # Someone else cleared it, or the owner changed its files: look again.
            current = catalog.read_tablet(record.table_id, record.range.stop)
    return current
