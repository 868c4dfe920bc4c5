"""Changes of a table's schema, as programs ask for them, made of the schema that it has."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeVar

from hbtable.client.columns import K, Key
from hbtable.client.given import members, whole_number
from hbtable.errors import NoSuchFamily, WrongType, WrongValue
from hbtable.library.options import Families, FamilyOptions, changes, families_of, family_name
from hbtable.model.schema import TableSchema
from hbtable.model.values import LARGEST_I64, shown

K2 = TypeVar("K2", bound=Key)
FamilyChanges = Mapping[K, FamilyOptions]


def altered(
    schema: TableSchema,
    add: Families[K],
    change: FamilyChanges[K2],
    drop: Collection[str | bytes],
    split_bytes: int | None,
) -> TableSchema:
    """The next version. InvalidRequest for a family that is added and there, or changed or dropped and not there."""
    table = schema.name.decode("utf-8", "backslashreplace")
    families = dict(schema.families)
    for given in members("drop", drop):
        name = family_name(given)
        if families.pop(name, None) is None:
            raise NoSuchFamily(f"table {table} has no column family {given!r} to drop")
    if not isinstance(change, Mapping):
        raise WrongType(f"'change' {shown(change)} has to be a dict of options by family")
    for given, options in change.items():
        name = family_name(given)
        if name not in families:
            raise NoSuchFamily(f"table {table} has no column family {given!r} to change")
        families[name] = replace(families[name], **changes(given, options))
    for name, family in (families_of(table, add) if add else {}).items():
        if name in schema.families:
            raise WrongValue(f"table {table} has a column family {name!r} already: change it, or drop it before")
        families[name] = family
    if not families:
        raise WrongValue(f"table {table} would have no column family left: delete the table")
    size = schema.split_bytes
    if split_bytes is not None:
        size = whole_number("'split_bytes'", split_bytes, 0, LARGEST_I64)
    return replace(schema, families=families, version=schema.version + 1, split_bytes=size)
