"""Table records as bytes: id, state and schema, the value of a table's name row in METADATA.

Sealed (encoding.sealed) with kind "N", version 1. Numbers are varints; text is length-prefixed UTF-8.

    body   := table id, state (its name), table name, schema version, split bytes, families (n, then each)
    family := name, max versions, min versions, ttl seconds, compression, bloom, flags, block bytes, locality group
    flags  := 1 in memory | 2 block cache | 4 new version behaviour

Families are written in ascending order of name, so equal records give equal bytes: a compare-and-set compares them.
"""

from typing import Final

from hbtable.encoding.sealed import HEADER_BYTES, seal, unseal
from hbtable.encoding.varint import decode as number
from hbtable.encoding.varint import decode_bytes, decode_text, encode_bytes, encode_text
from hbtable.encoding.varint import encode as varint
from hbtable.errors import Corruption
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState

KIND: Final = b"N"
VERSION: Final = 1
_IN_MEMORY: Final = 1
_BLOCK_CACHE: Final = 2
_NEW_VERSION_BEHAVIOR: Final = 4


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
    return seal(KIND, VERSION, b"".join(out))


def decode(data: bytes, path: str = "a table record") -> TableRecord:
    """`path` says in the error where the bytes lie. Corruption, UnsupportedFormat."""
    _, body = unseal(data, KIND, VERSION, path)
    try:
        table_id, offset = number(body, 0)
        state, offset = decode_text(body, offset)
        name, offset = decode_bytes(body, offset)
        version, offset = number(body, offset)
        split_bytes, offset = number(body, offset)
        count, offset = number(body, offset)
        families = {}
        for _ in range(count):
            family, offset = _read_family(body, offset)
            families[family.name] = family
        record = TableRecord(table_id, TableState(state), TableSchema(name, families, version, split_bytes))
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


def _read_family(body: bytes, offset: int) -> tuple[FamilySchema, int]:
    name, offset = decode_bytes(body, offset)
    max_versions, offset = number(body, offset)
    min_versions, offset = number(body, offset)
    ttl_seconds, offset = number(body, offset)
    compression, offset = decode_text(body, offset)
    bloom, offset = decode_text(body, offset)
    flags, offset = number(body, offset)
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
