"""Tables and families as Thrift2 describes them. What hbtable does not obey it keeps and shows, as attributes."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import chain
from typing import Final

from hbtable.hbase.codec.thrift2_structs import TColumnFamilyDescriptor, TTableDescriptor, TTableName
from hbtable.hbase.conversion import by_name
from hbtable.hbase.errors import BadArgument
from hbtable.model import names
from hbtable.model.family_attributes import CONFIGURATION, METADATA, OWN_NAMES, plain_name
from hbtable.model.file_settings import families_as_done
from hbtable.model.schema import FOREVER_SECONDS, Attributes, FamilySchema, TableSchema, keep_deleted_cells
from hbtable.model.schema_limits import check_counts
from hbtable.model.values import shown as as_given

_COMPRESSIONS: Final = ("LZO", "GZ", "NONE", "SNAPPY", "LZ4", "BZIP2", "ZSTD")
_BLOOMS: Final = ("NONE", "ROW", "ROWCOL", "ROWPREFIX_FIXED_LENGTH")
_ENCODINGS: Final = {0: "NONE", 2: "PREFIX", 3: "DIFF", 4: "FAST_DIFF", 7: "ROW_INDEX_V1"}
_KEEP: Final = ("FALSE", "TRUE", "TTL")
_DURABILITIES: Final = ("USE_DEFAULT", "SKIP_WAL", "ASYNC_WAL", "SYNC_WAL", "FSYNC_WAL")
_FLAGS: Final = {
    "cache_blooms_on_write": "CACHE_BLOOMS_ON_WRITE",
    "cache_data_on_write": "CACHE_DATA_ON_WRITE",
    "cache_indexes_on_write": "CACHE_INDEX_ON_WRITE",
    "compress_tags": "COMPRESS_TAGS",
    "evict_blocks_on_close": "EVICT_BLOCKS_ON_CLOSE",
}
_ALWAYS: Final = {"DATA_BLOCK_ENCODING": "NONE", "REPLICATION_SCOPE": "0", "KEEP_DELETED_CELLS": "FALSE"}
_MAX_FILESIZE: Final = "MAX_FILESIZE"
_DURABILITY: Final = "DURABILITY"
_NUMBERS: Final = {"REPLICATION_SCOPE": 32, "DFS_REPLICATION": 16}
"""Attributes that a descriptor has as fields of so many bits."""
_VERSIONS: Final = "VERSIONS"
_MIN_VERSIONS: Final = "MIN_VERSIONS"
_TTL: Final = "TTL"
_COMPRESSION: Final = "COMPRESSION"
_BLOOMFILTER: Final = "BLOOMFILTER"
_BLOCKSIZE: Final = "BLOCKSIZE"
_BLOCKCACHE: Final = "BLOCKCACHE"
_IN_MEMORY: Final = "IN_MEMORY"
_NEW_VERSION_BEHAVIOR: Final = "NEW_VERSION_BEHAVIOR"
_LOCALITY_GROUP: Final = "LOCALITY_GROUP"
_INDEX_BLOCK_ENCODING: Final = "INDEX_BLOCK_ENCODING"
_SETTINGS: Final = (
    *(_VERSIONS, _MIN_VERSIONS, _TTL, _COMPRESSION, _BLOOMFILTER, _BLOCKSIZE, _BLOCKCACHE, _IN_MEMORY),
    *(_NEW_VERSION_BEHAVIOR, _LOCALITY_GROUP, _INDEX_BLOCK_ENCODING),
)
"""Attributes that say what a schema has of its own, or what no table can choose: they are not kept as attributes."""
_WHOLE: Final = re.compile("[+-]?[0-9]{1,19}")


def table_name(given: TTableName) -> bytes:
    """Canonical."""
    return names.parse(given.ns + b":" + given.qualifier if given.ns else given.qualifier)


def shown_name(canonical: bytes) -> TTableName:
    return TTableName(*names.split(canonical))


def table_schema(given: TTableDescriptor, version: int = 1, before: TableSchema | None = None) -> TableSchema:
    """`before`: what is altered by it."""
    columns, name = given.columns or (), table_name(given.table_name)
    check_counts(names.shown(name), len(columns), chain((len(given.attributes or ()),), map(_attribute_count, columns)))
    known = {} if before is None else before.families
    attributes = _texts(given.attributes)
    if given.durability is not None:
        attributes.pop(_DURABILITY, None)
        if 0 < given.durability < len(_DURABILITIES):
            attributes[_DURABILITY] = _DURABILITIES[given.durability]
    split_bytes = attributes.pop(_MAX_FILESIZE, "")
    return TableSchema(
        name,
        by_name(family_schema(column, known.get(column.name)) for column in columns),
        version,
        max(0, _number(_MAX_FILESIZE, split_bytes, 64)) if split_bytes else 0,
        _sorted(attributes),
    )


def _attribute_count(given: TColumnFamilyDescriptor) -> int:
    return len(given.attributes or ()) + len(given.configuration or ())


def checked_family(table: str, given: TColumnFamilyDescriptor, before: FamilySchema | None = None) -> FamilySchema:
    """Checks a family that is added to a table, or changed."""
    check_counts(table, 1, (_attribute_count(given),))
    return family_schema(given, before)


def family_schema(given: TColumnFamilyDescriptor, before: FamilySchema | None = None) -> FamilySchema:
    """`before`: what is changed by it. A setting that has a field is taken from it where it was sent, and else from the
    attribute that says the same. A time to live of 0 or less means for ever."""
    attributes = _attributes(given)
    said = {name: text for name in _SETTINGS if (text := attributes.pop(name, ""))}
    for name, bits in _NUMBERS.items():
        if attributes.get(name):
            _number(name, attributes[name], bits)
    defaults = FamilySchema(given.name)
    ttl_seconds = _count(given.time_to_live, said, _TTL, FOREVER_SECONDS)
    made = FamilySchema(
        given.name,
        max_versions=_count(given.max_versions, said, _VERSIONS, 1),
        min_versions=_count(given.min_versions, said, _MIN_VERSIONS, 0),
        ttl_seconds=ttl_seconds if ttl_seconds > 0 else FOREVER_SECONDS,
        compression=_choice(_COMPRESSIONS, given.compression_type, said, _COMPRESSION, "NONE"),
        bloom=_choice(_BLOOMS, given.bloom_filter_type, said, _BLOOMFILTER, "ROW"),
        in_memory=_flag_of(given.in_memory, said, _IN_MEMORY, False),
        block_cache=_flag_of(given.block_cache_enabled, said, _BLOCKCACHE, True),
        block_bytes=_count(given.block_size, said, _BLOCKSIZE, defaults.block_bytes),
        locality_group=said.get(_LOCALITY_GROUP, ""),
        new_version_behavior=_flag_of(None, said, _NEW_VERSION_BEHAVIOR, False),
        attributes=_sorted({name: value for name, value in attributes.items() if _ALWAYS.get(name) != value}),
    )
    return made if before is None else _where_it_was(made, before)


def _attributes(given: TColumnFamilyDescriptor) -> dict[str, str]:
    """With the fields of what hbtable keeps as attributes."""
    attributes = _texts(given.attributes)
    attributes |= {CONFIGURATION + name: value for name, value in (given.configuration or {}).items()}
    for field, name in _FLAGS.items():
        flag = getattr(given, field)
        if flag is not None:
            attributes[name] = "true" if flag else "false"
    if given.data_block_encoding is not None:
        attributes["DATA_BLOCK_ENCODING"] = _ENCODINGS.get(given.data_block_encoding, "NONE")
    if given.keep_deleted_cells is not None:
        attributes["KEEP_DELETED_CELLS"] = _of(_KEEP, given.keep_deleted_cells, 0)
    if given.scope is not None:
        attributes["REPLICATION_SCOPE"] = str(given.scope)
    if given.dfs_replication is not None:
        attributes["DFS_REPLICATION"] = str(given.dfs_replication)
    return attributes


def _is_configuration(attribute: str) -> bool:
    """The library, and earlier versions, keep it as it comes: it has a dot in its name."""
    return attribute.startswith(CONFIGURATION) or ("." in attribute and not attribute.startswith(METADATA))


def _shown_as(attribute: str) -> str:
    """The name without METADATA, but for the name of a setting: an attribute of that name would set it."""
    name = plain_name(attribute)
    is_own = name in OWN_NAMES or name in _SETTINGS or name.startswith((METADATA, CONFIGURATION))
    return attribute if is_own else name


def _told_as(attribute: str, kept: Collection[str]) -> str:
    """The name in a descriptor of the family that keeps these. Where another one has it, the attribute's own: reading
    and writing back would lose one of the two."""
    name = plain_name(attribute) if _is_configuration(attribute) else _shown_as(attribute)
    return attribute if name in kept else name


def _where_it_was(family: FamilySchema, before: FamilySchema) -> FamilySchema:
    """The family with the attributes of `before` where that has them: under METADATA, or without a group."""
    places: dict[str, str] = {}
    for name, _ in before.attributes:
        if not _is_configuration(name):
            places[_shown_as(name)] = name
        elif not name.startswith(CONFIGURATION):
            places[CONFIGURATION + name] = name
    return replace(family, attributes=_sorted({places.get(name, name): text for name, text in family.attributes}))


def described(schema: TableSchema) -> TTableDescriptor:
    families = families_as_done(schema)
    attributes = dict(schema.attributes)
    durability = attributes.get(_DURABILITY, _DURABILITIES[0]).upper()
    if schema.split_bytes:
        attributes[_MAX_FILESIZE] = str(schema.split_bytes)
    return TTableDescriptor(
        shown_name(schema.name),
        [_family(families[name]) for name in sorted(families)],
        _bytes(attributes),
        _DURABILITIES.index(durability) if durability in _DURABILITIES else 0,
    )


def _family(family: FamilySchema) -> TColumnFamilyDescriptor:
    kept = {**_ALWAYS, **dict(family.attributes)}
    configuration = {_told_as(name, kept): value for name, value in kept.items() if _is_configuration(name)}
    attributes = {_told_as(name, kept): value for name, value in kept.items() if not _is_configuration(name)}
    attributes |= {
        _INDEX_BLOCK_ENCODING: "NONE",
        _VERSIONS: str(family.max_versions),
        _BLOOMFILTER: family.bloom,
        _BLOCKSIZE: str(family.block_bytes),
        _BLOCKCACHE: _flag(family.block_cache),
        _MIN_VERSIONS: str(family.min_versions),
        _TTL: str(family.ttl_seconds),
        _IN_MEMORY: _flag(family.in_memory),
        _COMPRESSION: family.compression,
    }
    if family.new_version_behavior:
        attributes[_NEW_VERSION_BEHAVIOR] = _flag(True)
    if family.locality_group:
        attributes[_LOCALITY_GROUP] = family.locality_group
    numbers: dict[str, int] = {name: number for number, name in _ENCODINGS.items()}
    return TColumnFamilyDescriptor(
        family.name,
        _bytes(attributes),
        configuration or None,
        family.block_bytes,
        _BLOOMS.index(family.bloom),
        _COMPRESSIONS.index(family.compression),
        _number_or_zero(kept, "DFS_REPLICATION"),
        numbers.get(kept["DATA_BLOCK_ENCODING"].upper(), 0),
        _KEEP.index(keep_deleted_cells(family)),
        family.max_versions,
        family.min_versions,
        _number_or_zero(kept, "REPLICATION_SCOPE"),
        family.ttl_seconds,
        family.block_cache,
        _is_true(kept.get("CACHE_BLOOMS_ON_WRITE", "false")),
        _is_true(kept.get("CACHE_DATA_ON_WRITE", "false")),
        _is_true(kept.get("CACHE_INDEX_ON_WRITE", "false")),
        _is_true(kept.get("COMPRESS_TAGS", "true")),
        _is_true(kept.get("EVICT_BLOCKS_ON_CLOSE", "false")),
        family.in_memory,
    )


def _of(known: tuple[str, ...], number: int | None, default: int) -> str:
    """A number that the enum does not have is as none, as in HBase."""
    return known[default] if number is None or not 0 <= number < len(known) else known[number]


def _count(field: int | None, said: Mapping[str, str], name: str, default: int) -> int:
    if field is not None:
        return field
    return _number(name, said[name], 32) if name in said else default


def _choice(known: tuple[str, ...], field: int | None, said: Mapping[str, str], name: str, default: str) -> str:
    """A name that is none is refused with the whole schema."""
    return said.get(name, default).upper() if field is None else _of(known, field, known.index(default))


def _flag_of(field: bool | None, said: Mapping[str, str], name: str, default: bool) -> bool:
    if field is not None:
        return field
    return _is_true(said[name]) if name in said else default


def _is_true(text: str) -> bool:
    """As Java reads it: true in upper or lower case is true, anything else is not."""
    return text.lower() == "true"


def _whole(text: str, bits: int) -> int | None:
    """None: it is no number of so many bits."""
    number = int(text) if _WHOLE.fullmatch(text) else None
    return number if number is not None and -(1 << bits - 1) <= number < 1 << bits - 1 else None


def _number(name: str, text: str, bits: int) -> int:
    number = _whole(text, bits)
    if number is None:
        raise BadArgument(f"{name} is a whole number of {bits} bits, and not {as_given(text)}")
    return number


def _number_or_zero(kept: Mapping[str, str], name: str) -> int:
    """Other ways in take any text: one odd table must not hide all others from who lists them."""
    return _whole(kept.get(name, ""), _NUMBERS[name]) or 0


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _texts(given: Mapping[bytes, bytes] | None) -> dict[str, str]:
    return {_text(name): _text(value) for name, value in (given or {}).items()}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(given: Mapping[str, str]) -> dict[bytes, bytes]:
    return {
        name.encode("utf-8", "surrogateescape"): value.encode("utf-8", "surrogateescape")
        for name, value in given.items()
    }


def _sorted(given: Mapping[str, str]) -> Attributes:
    return tuple(sorted(given.items()))
