"""Table and column-family schemas (paper, sections 2 and 6: families are the unit of access control and of
locality groups; compression and Bloom filters are chosen per locality group).

A schema is an immutable value with a version; servers keep the one they loaded and reload by version.
"""

from dataclasses import dataclass, field
from typing import Final

FOREVER_SECONDS: Final = 2**31 - 1
"""Time to live that means 'never expires' (HBase's Integer.MAX_VALUE)."""

COMPRESSIONS: Final = ("NONE", "GZ", "LZO", "SNAPPY", "LZ4", "BZIP2", "ZSTD")
"""Names that a schema may hold. LZO only in tables of older versions (model.file_settings)."""

OFFERED_COMPRESSIONS: Final = tuple(name for name in COMPRESSIONS if name != "LZO")
"""Names that a new family may have: what an error offers."""

BLOOM_TYPES: Final = ("NONE", "ROW", "ROWCOL")

MAX_SPLIT_ROWS: Final = 100_000
"""At which one table may be made."""

KEEP_DELETED_CELLS: Final = "KEEP_DELETED_CELLS"
"""An attribute of a family that hbtable obeys. See keep_deleted_cells()."""

Attributes = tuple[tuple[str, str], ...]
"""(name, value) ascending by name: what people wrote into a schema that hbtable keeps and shows for them."""

READ_ONLY: Final = ("READONLY", "true")
"""An attribute of a table that hbtable obeys: every write is refused. See is_read_only()."""

MAJOR_COMPACTION: Final = "hbase.hregion.majorcompaction"
"""Another: milliseconds between major compactions; 0: only those that are asked for. See major_compaction_millis()."""


@dataclass(frozen=True, slots=True)
class FamilySchema:
    """One column family. Defaults are HBase Thrift1's."""

    name: bytes
    max_versions: int = 3
    min_versions: int = 0
    """Versions kept although they are older than the time to live."""
    ttl_seconds: int = FOREVER_SECONDS
    compression: str = "NONE"
    bloom: str = "NONE"
    in_memory: bool = False
    """Blocks of this family have priority in the block cache (paper, section 6)."""
    block_cache: bool = False
    """Scans put this family's blocks into the block cache; point reads always do."""
    block_bytes: int = 65536
    locality_group: str = ""
    """Families that name the same group share SSTables; "" means a group of its own."""
    new_version_behavior: bool = False
    """Order deletes and puts by sequence, not only by timestamp (HBase's NEW_VERSION_BEHAVIOR)."""
    attributes: Attributes = ()
    """Kept and shown; only KEEP_DELETED_CELLS is obeyed."""
    added_in: int = 0
    """The version of the schema that added it to an existing table; 0: it is there since the table was made. With the
    name it is the family's identity: a family that is dropped and added again is another one. The master's to say."""

    def group_name(self) -> str:
        return self.locality_group or self.name.decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table: its full name (b"t" or b"namespace:t"), families by name, and a version that grows with each change, and
    when a disabled table is enabled."""

    name: bytes
    families: dict[bytes, FamilySchema] = field(default_factory=dict)
    version: int = 1
    split_bytes: int = 0
    """Size at which a tablet of this table splits; 0: the server's option."""
    attributes: Attributes = ()
    """Kept and shown; only READ_ONLY and MAJOR_COMPACTION are obeyed."""

    def groups(self) -> dict[str, tuple[bytes, ...]]:
        """Locality group name -> its families, both ascending."""
        found: dict[str, list[bytes]] = {}
        for name in sorted(self.families):
            found.setdefault(self.families[name].group_name(), []).append(name)
        return {group: tuple(found[group]) for group in sorted(found)}


def is_read_only(schema: TableSchema) -> bool:
    """Whether the table is read-only, as HBase reads the attribute: "true" in upper or lower case is true, everything
    else is false."""
    return any(name == READ_ONLY[0] and value.lower() == READ_ONLY[1] for name, value in schema.attributes)


def keep_deleted_cells(family: FamilySchema) -> str:
    """FALSE, TRUE or TTL: whether compactions keep deleted cells, and reads up to a time count no later deletes. As
    HBase reads the attribute, in upper or lower case; FALSE where it says anything else."""
    text = next((value for name, value in family.attributes if name == KEEP_DELETED_CELLS), "").upper()
    return text if text in ("TRUE", "TTL") else "FALSE"


def major_compaction_millis(schema: TableSchema) -> int | None:
    """The period between major compactions that the table sets; None when it sets none, or no whole number that a clock
    could count."""
    text = next((value for name, value in schema.attributes if name == MAJOR_COMPACTION), "")
    return millis(text)


def millis(text: str) -> int | None:
    """None when it is no whole number that a clock could count."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
