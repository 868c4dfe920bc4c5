"""Parts of a regrouped SSTable: several files take its place, each with some of its families. Pure.

Only together do they take the place of what they were made from. A process that dies between two of them leaves some,
which METADATA never named.
"""

from collections.abc import Collection, Iterable
from typing import Final

from hbtable.model.schema import TableSchema
from hbtable.repair.evidence import SSTableFound
from hbtable.tablet.layout import LocalityGroupLayout, families_of_key

EVERY_FAMILY: Final = None
"""For `known`: it is not known which families the table has."""


def families_of_schema(schema: TableSchema) -> frozenset[bytes]:
    """The families that the table has, as they stand in cell keys."""
    return frozenset(LocalityGroupLayout(schema).stored.values())


def families_of(file: SSTableFound) -> frozenset[bytes]:
    """The families, as they stand in cell keys, that it may hold: those of its locality group when it was written."""
    assert file.properties is not None
    return frozenset(families_of_key(file.properties.identity.group))


def take_the_place(
    made: Iterable[SSTableFound], of: frozenset[bytes], known: Collection[bytes] | None = EVERY_FAMILY
) -> bool:
    """Whether these files, each made from one with the families `of`, have all of these together. `known`: the families
    that the table has; nobody asks for others."""
    needed = set(of) if known is None else of.intersection(known)
    for file in made:
        needed -= families_of(file)
    return not needed
