"""Schemas as structs of our own admin service, and back: both of its ends do it."""

from collections.abc import Mapping

from hbtable.hbase.admin.structs import AdminFamily, AdminTable
from hbtable.hbase.conversion import by_name
from hbtable.model.schema import Attributes, FamilySchema, TableSchema


def family_struct(family: FamilySchema) -> AdminFamily:
    """Every setting of a column family."""
    return AdminFamily(
        family.name,
        family.max_versions,
        family.min_versions,
        family.ttl_seconds,
        family.compression,
        family.bloom,
        family.in_memory,
        family.block_cache,
        family.block_bytes,
        family.locality_group,
        family.new_version_behavior,
        dict(family.attributes),
    )


def table_schema(name: bytes, table: AdminTable) -> TableSchema:
    """The schema that the struct holds, under this name. BadArgument where a family is named twice; nothing else is
    checked."""
    return TableSchema(
        name,
        by_name(FamilySchema(*family[:-1], _attributes(family.attributes)) for family in table.families or ()),
        table.version,
        table.split_bytes,
        _attributes(table.attributes),
    )


def _attributes(given: Mapping[str, str] | None) -> Attributes:
    return tuple(sorted((given or {}).items()))
