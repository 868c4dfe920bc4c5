"""A column family's settings for visibility and compaction, in the units of the hot loops."""

from collections.abc import Mapping
from typing import final

from hbtable.encoding.cell_key import stored_family
from hbtable.model.schema import FOREVER_SECONDS, TableSchema, keep_deleted_cells


@final
class FamilyRules:
    """The rules of one family. `ttl_millis` 0 means forever. `min_versions` newest versions outlive the time to live.
    `new_version_behavior`: a marker masks only cells of a smaller sequence. `keep_deleted`: what markers mask is kept
    as cells are, and so are they; `until_ttl`: both only until they are as old as the time to live."""

    __slots__ = ("keep_deleted", "max_versions", "min_versions", "new_version_behavior", "ttl_millis", "until_ttl")

    def __init__(
        self,
        max_versions: int,
        min_versions: int = 0,
        ttl_millis: int = 0,
        new_version_behavior: bool = False,
        keep_deleted: bool = False,
        until_ttl: bool = False,
    ) -> None:
        self.max_versions = max_versions
        self.min_versions = min_versions
        self.ttl_millis = ttl_millis
        self.new_version_behavior = new_version_behavior
        self.keep_deleted = keep_deleted
        self.until_ttl = until_ttl


def rules_of(schema: TableSchema) -> dict[bytes, FamilyRules]:
    """Family, as it stands in cell keys -> its rules. Cells of every other family are of none that the table has."""
    return {
        stored_family(name, family.added_in): FamilyRules(
            family.max_versions,
            family.min_versions,
            family.ttl_seconds * 1000 if 0 < family.ttl_seconds < FOREVER_SECONDS else 0,
            family.new_version_behavior,
            keep_deleted_cells(family) != "FALSE",
            keep_deleted_cells(family) == "TTL",
        )
        for name, family in schema.families.items()
    }


Rules = Mapping[bytes, FamilyRules]
