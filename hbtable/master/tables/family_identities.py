"""Tells which family of a changed schema is which (paper, section 2: families are created before data is stored under
them).

A family is its name and the schema version that added it. A schema from a client does not say which version that was:
the master does. A family that the table has keeps its identity, however it is changed. Any other family is new, also if
there was one of this name before. Its cells stand under the version that adds it, so no tablet, file or log takes
leftovers of the old family for cells of the new one. Pure.
"""

from dataclasses import replace

from hbtable.model.schema import TableSchema


def first_families(schema: TableSchema) -> TableSchema:
    """The schema of a table without a past."""
    return replace(schema, families={name: replace(family, added_in=0) for name, family in schema.families.items()})


def identified(old: TableSchema, new: TableSchema) -> TableSchema:
    """`new` is to replace `old`."""
    families = {
        name: replace(family, added_in=old.families[name].added_in if name in old.families else new.version)
        for name, family in new.families.items()
    }
    return replace(new, families=families)


def adds_families(old: TableSchema, new: TableSchema) -> bool:
    return not new.families.keys() <= old.families.keys()
