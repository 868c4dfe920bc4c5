"""A table's schema in describe's words, one line a family."""

from typing import Final

from hbtable.hbase.admin.structs import AdminFamily, AdminTable
from hbtable.model.visible import visible
from hbtable.shell.answers import text
from hbtable.shell.context import show_name

_RESERVED: Final = ("DURABILITY", "MAX_FILESIZE", "MEMSTORE_FLUSHSIZE", "PRIORITY", "READONLY", "REGION_REPLICATION")
_TRACKER: Final = {"hbase.store.file-tracker.impl": "DEFAULT"}
"""HBase 2.6 shows this with every table."""
_RESERVED_OF_FAMILY: Final = ("ENCRYPTION", "ENCRYPTION_KEY", "IS_MOB", "MOB_THRESHOLD", "MOB_COMPACT_PARTITION_POLICY")
"""Shown in line with the rest; others are METADATA."""


def table_line(table: AdminTable) -> str:
    attributes = dict(table.attributes or {})
    if table.split_bytes:
        attributes["MAX_FILESIZE"] = str(table.split_bytes)
    parts = []
    for name in _RESERVED:
        value = attributes.pop(name, None)
        if value is not None:
            in_bytes = name in ("MAX_FILESIZE", "MEMSTORE_FLUSHSIZE") and value.isdigit()
            parts.append(f"{name} => '{text.size(int(value)) if in_bytes else visible(value)}'")
    metadata = {**attributes, **_TRACKER}
    parts.append(f"METADATA => {_hash(metadata, sorted(metadata))}")
    return f"{show_name(table.name)}, {{TABLE_ATTRIBUTES => {{{', '.join(parts)}}}}}"


def family_line(family: AdminFamily) -> str:
    kept = dict(family.attributes or {})
    parts = [
        ("NAME", show_name(family.name)),
        ("INDEX_BLOCK_ENCODING", kept.pop("INDEX_BLOCK_ENCODING", "NONE")),
        ("VERSIONS", str(family.max_versions)),
        ("KEEP_DELETED_CELLS", kept.pop("KEEP_DELETED_CELLS", "FALSE")),
        ("DATA_BLOCK_ENCODING", kept.pop("DATA_BLOCK_ENCODING", "NONE")),
        ("TTL", text.ttl(family.ttl_seconds)),
        ("MIN_VERSIONS", str(family.min_versions)),
        ("REPLICATION_SCOPE", kept.pop("REPLICATION_SCOPE", "0")),
        ("BLOOMFILTER", family.bloom),
        ("IN_MEMORY", _flag(family.in_memory)),
        ("COMPRESSION", family.compression),
        ("BLOCKCACHE", _flag(family.block_cache)),
        ("BLOCKSIZE", text.size(family.block_bytes)),
    ]
    parts += [(name, kept.pop(name)) for name in _RESERVED_OF_FAMILY if name in kept]
    places = _places(len(parts) - 1 + sum(not name.startswith("CONFIGURATION/") for name in kept))
    parts[1:] = sorted(parts[1:], key=lambda part: _java_place(part[0], places))
    if family.locality_group:
        parts.append(("LOCALITY_GROUP", family.locality_group))
    if family.new_version_behavior:
        kept["NEW_VERSION_BEHAVIOR"] = "true"
    shown = [f"{name} => '{visible(value)}'" for name, value in parts]
    for group in ("METADATA", "CONFIGURATION"):
        inner = {name.partition("/")[2]: value for name, value in kept.items() if name.startswith(group + "/")}
        names = sorted(inner, key=_string_place)
        if group == "METADATA":
            inner.update({name: value for name, value in kept.items() if "/" not in name})
            names = sorted(inner, key=lambda name: _java_place(name, places))
        if inner:
            shown.append(f"{group} => {_hash(inner, names)}")
    return f"{{{', '.join(shown)}}}"


def _hash(pairs: dict[str, str], names: list[str]) -> str:
    return "{" + ", ".join(f"'{visible(name)}' => '{visible(pairs[name])}'" for name in names) + "}"


def _places(held: int) -> int:
    """The places of Java's map of `held` names, which doubles when it is three quarters full."""
    places = 32
    while held > places * 3 // 4:
        places *= 2
    return places


def _java_place(name: str, places: int) -> int:
    """HBase keeps these in a hash map and shows them in its order: without it no line of describe would be equal."""
    code = 1
    for byte in name.encode():
        code = (31 * code + byte) & 0xFFFFFFFF
    return (code ^ code >> 16) % places


def _string_place(name: str) -> int:
    """The same of Java's strings, in a map of at most 12."""
    code = 0
    for char in name:
        code = (31 * code + ord(char)) & 0xFFFFFFFF
    return (code ^ code >> 16) % 16


def _flag(value: bool) -> str:
    return "true" if value else "false"
