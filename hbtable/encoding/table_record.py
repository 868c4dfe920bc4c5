"""Table records as bytes: id, state and schema, the value of a table's name row in METADATA.

Sealed (encoding.sealed) with kind "N", version 1, 2 or 3. Numbers are varints; text is length-prefixed UTF-8.

    body   := table id, state (its name), table name, schema version, split bytes, families (n, then each)
              version 2 goes on: attributes of the table, then of each family in the same order
              version 3 goes on after that: of each family the schema version that added it, 0 for the first ones
    family := name, max versions, min versions, ttl seconds, compression, bloom, flags, block bytes, locality group
    flags  := 1 in memory | 2 block cache | 4 new version behaviour
    attributes := n, then n times name and value

The oldest version that holds everything is written, so that an older hbtable goes on reading what it can: 3 only when a
family was added to an existing table, 2 only when there are attributes.

Families are written in ascending order of name, so equal records give equal bytes: a compare-and-set compares them.
"""

from dataclasses import replace
from typing import Final

from hbtable.encoding.sealed import HEADER_BYTES, seal, unseal
from hbtable.encoding.varint import decode as number
from hbtable.encoding.varint import decode_bytes, decode_text, encode_bytes, encode_text
from hbtable.encoding.varint import encode as varint
from hbtable.errors import Corruption, UnsupportedFormat
from hbtable.model.schema import BLOOM_TYPES, COMPRESSIONS, Attributes, FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState

KIND: Final = b"N"
VERSION: Final = 3
_ATTRIBUTES: Final = 2
_PLAIN: Final = 1
_IN_MEMORY: Final = 1
_BLOCK_CACHE: Final = 2
_NEW_VERSION_BEHAVIOR: Final = 4
_FLAGS: Final = _IN_MEMORY | _BLOCK_CACHE | _NEW_VERSION_BEHAVIOR
_STATES: Final = tuple(state.value for state in TableState)


def encode(record: TableRecord) -> bytes:
    schema = record.schema
    out = [
        varint(record.table_id),
        encode_text(record.state.value),
        encode_bytes(schema.name),
        varint(schema.version),
        varint(schema.split_bytes),
        varint(len(schema.families)),
    ]
    for name in sorted(schema.families):
        out.append(_family(schema.families[name]))
    version = _version_for(schema)
    if version >= _ATTRIBUTES:
        out.append(_attributes(schema.attributes))
        out += (_attributes(schema.families[name].attributes) for name in sorted(schema.families))
    if version == VERSION:
        out += (varint(schema.families[name].added_in) for name in sorted(schema.families))
    return seal(KIND, version, b"".join(out))


def _version_for(schema: TableSchema) -> int:
    families = schema.families.values()
    if any(family.added_in for family in families):
        return VERSION
    return _ATTRIBUTES if schema.attributes or any(family.attributes for family in families) else _PLAIN


def decode(data: bytes, path: str = "a table record") -> TableRecord:
    """`path` says in the error where the bytes lie. Corruption, UnsupportedFormat."""
    version_read, body = unseal(data, KIND, VERSION, path)
    try:
        table_id, offset = number(body, 0)
        state, offset = decode_text(body, offset)
        name, offset = decode_bytes(body, offset)
        version, offset = number(body, offset)
        split_bytes, offset = number(body, offset)
        count, offset = number(body, offset)
        families = {}
        for _ in range(count):
            family, offset = _read_family(body, offset, path)
            families[family.name] = family
        attributes: Attributes = ()
        if version_read >= _ATTRIBUTES:
            attributes, offset = _read_attributes(body, offset)
            for family_name, family in families.items():
                of_family, offset = _read_attributes(body, offset)
                families[family_name] = replace(family, attributes=of_family)
        if version_read == VERSION:
            for family_name, family in families.items():
                added_in, offset = number(body, offset)
                families[family_name] = replace(family, added_in=added_in)
        if state not in _STATES:
            raise UnsupportedFormat.unknown(path, "state of a table", state, ", ".join(_STATES))
        schema = TableSchema(name, families, version, split_bytes, attributes)
        record = TableRecord(table_id, TableState(state), schema)
    except (IndexError, ValueError) as error:
        raise Corruption(path, HEADER_BYTES, f"the table record cannot be read: {error}") from error
    if offset != len(body):
        raise Corruption(path, HEADER_BYTES + offset, "bytes follow the end of the table record")
    return record


def _family(family: FamilySchema) -> bytes:
    flags = (
        (_IN_MEMORY if family.in_memory else 0)
        | (_BLOCK_CACHE if family.block_cache else 0)
        | (_NEW_VERSION_BEHAVIOR if family.new_version_behavior else 0)
    )
    return b"".join(
        (
            encode_bytes(family.name),
            varint(family.max_versions),
            varint(family.min_versions),
            varint(family.ttl_seconds),
            encode_text(family.compression),
            encode_text(family.bloom),
            varint(flags),
            varint(family.block_bytes),
            encode_text(family.locality_group),
        )
    )


def _read_family(body: bytes, offset: int, path: str) -> tuple[FamilySchema, int]:
    name, offset = decode_bytes(body, offset)
    max_versions, offset = number(body, offset)
    min_versions, offset = number(body, offset)
    ttl_seconds, offset = number(body, offset)
    compression, offset = decode_text(body, offset)
    bloom, offset = decode_text(body, offset)
    flags, offset = number(body, offset)
    if flags & ~_FLAGS:
        raise UnsupportedFormat.unknown(path, "family flags", flags, f"the bits {_FLAGS}")
    if compression not in COMPRESSIONS:
        raise UnsupportedFormat.unknown(path, "compression", compression, ", ".join(COMPRESSIONS))
    if bloom not in BLOOM_TYPES:
        raise UnsupportedFormat.unknown(path, "Bloom filter", bloom, ", ".join(BLOOM_TYPES))
    block_bytes, offset = number(body, offset)
    locality_group, offset = decode_text(body, offset)
    family = FamilySchema(
        name,
        max_versions,
        min_versions,
        ttl_seconds,
        compression,
        bloom,
        bool(flags & _IN_MEMORY),
        bool(flags & _BLOCK_CACHE),
        block_bytes,
        locality_group,
        bool(flags & _NEW_VERSION_BEHAVIOR),
    )
    return family, offset


def _attributes(attributes: Attributes) -> bytes:
    out = [varint(len(attributes))]
    for name, value in attributes:
        out += (encode_text(name), encode_text(value))
    return b"".join(out)


def _read_attributes(body: bytes, offset: int) -> tuple[Attributes, int]:
    count, offset = number(body, offset)
    found = []
    for _ in range(count):
        name, offset = decode_text(body, offset)
        value, offset = decode_text(body, offset)
        found.append((name, value))
    return tuple(found), offset
