"""Structs of tables, as our own admin service has them, and schemas."""

import pytest

from hbtable.hbase.admin.structs import AdminFamily, AdminTable
from hbtable.hbase.admin.table_structs import family_struct, table_schema
from hbtable.hbase.errors import BadArgument


def test_a_family_that_is_given_twice_is_refused() -> None:
    """The last one won, with its versions and its time to live."""
    once = [AdminFamily(b"f", 3), AdminFamily(b"g", 1)]
    schema = table_schema(b"t", AdminTable(b"t", families=once))
    assert [family_struct(family).max_versions for family in schema.families.values()] == [3, 1]
    with pytest.raises(BadArgument, match="Family f already exists so cannot be added"):
        table_schema(b"t", AdminTable(b"t", families=[*once, AdminFamily(b"f", 1)]))
