"""Descriptors of tables and families: what is sent becomes a schema, and a schema is shown as HBase shows it."""

import pytest

from hbtable.hbase.codec.thrift2_structs import TColumnFamilyDescriptor, TTableDescriptor, TTableName
from hbtable.hbase.errors import BadArgument
from hbtable.hbase.thrift2.descriptors import described, family_schema, table_schema
from hbtable.model.schema import FamilySchema, TableSchema

ODD = ["x", "²", "99999999999999999999", "1.5"]


def table(family: FamilySchema) -> TableSchema:
    return TableSchema(b"t", {family.name: family})


def column(schema: TableSchema) -> TColumnFamilyDescriptor:
    (found,) = described(schema).columns or ()
    return found


@pytest.mark.parametrize("name", ["REPLICATION_SCOPE", "DFS_REPLICATION"])
@pytest.mark.parametrize("value", [*ODD, ""])
def test_attributes_that_are_no_numbers_are_shown_and_their_fields_are_0(name: str, value: str) -> None:
    """The shell and the library take any text. The lists of all tables have such a table, too."""
    found = column(table(FamilySchema(b"a", attributes=((name, value),))))
    assert (found.scope, found.dfs_replication) == (0, 0)
    assert (found.attributes or {})[name.encode()] == value.encode()


@pytest.mark.parametrize("name", [b"REPLICATION_SCOPE", b"DFS_REPLICATION"])
@pytest.mark.parametrize("value", ODD)
def test_attributes_that_have_to_be_numbers_are_refused_where_they_are_none(name: bytes, value: str) -> None:
    with pytest.raises(BadArgument, match=f"{name.decode()} is a whole number of"):
        family_schema(TColumnFamilyDescriptor(b"a", {name: value.encode()}))


@pytest.mark.parametrize(("value", "split_bytes"), [(b"1000", 1000), (b"-1", 0), (b"", 0)])
def test_the_size_at_which_regions_split(value: bytes, split_bytes: int) -> None:
    assert (
        table_schema(TTableDescriptor(TTableName(b"", b"t"), [], {b"MAX_FILESIZE": value})).split_bytes == split_bytes
    )


@pytest.mark.parametrize("value", ODD)
def test_a_size_that_is_no_number_is_refused(value: str) -> None:
    with pytest.raises(BadArgument, match="MAX_FILESIZE is a whole number of 64 bits"):
        table_schema(TTableDescriptor(TTableName(b"", b"t"), [], {b"MAX_FILESIZE": value.encode()}))
