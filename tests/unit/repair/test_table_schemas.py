"""Cells of families that no schema has are told of, by family."""

from hbtable.encoding.cell_key import cell_key, stored_family
from hbtable.model.mutation import PUT
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.repair.table_schemas import of_unknown_families

TABLE = TableRecord(16, TableState.ENABLED, TableSchema(b"t", {b"f": FamilySchema(b"f")}))


def test_each_family_that_the_table_lacks() -> None:
    families = (b"f", b"g", b"g", stored_family(b"f", 2))
    pairs = [(cell_key(b"r", family, b"q", 1, PUT, number), b"") for number, family in enumerate(families)]
    told = of_unknown_families(TABLE, pairs, {b"f"})
    assert [one.split(" that ")[0] for one in told] == ["table t: 1 cells of family f", "table t: 2 cells of family g"]
    assert of_unknown_families(TABLE, pairs, set(families)) == []
