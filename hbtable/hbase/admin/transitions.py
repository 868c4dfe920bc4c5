"""Finds the tablets that are on the way between servers, and the servers that METADATA still names although they are
gone. Pure.

The states are HBase's words:
    OFFLINE             of a table in service, and nobody owns it, or it is withheld
    OPENING             its owner lives and does not serve it yet
    ABNORMALLY_CLOSED   its owner is dead; the log of that one is recovered first
    CLOSING             its table goes out of service, and it is not unloaded yet
    MERGING             half-way of a merge
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from hbtable.model.table import TableState
from hbtable.model.tablet import METADATA_TABLE_ID, NO_LOG, TabletRecord, owners

_LEAVING = (TableState.DISABLING, TableState.DELETING)


class Transition(NamedTuple):
    """A tablet that is not served as it should be."""

    record: TabletRecord
    state: str


def transitions(
    records: Iterable[TabletRecord],
    tables: Mapping[int, TableState],
    living: Collection[str],
    served: Mapping[str, Collection[int]],
) -> list[Transition]:
    """`served`: the tablets of each server that answered; one that lives and did not may serve what is its own.
    `living` and `served` were read after `records`."""
    found = []
    for record in records:
        table = TableState.ENABLED if record.table_id == METADATA_TABLE_ID else tables.get(record.table_id)
        state = _state(record, table, living, served)
        if state:
            found.append(Transition(record, state))
    return found


def _state(
    record: TabletRecord,
    table: TableState | None,
    living: Collection[str],
    served: Mapping[str, Collection[int]],
) -> str:
    """Empty when all is well."""
    if table is None or table is TableState.DISABLED:
        return ""
    if record.is_merging():
        return "MERGING"
    if table in _LEAVING:
        return "CLOSING" if record.owner else ""
    if not record.owner or record.withheld_millis:
        return "OFFLINE"
    if record.owner not in living:
        return "ABNORMALLY_CLOSED"
    mine = served.get(record.owner)
    return "" if mine is None or record.tablet_id in mine else "OPENING"


def dead_servers(records: Iterable[TabletRecord], living: Collection[str]) -> list[str]:
    """Incarnations that are gone and whose log a tablet still needs, ascending."""
    needed = {ref.incarnation for record in records for ref in record.logs}
    return sorted(needed.difference(living, (NO_LOG,)))


def unknown_servers(records: Iterable[TabletRecord], living: Collection[str], dead: Collection[str]) -> list[str]:
    """Owners on record that neither live nor are known to be dead, ascending."""
    return sorted(set(owners(records)).difference(living, dead))
