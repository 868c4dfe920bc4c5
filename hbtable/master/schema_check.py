"""What a table to be created or altered must look like (paper, section 2; HBase's rules). Pure."""

from collections.abc import Sequence
from itertools import pairwise

from hbtable.errors import InvalidRequest
from hbtable.model import names
from hbtable.model.names import shown
from hbtable.model.schema import BLOOM_TYPES, COMPRESSIONS, TableSchema

MAX_FAMILIES = 100
"""The paper: "at most hundreds". Each family may be a locality group with memtable and files of its own."""
MAX_SPLIT_ROWS = 100_000


def check_schema(schema: TableSchema) -> None:
    """InvalidRequest with one sentence that names table, family and limit."""
    if names.parse(schema.name) != schema.name:
        raise InvalidRequest(f"table name {shown(schema.name)} is not canonical")
    table = shown(schema.name)
    if not schema.families:
        raise InvalidRequest(f"table {table} must have at least one column family")
    if len(schema.families) > MAX_FAMILIES:
        raise InvalidRequest(f"table {table} has {len(schema.families)} column families, at most {MAX_FAMILIES} can be")
    for name, family in schema.families.items():
        names.check_family(name)
        where = f"column family {shown(name)} of table {table}"
        if family.name != name:
            raise InvalidRequest(f"{where} is filed under another name, {shown(family.name)}")
        if family.max_versions < 1:
            raise InvalidRequest(f"{where} must keep at least 1 version, not {family.max_versions}")
        if not 0 <= family.min_versions <= family.max_versions:
            raise InvalidRequest(f"{where}: min versions must lie between 0 and {family.max_versions}")
        if family.ttl_seconds < 1:
            raise InvalidRequest(f"{where}: the time to live must be at least 1 second, not {family.ttl_seconds}")
        if family.compression not in COMPRESSIONS:
            raise InvalidRequest(f"{where}: {family.compression} is none of {', '.join(COMPRESSIONS)}")
        if family.bloom not in BLOOM_TYPES:
            raise InvalidRequest(f"{where}: {family.bloom} is none of {', '.join(BLOOM_TYPES)}")


def check_split_rows(schema: TableSchema, rows: Sequence[bytes]) -> list[bytes]:
    """Ascending. InvalidRequest for an empty row, a row twice, or too many."""
    ordered = sorted(rows)
    if len(ordered) > MAX_SPLIT_ROWS:
        raise InvalidRequest(f"table {shown(schema.name)}: {len(ordered)} split rows, at most {MAX_SPLIT_ROWS} can be")
    if ordered and not ordered[0]:
        raise InvalidRequest(f"an empty split row for table {shown(schema.name)}: tablets begin before it anyway")
    for one, other in pairwise(ordered):
        if one == other:
            raise InvalidRequest(f"the split row {one!r} is given twice for table {shown(schema.name)}")
    return ordered
