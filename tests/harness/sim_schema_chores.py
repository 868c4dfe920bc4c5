"""An operator who changes the schema of the journal's table while clients write and servers fail.

Groups of families change, the table is read only for a moment, and a family of the operator's own, which nobody else
writes, is dropped and added again. Of that family it is known what must be there: after it was added none of the values
that were acknowledged before it was dropped; and what was acknowledged since, whatever happened to the servers.
"""

import random
from collections.abc import Callable
from dataclasses import replace

from hbtable.client.admin import Admin
from hbtable.errors import HbtableError
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import PUT, RowMutation
from hbtable.model.read import ReadSpec
from hbtable.model.schema import READ_ONLY, FamilySchema, TableSchema
from tests.harness.sim_cluster import ClientProcess
from tests.harness.sim_workload import ROWS, TABLE

FAMILY = b"e"
_ASKS = 6


class SchemaChores:
    """Each returns whether it was done. AssertionError: a promise was broken."""

    def __init__(self, process: ClientProcess, chance: random.Random) -> None:
        self._process = process
        self._chance = chance
        self._number = 0
        self._acknowledged: dict[bytes, bytes] = {}
        """Of the family as it is now; empty while that is not known."""
        self._old: set[bytes] = set()
        """Acknowledged before the family was dropped last."""

    def regroup(self, admin: Admin) -> bool:
        groups = {name: self._chance.choice(("", "one", "two")) for name in (b"f", b"g", b"c", FAMILY)}

        def change(schema: TableSchema) -> TableSchema:
            families = {name: replace(family, locality_group=groups[name]) for name, family in schema.families.items()}
            return replace(schema, families=families)

        return self._alter(admin, change)

    def read_only(self, admin: Admin) -> bool:
        done = self._alter(admin, lambda schema: replace(schema, attributes=(READ_ONLY,)))
        self._process.runtime.sleep(self._chance.uniform(0.0, 0.3))
        return self._alter(admin, lambda schema: replace(schema, attributes=())) and done

    def normalized(self, admin: Admin) -> bool:
        """From now on no tablet counts as larger than nothing: all neighbours may be merged."""
        wanted = ("NORMALIZATION_ENABLED", "true")
        return wanted in self._schema(admin).attributes or self._alter(
            admin, lambda schema: replace(schema, attributes=(wanted,))
        )

    def family(self, admin: Admin) -> bool:
        """What was written in the last round is still there; then it is dropped, and the new family is empty."""
        self._look(admin)
        dropped = {**self._acknowledged}
        self._acknowledged = {}
        if not self._alter(admin, _without_family):
            return False
        self._old |= set(dropped.values())
        if not self._alter(admin, _with_family):
            return False
        self._look(admin)
        for row in ROWS:
            self._number += 1
            value = b"e%d" % self._number
            self._process.client.table(TABLE).mutate([RowMutation(row, [(PUT, FAMILY, b"v", SERVER_TIME, value)])])
            self._acknowledged[row] = value
        self._look(admin)
        return True

    def _look(self, admin: Admin) -> None:
        if FAMILY not in self._schema(admin).families:
            return
        spec = ReadSpec(columns={FAMILY: None}, max_versions=100)
        found = {
            row: [value for _, _, value in cells]
            for row, cells in self._process.client.table(TABLE).read_rows(ROWS, spec)
        }
        for row, values in found.items():
            assert self._old.isdisjoint(values), f"{row!r} shows {values[:5]} of a family that was dropped"
        for row, value in self._acknowledged.items():
            assert found.get(row) == [value], f"{row!r} shows {found.get(row)} where {value!r} was acknowledged"

    def _schema(self, admin: Admin) -> TableSchema:
        self._process.client.table(TABLE).invalidate()
        return admin.schema(TABLE)

    def _alter(self, admin: Admin, change: Callable[[TableSchema], TableSchema]) -> bool:
        """Until METADATA shows it, which says what became of a call without an answer."""
        for _ in range(_ASKS):
            try:
                schema = self._schema(admin)
                changed = change(schema)
                if changed == schema:
                    return True
                admin.alter_table(replace(changed, version=schema.version + 1))
            except HbtableError:
                self._process.runtime.sleep(0.3)
        return False


def _without_family(schema: TableSchema) -> TableSchema:
    return replace(schema, families={name: family for name, family in schema.families.items() if name != FAMILY})


def _with_family(schema: TableSchema) -> TableSchema:
    if FAMILY in schema.families:
        return schema
    return replace(schema, families=schema.families | {FAMILY: FamilySchema(FAMILY, max_versions=100)})
