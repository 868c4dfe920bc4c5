"""Settings that families ask of their SSTables, and those that are used (paper, section 6: compression and Bloom
filters are chosen per locality group).

The families of a group share their files, so they have to ask for the same (master.file_settings_check). Tables that
were made when nobody saw to it may disagree: what is done for the group is shown for each of its families.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Final, NamedTuple

from hbtable.model.family_attributes import plain_name
from hbtable.model.schema import FamilySchema, TableSchema

NEVER_COMPRESSED: Final = "LZO"
"""Older versions took it and compressed nothing: there is no maintained library for it."""
_RAW: Final = ("NONE", NEVER_COMPRESSED)
ENCRYPTIONS: Final = ("ENCRYPTION", "ENCRYPTION_KEY")
"""Attributes that ask for what is never done: older versions took them and encrypted nothing."""
COMPACTED: Final = ("COMPRESSION_COMPACT", "COMPRESSION_COMPACT_MAJOR", "COMPRESSION_COMPACT_MINOR")
"""Attributes that ask for a compression after compactions. There is one compression for all files of a family."""


class FileSettings(NamedTuple):
    """The settings of one SSTable."""

    compression: str
    block_bytes: int
    bloom: str


def done_for(families: Collection[FamilySchema]) -> FileSettings:
    """The settings that files of these families get. Of several compressions the first counts, of block sizes the
    smaller, of Bloom filters the finer. At least one family."""
    compression = next((family.compression for family in families if family.compression not in _RAW), "NONE")
    # A Bloom filter costs little and saves a read per file and lookup, so "NONE", Thrift's default, gets ROW.
    bloom = "ROWCOL" if any(family.bloom == "ROWCOL" for family in families) else "ROW"
    return FileSettings(compression, max(1, min(family.block_bytes for family in families)), bloom)


def promises_what_is_not_done(attribute: str, value: str, compression: str) -> bool:
    """Whether the attribute, shown for a family whose files have this compression, would promise something else than is
    done."""
    name = plain_name(attribute)
    return name in ENCRYPTIONS or (name in COMPACTED and value.upper() != compression)


def families_as_done(schema: TableSchema) -> dict[bytes, FamilySchema]:
    """Each family, for people, with the compression and the block size that its files have, and without attributes that
    promise what is not done."""
    shown: dict[bytes, FamilySchema] = {}
    for names in schema.groups().values():
        families = [schema.families[name] for name in names]
        done = done_for(families)
        for family in families:
            kept = tuple(
                (name, value)
                for name, value in family.attributes
                if not promises_what_is_not_done(name, value, done.compression)
            )
            shown[family.name] = replace(
                family, compression=done.compression, block_bytes=done.block_bytes, attributes=kept
            )
    return shown
