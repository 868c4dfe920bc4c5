"""Hashes of create and alter, read into schemas. What hbtable does not obey is kept as attributes and shown again.

family attributes    KEEP_DELETED_CELLS ...  as they are;  METADATA/name, CONFIGURATION/name
table attributes     DURABILITY ...  and, among them, what METADATA and CONFIGURATION say, as HBase does
"""

import re
from collections.abc import Callable
from typing import Final

from hbtable.hbase.admin.structs import AdminFamily, AdminTable
from hbtable.model.family_attributes import OWN_NAMES
from hbtable.model.schema import BLOOM_TYPES, COMPRESSIONS, FOREVER_SECONDS, OFFERED_COMPRESSIONS
from hbtable.shell.arguments.options import no_such_constant, whole
from hbtable.shell.context import text_of
from hbtable.shell.errors import ArgumentError, ServerError
from hbtable.shell.language.literals import Value, shown

Given = dict[Value, Value]
_NUMBERS: Final = (b"REPLICATION_SCOPE", b"DFS_REPLICATION", b"MOB_THRESHOLD")
_OF_TABLE: Final = frozenset(
    b"OWNER READONLY COMPACTION_ENABLED SPLIT_ENABLED MERGE_ENABLED NORMALIZATION_ENABLED MEMSTORE_FLUSHSIZE "
    b"DURABILITY REGION_REPLICATION REGION_MEMSTORE_REPLICATION PRIORITY FLUSH_POLICY SPLIT_POLICY "
    b"NORMALIZER_TARGET_REGION_COUNT NORMALIZER_TARGET_REGION_SIZE NORMALIZER_TARGET_REGION_SIZE_MB".split()
)
_DURABILITIES: Final = ("USE_DEFAULT", "SKIP_WAL", "ASYNC_WAL", "SYNC_WAL", "FSYNC_WAL")
_REFUSED: Final = "org.apache.hadoop.hbase.DoNotRetryIOException"
_ILLEGAL: Final = "java.lang.IllegalArgumentException"
_UPPER: Final = frozenset(b"ENCRYPTION STORAGE_POLICY MOB_COMPACT_PARTITION_POLICY".split())
_ENUMS: Final[dict[Value, tuple[str, tuple[str, ...]]]] = {
    b"KEEP_DELETED_CELLS": ("KeepDeletedCells", ("FALSE", "TRUE", "TTL")),
    b"DATA_BLOCK_ENCODING": (
        "io.encoding.DataBlockEncoding",
        ("NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"),
    ),
    b"IN_MEMORY_COMPACTION": ("MemoryCompactionPolicy", ("NONE", "BASIC", "EAGER", "ADAPTIVE")),
}
_KEPT: Final = frozenset(map(str.encode, OWN_NAMES)) - _ENUMS.keys()
_PIECE: Final = re.compile(r"(\d+)\s*([A-Za-z]+)")
_SECONDS: Final = {"DAY": 86400, "HOUR": 3600, "MINUTE": 60, "SECOND": 1}
_BYTES: Final = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


def family(given: Given, base: AdminFamily, say: Callable[[str], None]) -> AdminFamily:
    """`base` with what `given` says. Unknown keys are reported through `say` and ignored."""
    attributes = dict(base.attributes or {})
    changed: dict[str, object] = {}
    check_family_name(base.name)
    for key, value in given.items():
        name = shown(key)
        if key in _SETTERS:
            field, read = _SETTERS[key]
            changed[field] = read(value)
        elif key in (b"METADATA", b"CONFIGURATION"):
            for inner, held in _pairs(value, name):
                if inner not in OWN_NAMES:
                    attributes.pop(inner, None)  # where Thrift2 keeps it
                _keep(attributes, f"{name}/{inner}", held)
        elif key in _ENUMS:
            attributes[name] = _enum(key, value)
        elif key in _KEPT:
            if key in _NUMBERS:
                _number(value, name)
            attributes[name] = _kept(value, upper=key in _UPPER)
        elif key != b"NAME":
            say(f"Unknown argument ignored for column family {shown(base.name)}: {name}")
    return base._replace(attributes=attributes, **changed)  # type: ignore[arg-type]  # fields as _SETTERS has them


def check_family_name(name: bytes) -> None:
    """Refuses a name that no family can have, in HBase's words."""
    shown_name = name.decode("utf-8", "replace")
    if not name:
        raise ServerError(_ILLEGAL, "Column Family name can not be empty")
    if name.startswith(b"."):
        raise ServerError(_ILLEGAL, f"Column Family names cannot start with a period: {shown_name}")
    for byte in name:
        if byte in b":/\\" or byte < 0x20 or byte == 0x7F:
            raise ServerError(
                _ILLEGAL,
                f"Illegal character <{byte}>. Column Family names cannot contain control characters or colons: "
                f"{shown_name}",
            )


def table_attributes(
    given: Given,
    base: AdminTable,
    say: Callable[[str], None],
    ignored: str = "An argument ignored (unknown or overridden)",
) -> AdminTable:
    """`base` with the table's own options; others are reported, as `ignored`, and ignored."""
    attributes = dict(base.attributes or {})
    split_bytes = base.split_bytes
    for key, value in given.items():
        name = shown(key)
        if key == b"MAX_FILESIZE":
            split_bytes = size(value)
        elif key in (b"METADATA", b"CONFIGURATION"):
            for inner, held in _pairs(value, name):
                _keep(attributes, inner, held)
        elif key == b"DURABILITY":
            if shown(value) not in _DURABILITIES:
                raise no_such_constant("client.Durability", value, map(str.encode, _DURABILITIES))
            attributes[name] = shown(value)
        elif key in _OF_TABLE:
            kept_as = f"{name}_MB" if key == b"NORMALIZER_TARGET_REGION_SIZE" else name
            attributes[kept_as] = str(size(value)) if key == b"MEMSTORE_FLUSHSIZE" else _kept(value, upper=False)
        else:
            say(f"{ignored}: {name}")
    return base._replace(attributes=attributes, split_bytes=split_bytes)


