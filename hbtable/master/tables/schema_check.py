"""Checks the schema of a table that is created or altered (paper, section 2; HBase's rules). Pure.

Every way in passes here: Thrift, the library, the shell, imports, and other roles. Numbers lie within what Thrift's
clients can read and HBase accepts; what was written once and could not be read would keep the whole cluster closed.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from hbtable.errors import InvalidRequest, LimitExceeded
from hbtable.model import names
from hbtable.model.mutation import MAX_ROW_BYTES
from hbtable.model.names import shown
from hbtable.model.schema import (
    BLOOM_TYPES,
    COMPRESSIONS,
    MAX_SPLIT_ROWS,
    OFFERED_COMPRESSIONS,
    Attributes,
    FamilySchema,
    TableSchema,
)
from hbtable.model.schema_limits import check_counts, check_namespace_counts
from hbtable.model.values import (
    LARGEST_I32,
    LARGEST_I64,
    check_flag,
    check_mapping,
    check_text,
    members,
    own_bytes,
    whole_number,
)
from hbtable.model.values import shown as as_given

_SHOWN_CHOICE: Final = 100
"""Longer texts are cut in messages."""
MIN_BLOCK_BYTES: Final = 1024
MAX_BLOCK_BYTES: Final = 16 << 20
"""HBase's bounds."""
MAX_GROUP_NAME_BYTES: Final = 255
MAX_ATTRIBUTE_BYTES: Final = 1 << 20
"""Of all attributes of a table and its families, or of a namespace: each lies in one cell of METADATA."""

_FLAGS: Final = ("in_memory", "block_cache", "new_version_behavior")


def check_schema(schema: TableSchema) -> None:
    """InvalidRequest with one message that names table, family and limit."""
    if names.parse(schema.name) != schema.name:
        raise InvalidRequest(f"table name {shown(schema.name)} is not canonical")
    table = shown(schema.name)
    check_mapping(f"the column families of table {table}:", schema.families)
    if not schema.families:
        raise InvalidRequest(f"table {table} must have at least one column family")
    check_counts(table, len(schema.families), _numbers_of_attributes(schema))
    _number(f"the schema version of table {table}", schema.version, 1, LARGEST_I32)
    _number(f"the size at which tablets of table {table} split", schema.split_bytes, 0, LARGEST_I64)
    size = _check_attributes(f"table {table}", schema.attributes)
    for name, family in schema.families.items():
        names.check_family(name)
        where = f"column family {shown(name)} of table {table}"
        if type(family) is not FamilySchema:
            raise InvalidRequest(f"{where} is {as_given(family)}, and has to be a schema")
        if family.name != name:
            raise InvalidRequest(f"{where} is filed under another name, {as_given(family.name)}")
        _check_family(where, family)
        size += _check_attributes(where, family.attributes)
    if size > MAX_ATTRIBUTE_BYTES:
        raise LimitExceeded(
            f"the attributes of table {table} and its families have {size} bytes, at most {MAX_ATTRIBUTE_BYTES} can be"
        )


def _numbers_of_attributes(schema: TableSchema) -> Iterator[int]:
    """Without what is no tuple, which is refused by its type in a moment."""
    for one in (schema, *schema.families.values()):
        given = getattr(one, "attributes", ())
        if type(given) is tuple:
            yield len(given)


def _check_family(where: str, family: FamilySchema) -> None:
    if type(family.max_versions) is int and family.max_versions < 1:
        raise InvalidRequest(f"{where} must keep at least 1 version, not {as_given(family.max_versions)}")
    _number(f"{where}: max versions", family.max_versions, 1, LARGEST_I32)
    if type(family.min_versions) is int and not 0 <= family.min_versions <= family.max_versions:
        given = as_given(family.min_versions)
        raise InvalidRequest(f"{where}: min versions must lie between 0 and {family.max_versions}, not be {given}")
    _number(f"{where}: min versions", family.min_versions, 0, LARGEST_I32)
    if type(family.ttl_seconds) is int and family.ttl_seconds < 1:
        given = as_given(family.ttl_seconds)
        raise InvalidRequest(f"{where}: the time to live must be at least 1 second, not {given}")
    _number(f"{where}: the time to live", family.ttl_seconds, 1, LARGEST_I32)
    _number(f"{where}: the block size", family.block_bytes, MIN_BLOCK_BYTES, MAX_BLOCK_BYTES)
    _check_choice(f"{where}: compression", family.compression, COMPRESSIONS, OFFERED_COMPRESSIONS)
    _check_choice(f"{where}: Bloom filter", family.bloom, BLOOM_TYPES)
    for flag in _FLAGS:
        check_flag(f"{where}: {flag}", getattr(family, flag))
    check_text(f"{where}: the locality group", family.locality_group, MAX_GROUP_NAME_BYTES)


