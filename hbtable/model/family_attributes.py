"""Names of a family's attributes: HBase's own stand as they are, what people add stands under METADATA or
CONFIGURATION, as the shell calls them."""

from typing import Final

METADATA: Final = "METADATA/"
CONFIGURATION: Final = "CONFIGURATION/"
OWN_NAMES: Final = frozenset(
    (
        *("KEEP_DELETED_CELLS", "DATA_BLOCK_ENCODING", "IN_MEMORY_COMPACTION", "INDEX_BLOCK_ENCODING"),
        *("REPLICATION_SCOPE", "ENCRYPTION", "ENCRYPTION_KEY", "STORAGE_POLICY", "DFS_REPLICATION", "IS_MOB"),
        *("MOB_THRESHOLD", "MOB_COMPACT_PARTITION_POLICY", "CACHE_DATA_ON_WRITE", "CACHE_INDEX_ON_WRITE"),
        *("CACHE_BLOOMS_ON_WRITE", "EVICT_BLOCKS_ON_CLOSE", "PREFETCH_BLOCKS_ON_OPEN", "COMPRESS_TAGS"),
        *("COMPRESSION_COMPACT", "COMPRESSION_COMPACT_MAJOR", "COMPRESSION_COMPACT_MINOR"),
    )
)
"""HBase's, of those that are kept as attributes."""


def plain_name(attribute: str) -> str:
    """The name that people gave it."""
    for group in (METADATA, CONFIGURATION):
        if attribute.startswith(group):
            return attribute.removeprefix(group)
    return attribute
