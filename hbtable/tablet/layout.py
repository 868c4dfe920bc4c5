"""Spreads a schema's families over stacks of memtables and SSTables (paper, section 6: locality groups).

A stack is named after the families it may hold, as they stand in cell keys (encoding.cell_key), joined by "/" (which no
family name contains): not after the locality group, because the schema may regroup families later, and a file must keep
saying what it can hold. For the usual family with a group of its own the stack is named like the family. Stacks of an
earlier grouping stay readable, get no new writes, and vanish with the next major compaction.

A family that was dropped and added again stands in keys in another way, so it has another stack: the old one's cells
are of no family that the schema has.
"""

from typing import final

from hbtable.encoding.cell_key import family_name, stored_family
from hbtable.encoding.table_record import encode
from hbtable.merge.rules import FamilyRules, rules_of
from hbtable.model.file_settings import done_for
from hbtable.model.schema import FamilySchema, TableSchema, is_read_only
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import METADATA_TABLE_ID
from hbtable.sstable.builder import SSTableOptions

SEPARATOR = "/"


def stack_key(families: tuple[bytes, ...]) -> str:
    return SEPARATOR.join(family.decode("utf-8", "surrogateescape") for family in families)


def shown_key(key: str) -> str:
    """The key for a message, without the identities of families."""
    return stack_key(tuple(map(family_name, families_of_key(key))))


def families_of_key(key: str) -> tuple[bytes, ...]:
    return tuple(family.encode("utf-8", "surrogateescape") for family in key.split(SEPARATOR))


@final
class LocalityGroupLayout:
    """Says which stack holds a family. Derived once from a schema; immutable. Compared by identity: pairs were spread
    by this very layout."""

    __slots__ = (
        "_by_stored",
        "_records",
        "by_sequence",
        "keeps_deleted",
        "keys",
        "places",
        "plain_families",
        "read_only",
        "rules",
        "schema",
        "stored",
        "table",
        "writable",
    )

    def __init__(self, schema: TableSchema) -> None:
        self.schema = schema
        self._records: dict[int, bytes] = {}
        self.table = schema.name.decode("utf-8", "backslashreplace")
        """For messages."""
        self.rules: dict[bytes, FamilyRules] = rules_of(schema)
        self.plain_families = frozenset(family for family, rule in self.rules.items() if not rule.ttl_millis)
        """As they stand in cell keys: what time does not hide."""
        self.keeps_deleted = frozenset(family for family, rule in self.rules.items() if rule.keep_deleted)
        """As they stand in cell keys: those of which compactions keep what markers mask."""
        self.by_sequence = frozenset(family for family, rule in self.rules.items() if rule.new_version_behavior)
        """As they stand in cell keys: those in which a marker masks only what was written before it."""
        self.stored = {name: stored_family(name, family.added_in) for name, family in schema.families.items()}
        """family -> how it stands in cell keys."""
        self._by_stored = {self.stored[name]: family for name, family in schema.families.items()}
        groups = [tuple(self.stored[name] for name in names) for names in schema.groups().values()]
        self.keys: tuple[str, ...] = tuple(stack_key(families) for families in groups)
        """Names of the stacks that take writes, by place."""
        self.places: dict[bytes, int] = {family: place for place, families in enumerate(groups) for family in families}
        """Family, as it stands in cell keys -> place of its stack. For every pair that was accepted once, also while
        the table is read only: from the log, or from a write that the change of the schema overtook."""
        self.read_only = is_read_only(schema)
        self.writable: dict[bytes, tuple[int, bytes]] = (
            {} if self.read_only else {name: (self.places[key], key + b"\x00") for name, key in self.stored.items()}
        )
        """For new writes: family -> (place of its stack, how it stands in a cell key, with its end). Where no family
        takes writes every write meets the check for a missing one: the usual one pays nothing."""

    def table_record(self, table_id: int) -> bytes:
        """The table's record, as a new SSTable keeps it (properties.Origin). Made once: that of a table with hundreds
        of families takes milliseconds, and a look for compactions asks for each of as many files."""
        if table_id == METADATA_TABLE_ID:
            return b""
        if table_id not in self._records:
            self._records[table_id] = encode(TableRecord(table_id, TableState.ENABLED, self.schema))
        return self._records[table_id]

    def families(self, key: str) -> list[FamilySchema]:
        """The families of a stack that the schema still has."""
        known = self._by_stored
        return [known[family] for family in families_of_key(key) if family in known]

    def sstable_options(self, key: str) -> SSTableOptions:
        families = self.families(key)
        if not families:
            return SSTableOptions()
        done = done_for(families)
        return SSTableOptions(block_bytes=done.block_bytes, compression=done.compression, bloom=done.bloom)

    def in_memory(self, key: str) -> bool:
        return any(family.in_memory for family in self.families(key))

    def caches_scans(self, key: str) -> bool:
        return any(family.block_cache for family in self.families(key))
