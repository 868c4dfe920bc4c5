"""What random programs are made of: few rows, columns, values and times, so that calls meet the same cells.

Strings are bytes as Latin-1, as in compat-tests/recorded/replay.py."""

import struct
from typing import Final

LONG_MAX: Final = 9223372036854775807
FOREVER: Final = 2147483647
HOUR: Final = 3600000

ROWS: Final = ["a", "a\x00", "aa", "b", "b\xff", "c", "\x00", "\xff", "\xff\xff", "k" * 300]
QUALIFIERS: Final = ["", "a", "a\x00", "ab", "b", "b:c", "c", "\x00", "\xff", "\xff\xff", "q" * 200]
SMALL_TIMES: Final = [1, 2, 3, 4, 5, 7]


def long(number: int) -> str:
    """Eight bytes, as counters and `_ttl` have them."""
    return struct.pack(">q", number).decode("latin-1")


VALUES: Final = ["", "v", "w", "vv", "\x00", "\xff\xff", "a", "b", long(5), "1234567", "123456789"]

PROFILES: Final = {
    "memory": 5,
    "filters": 4,
    "flushes": 4,
    "versions": 3,
    "ttl": 1,
    "admin": 2,
    "families": 2,
    "newversions": 2,
    "keepdeleted": 1,
    "scanners": 2,
    "mixed": 2,
    "deep": 2,
    "blocks": 1,
    "concurrent": 2,
}
"""How often each is chosen; profiles.py has what they do."""

KNOWN: Final = {
    "versions-raised": "a family is to keep more versions: HBase has flushed, and thrown the older ones away; hbtable "
    "may show them",
    "marker-below-excess": "a flush in HBase loses the delete marker of a column that lies below as many versions as "
    "are kept",
    "min-versions-of-a-column": "MIN_VERSIONS and an explicit column: HBase shows one expired version too many",
    "empty-column-of-new-versions": "NEW_VERSION_BEHAVIOR and the empty qualifier: reads of a row in which it was "
    "deleted end in a null pointer in HBase, and a delete of the row or of the family leaves it",
    "excess-of-new-versions": "NEW_VERSION_BEHAVIOR: HBase hides a version for ever once as many newer ones as are "
    "kept were there with it; hbtable shows it until a major compaction, as in other families",
    "columns-of-new-versions": "NEW_VERSION_BEHAVIOR and a Bloom filter of columns: scans of some columns never end in "
    "HBase",
    "ttl-of-a-delete": "a delete with _ttl: its marker expires in HBase",
    "mortal-cover": "a flush in HBase counts a version that will expire among those that are kept, and throws the "
    "older one away, so that nothing is left when it has expired",
    "ttl-same-time": "a put with _ttl over a put of the same time: when it expires, HBase shows the older again",
}
"""Programs do not call for these unless asked: HBase is known to answer otherwise, and docs/deviations.md says why."""

WITH_ATTRIBUTES: Final = {
    "get",
    "getVer",
    "getVerTs",
    "getRow",
    "getRowTs",
    "getRowWithColumns",
    "getRowWithColumnsTs",
    "getRows",
    "getRowsTs",
    "getRowsWithColumns",
    "getRowsWithColumnsTs",
    "mutateRow",
    "mutateRowTs",
    "mutateRows",
    "mutateRowsTs",
    "deleteAll",
    "deleteAllTs",
    "deleteAllRow",
    "deleteAllRowTs",
    "checkAndPut",
    "scannerOpen",
    "scannerOpenTs",
    "scannerOpenWithStop",
    "scannerOpenWithStopTs",
    "scannerOpenWithPrefix",
    "scannerOpenWithScan",
}
"""Calls whose last parameter is a map of attributes, which clients mostly send empty."""