def _check_choice(what: str, given: object, choices: Sequence[str], offered: Sequence[str] = ()) -> None:
    """`offered`: those of the choices that the error names, if not all."""
    if type(given) is not str or given not in choices:
        text = given if type(given) is str and len(given) <= _SHOWN_CHOICE else as_given(given)
        raise InvalidRequest(f"{what} {text} is none of {', '.join(offered or choices)}")


def _number(what: str, given: object, least: int, most: int) -> None:
    """Refuses anything but the type int itself: it is stored as it is, not converted."""
    whole_number(what, given, least, most)
    if type(given) is not int:
        raise InvalidRequest(f"{what} {as_given(given)} is {type(given).__name__}, and has to be int")


def _check_attributes(where: str, attributes: Attributes) -> int:
    """Their size in bytes."""
    pairs = members(f"the attributes of {where}:", attributes)
    if type(attributes) is not tuple or any(type(pair) is not tuple or len(pair) != 2 for pair in pairs):
        raise InvalidRequest(
            f"the attributes of {where} have to be a tuple of (name, value), not {as_given(attributes)}"
        )
    size = sum(
        check_text(f"attribute {as_given(name)} of {where}", name, MAX_ATTRIBUTE_BYTES)
        + check_text(f"the value of attribute {as_given(name)} of {where}", value, MAX_ATTRIBUTE_BYTES)
        for name, value in pairs
    )
    for (one, _), (other, _) in pairwise(pairs):
        if one >= other:
            raise InvalidRequest(f"the attributes of {where} are not ascending by name: {one!r}, {other!r}")
    return size


def check_properties(namespace: bytes, properties: Mapping[str, str]) -> None:
    """Refuses properties that a namespace cannot have. InvalidRequest."""
    where = f"namespace {shown(namespace)}"
    check_mapping(f"the properties of {where}:", properties)
    check_namespace_counts(shown(namespace), len(properties))
    for name in properties:
        check_text(f"property {as_given(name)} of {where}", name, MAX_ATTRIBUTE_BYTES)
    size = _check_attributes(where, tuple(sorted(properties.items())))
    if size > MAX_ATTRIBUTE_BYTES:
        raise LimitExceeded(f"the properties of {where} have {size} bytes, at most {MAX_ATTRIBUTE_BYTES} can be")


def check_split_rows(schema: TableSchema, rows: Sequence[bytes]) -> list[bytes]:
    """Ascending. InvalidRequest for an empty row, a row twice, one that no row can be, or too many."""
    table = shown(schema.name)
    what = f"the split rows of table {table}:"
    ordered = sorted([own_bytes(what, row) for row in members(what, rows)])
    if len(ordered) > MAX_SPLIT_ROWS:
        raise InvalidRequest(f"table {table}: {len(ordered)} split rows, at most {MAX_SPLIT_ROWS} can be")
    if ordered and not ordered[0]:
        raise InvalidRequest(f"an empty split row for table {table}: tablets begin before it anyway")
    for row in ordered:
        if len(row) > MAX_ROW_BYTES:
            raise LimitExceeded(
                f"a split row of table {table} has {len(row)} bytes, a row has at most {MAX_ROW_BYTES}: {as_given(row)}"
            )
    for one, other in pairwise(ordered):
        if one == other:
            raise InvalidRequest(f"the split row {one!r} is given twice for table {table}")
    return ordered