def one_of(value: Value, known: tuple[str, ...], what: str, offered: tuple[str, ...] = ()) -> str:
    """`offered`: those of the known that the error names, if not all."""
    name = shown(value).upper()
    if name not in known:
        raise ArgumentError(f"{what} {shown(value)} is not supported. Use one of {' '.join(offered or known)}")
    return name


def seconds(value: Value) -> int:
    """A number, FOREVER, or `1 DAYS 2 HOURS`."""
    if isinstance(value, bytes) and not value.isdigit():
        if value.upper() == b"FOREVER":
            return FOREVER_SECONDS
        return _sum(value, _SECONDS, "TTL")
    return whole(value, "TTL")


def size(value: Value) -> int:
    """A number of bytes, or `128 MB`."""
    if isinstance(value, bytes) and not value.lstrip(b"-").isdigit():
        return _sum(value, _BYTES, "a size")
    return whole(value, "a size")


def _sum(value: bytes, units: dict[str, int], what: str) -> int:
    # describe's own words, such as `90000 SECONDS (1 DAY 1 HOUR)`, say it twice.
    source = value.decode("utf-8", "replace").upper().partition("(")[0]
    found = _PIECE.findall(source)
    if not found or _PIECE.sub("", source).strip():
        raise ArgumentError(
            f"{what}: {shown(value)!r} cannot be understood; write a number or such as '1 {next(iter(units))}'"
        )
    total = 0
    for count, unit in found:
        width = units.get(unit) or units.get(unit.removesuffix("S"))
        if width is None:
            raise ArgumentError(f"{what}: there is no unit {unit!r}, there is {', '.join(units)}")
        total += int(count) * width
    return total


def _enum(key: Value, value: Value) -> str:
    kind, known = _ENUMS[key]
    name = shown(value).upper()
    if name not in known:
        wrong = name if key == b"KEEP_DELETED_CELLS" else shown(value)
        raise no_such_constant(kind, wrong.encode(), map(str.encode, known))
    return name


def _block_size(value: Value) -> int:
    count = size(value)
    if not 1 << 10 <= count <= 16 << 20:
        raise ServerError(_REFUSED, "Block size for column family must be between 1K and 16MB.")
    return count


def _number(value: Value, what: str) -> int:
    """In Java's words, when it is none."""
    if isinstance(value, bytes) and not value.removeprefix(b"-").isdigit():
        error = f'For input string: "{shown(value)}"'
        raise ServerError("java.lang.NumberFormatException", error, f"{what} is a whole number")
    return whole(value, what)


def _versions(value: Value) -> int:
    count = _number(value, "VERSIONS")
    if count < 1:
        raise ServerError(_ILLEGAL, "Maximum versions must be positive")
    return count


def _pairs(value: Value, what: str) -> list[tuple[str, str]]:
    if not isinstance(value, dict):
        raise ArgumentError(f"{what} must be a Hash type")
    return [(shown(key), shown(held)) for key, held in value.items()]


def _keep(attributes: dict[str, str], name: str, value: str) -> None:
    """An empty value takes the attribute away."""
    if value:
        attributes[name] = value
    else:
        attributes.pop(name, None)


def _kept(value: Value, upper: bool = True) -> str:
    text = shown(value)
    if text.lower() in ("true", "false"):
        return text.upper() if upper else text.lower()
    return text.upper() if upper and text.replace("_", "").isalpha() else text


def _flag(value: Value) -> bool:
    """As Java reads it: true is true, anything else is not."""
    return shown(value).lower() == "true"


def _name_of_group(value: Value) -> str:
    return text_of(value, "LOCALITY_GROUP").decode("utf-8", "surrogateescape")


_SETTERS: Final[dict[Value, tuple[str, Callable[[Value], object]]]] = {
    b"VERSIONS": ("max_versions", _versions),
    b"MIN_VERSIONS": ("min_versions", lambda value: _number(value, "MIN_VERSIONS")),
    b"TTL": ("ttl_seconds", seconds),
    b"COMPRESSION": ("compression", lambda value: one_of(value, COMPRESSIONS, "Compression", OFFERED_COMPRESSIONS)),
    b"BLOOMFILTER": ("bloom", lambda value: one_of(value, BLOOM_TYPES, "BloomFilter type")),
    b"IN_MEMORY": ("in_memory", _flag),
    b"BLOCKCACHE": ("block_cache", _flag),
    b"BLOCKSIZE": ("block_bytes", _block_size),
    b"NEW_VERSION_BEHAVIOR": ("new_version_behavior", _flag),
    b"LOCALITY_GROUP": ("locality_group", _name_of_group),
}


FAMILY_OPTIONS: Final = (*_SETTERS, *_ENUMS, *sorted(_KEPT), b"METADATA", b"CONFIGURATION")
TABLE_OPTIONS: Final = (b"MAX_FILESIZE", *sorted(_OF_TABLE), b"METADATA", b"CONFIGURATION")
"""All names that are read."""
