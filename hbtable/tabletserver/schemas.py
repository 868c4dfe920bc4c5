"""Chooses the schema a tablet is loaded with: none older than METADATA's, and none older than the server was told.

A request to load may come late, with the schema of its time. A tablet that is served under an old schema would leave
out what its log holds of newer families, and would take writes for a family that was dropped since.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

from hbtable.metadata.catalog import Catalog
from hbtable.model.schema import TableSchema
from hbtable.model.tablet import METADATA_TABLE_ID
from hbtable.switches import switches


@final
class Schemas:
    """Remembers what it was told of a table only while a tablet of it is being loaded."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._loading: Counter[int] = Counter()
        self._told: dict[int, TableSchema] = {}

    @contextmanager
    def loading(self, table_id: int) -> Iterator[None]:
        """Held from before current() until the tablet is where update_schema finds it."""
        self._loading[table_id] += 1
        try:
            yield
        finally:
            self._loading[table_id] -= 1
            if not self._loading[table_id]:
                del self._loading[table_id]
                self._told.pop(table_id, None)

    @switches
    def current(self, table_id: int, given: TableSchema) -> TableSchema:
        """`given` by the master, or METADATA's if that is newer."""
        if table_id == METADATA_TABLE_ID:
            return given
        found = self._catalog.read_table(given.name)
        if found is None or found.table_id != table_id or found.schema.version <= given.version:
            return given
        return found.schema

    def told(self, table_id: int, schema: TableSchema) -> None:
        if table_id in self._loading:
            self._told[table_id] = newer(schema, self._told.get(table_id))

    def newest(self, table_id: int, schema: TableSchema) -> TableSchema:
        """`schema`, or what was told meanwhile. Does not switch."""
        return newer(schema, self._told.get(table_id))


def newer(schema: TableSchema, other: TableSchema | None) -> TableSchema:
    return other if other is not None and other.version > schema.version else schema
