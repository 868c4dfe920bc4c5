"""The schemas of tables, as SSTables tell them, and families that none of them has. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable
from itertools import count

from hbtable.encoding import table_record
from hbtable.encoding.cell_key import Pair, family_name, stored_family
from hbtable.model.names import shown
from hbtable.model.schema import FamilySchema
from hbtable.model.table import TableRecord
from hbtable.repair.evidence import Evidence
from hbtable.repair.log_flush import family_of


def newest_record(evidence: Evidence, table_id: int) -> TableRecord | None:
    """The table's record with the newest schema that an SSTable of it tells; None: there is none that tells any."""
    best: TableRecord | None = None
    for file in evidence.sstables.values():
        origin = file.properties.identity.origin if file.properties is not None else None
        if file.is_of(table_id) and origin is not None and origin.table:
            record = table_record.decode(origin.table, file.path)
            if best is None or record.schema.version > best.schema.version:
                best = record
    return best


def newest_families(families: set[bytes]) -> dict[bytes, FamilySchema]:
    """As they stand in cell keys; of one that was dropped and added again only the last one's cells are seen."""
    found: dict[bytes, FamilySchema] = {}
    for stored in families:
        name = family_name(stored)
        added_in = next(number for number in count() if stored_family(name, number) == stored)
        if name not in found or found[name].added_in < added_in:
            found[name] = FamilySchema(name, added_in=added_in)
    return dict(sorted(found.items()))


def of_unknown_families(table: TableRecord, pairs: Iterable[Pair], families: Collection[bytes]) -> list[str]:
    """Sentences on the log's cells that no schema has a family for. `families`, as they stand in cell keys: those of
    the table."""
    unknown = Counter(family for key, _ in pairs if (family := family_of(key)) not in families)
    return [
        f"table {shown(table.schema.name)}: {cells} cells of family {shown(family_name(family))} that are in the log "
        "alone; no schema that was found has the family: it was dropped, or added shortly before"
        for family, cells in sorted(unknown.items())
    ]
