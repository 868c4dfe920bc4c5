"""Descriptors of tables and families: what is sent becomes a schema, and a schema is shown as HBase shows it."""

from dataclasses import replace

import pytest

from hbtable.hbase.codec.thrift2_structs import TColumnFamilyDescriptor, TTableDescriptor, TTableName
from hbtable.hbase.errors import BadArgument
from hbtable.hbase.thrift2.descriptors import described, family_schema, table_schema
from hbtable.model.schema import FOREVER_SECONDS, FamilySchema, TableSchema, keep_deleted_cells

SENT = (
    ("CACHE_BLOOMS_ON_WRITE", "false"),
    ("CACHE_DATA_ON_WRITE", "false"),
    ("CACHE_INDEX_ON_WRITE", "false"),
    ("COMPRESS_TAGS", "true"),
    ("DFS_REPLICATION", "0"),
    ("EVICT_BLOCKS_ON_CLOSE", "false"),
)
"""Kept where their fields were sent, as by HBase, be they the default or not."""
OWN = FamilySchema(
    b"f",
    max_versions=4,
    min_versions=2,
    ttl_seconds=77,
    compression="GZ",
    bloom="ROWCOL",
    in_memory=True,
    block_cache=False,
    block_bytes=8192,
    locality_group="g",
    new_version_behavior=True,
    attributes=tuple(sorted((*SENT, ("CONFIGURATION/a.b", "2"), ("METADATA/mine", "1"), ("METADATA/other.one", "3")))),
)
"""Has no setting that is the default."""
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


def test_a_table_that_is_read_and_written_back_is_the_same() -> None:
    families = {b"f": OWN, b"h": replace(OWN, name=b"h", max_versions=9)}
    schema = TableSchema(b"t", families, 7, 1000, (("mine", "2"),))
    assert table_schema(described(schema), 7, schema) == schema


@pytest.mark.parametrize("kept", ["true", "True", "TRUE", "ttl", "TTL", "false", "other", ""])
def test_deleted_cells_are_kept_as_before_where_a_family_is_written_back(kept: str) -> None:
    """The attribute is obeyed in upper and lower case."""
    family = FamilySchema(b"f", attributes=(("KEEP_DELETED_CELLS", kept),))
    found = column(table(family))
    assert ("FALSE", "TRUE", "TTL")[found.keep_deleted_cells or 0] == keep_deleted_cells(family)
    for sent in (found, found._replace(keep_deleted_cells=None)):
        assert keep_deleted_cells(family_schema(sent)) == keep_deleted_cells(family)


FLAGS = {
    "CACHE_BLOOMS_ON_WRITE": "cache_blooms_on_write",
    "CACHE_DATA_ON_WRITE": "cache_data_on_write",
    "CACHE_INDEX_ON_WRITE": "cache_indexes_on_write",
    "COMPRESS_TAGS": "compress_tags",
    "EVICT_BLOCKS_ON_CLOSE": "evict_blocks_on_close",
}


@pytest.mark.parametrize(("name", "field"), FLAGS.items())
@pytest.mark.parametrize(("text", "expected"), [("TRUE", True), ("true", True), ("FALSE", False), ("no", False)])
def test_flags_are_read_in_upper_and_lower_case(name: str, field: str, text: str, expected: bool) -> None:
    """The shell keeps them in upper case."""
    found = column(table(FamilySchema(b"f", attributes=((name, text),))))
    assert getattr(found, field) is expected
    assert dict(family_schema(found).attributes)[name] == ("true" if expected else "false")


def test_names_are_read_in_lower_case_too() -> None:
    family = FamilySchema(b"f", attributes=(("DATA_BLOCK_ENCODING", "fast_diff"),))
    assert dict(family_schema(column(table(family))).attributes)["DATA_BLOCK_ENCODING"] == "FAST_DIFF"
    assert described(TableSchema(b"t", attributes=(("DURABILITY", "skip_wal"),))).durability == 1


def test_what_people_add_to_a_family_is_described_by_its_own_name() -> None:
    found = column(table(OWN))
    assert {name for name in found.attributes or {} if b"mine" in name or b"other" in name} == {b"mine", b"other.one"}
    assert found.configuration == {"a.b": "2"}


def test_what_the_library_and_earlier_versions_keep_without_a_group_is_described_as_well() -> None:
    family = FamilySchema(b"f", attributes=(("a.b", "2"), ("mine", "1")))
    found = column(table(family))
    assert (found.configuration, (found.attributes or {})[b"mine"]) == ({"a.b": "2"}, b"1")


def test_what_people_add_without_having_it_is_kept_as_the_shell_shows_it() -> None:
    """What has no group is METADATA in describe."""
    sent = TColumnFamilyDescriptor(b"f", {b"mine": b"1"}, {"a": "2"})
    assert family_schema(sent).attributes == (("CONFIGURATION/a", "2"), ("mine", "1"))


@pytest.mark.parametrize(
    "attribute",
    [
        *("METADATA/mine", "mine", "METADATA/a.b", "a.b", "CONFIGURATION/a.b", "CONFIGURATION/a"),
        *("METADATA/TTL", "METADATA/KEEP_DELETED_CELLS", "METADATA/METADATA/x", "METADATA/"),
    ],
)
def test_what_people_add_stays_where_it_was(attribute: str) -> None:
    """What is kept under METADATA by the name of a setting is not that setting."""
    family = FamilySchema(b"f", attributes=((attribute, "TRUE"),))
    found = family_schema(column(table(family)), family)
    assert [one for one in found.attributes if one not in SENT] == [(attribute, "TRUE")]
    assert (found.ttl_seconds, keep_deleted_cells(found)) == (FOREVER_SECONDS, "FALSE")


def test_fields_that_were_sent_go_over_attributes_that_were_read() -> None:
    made = family_schema(column(table(OWN))._replace(max_versions=5, time_to_live=0), OWN)
    assert made == replace(OWN, max_versions=5, ttl_seconds=FOREVER_SECONDS)


def test_attributes_that_say_what_a_field_says_are_obeyed_where_the_field_was_not_sent() -> None:
    found = column(table(OWN))
    assert family_schema(TColumnFamilyDescriptor(b"f", found.attributes, found.configuration), OWN) == OWN


def test_attributes_without_a_text_are_as_those_that_were_not_sent() -> None:
    names = [b"VERSIONS", b"TTL", b"COMPRESSION", b"BLOCKCACHE", b"NEW_VERSION_BEHAVIOR", b"LOCALITY_GROUP"]
    assert family_schema(TColumnFamilyDescriptor(b"f", dict.fromkeys(names, b""))) == family_schema(
        TColumnFamilyDescriptor(b"f")
    )


@pytest.mark.parametrize("name", [b"VERSIONS", b"MIN_VERSIONS", b"TTL", b"BLOCKSIZE"])
@pytest.mark.parametrize("value", ODD)
def test_settings_that_are_no_numbers_are_refused(name: bytes, value: str) -> None:
    with pytest.raises(BadArgument, match=f"{name.decode()} is a whole number of 32 bits"):
        family_schema(TColumnFamilyDescriptor(b"a", {name: value.encode()}))


def test_a_durability_can_be_taken_back() -> None:
    found = described(table_schema(TTableDescriptor(TTableName(b"", b"t"), [], durability=1)))
    assert (found.durability, (found.attributes or {})[b"DURABILITY"]) == (1, b"SKIP_WAL")
    back = described(table_schema(found._replace(durability=0)))
    assert (back.durability, b"DURABILITY" in (back.attributes or {})) == (0, False)


def test_a_family_that_is_given_twice_is_refused() -> None:
    twice = [TColumnFamilyDescriptor(b"a", max_versions=number) for number in (3, 1)]
    with pytest.raises(BadArgument, match="Family a already exists so cannot be added"):
        table_schema(TTableDescriptor(TTableName(b"", b"t"), twice))


def test_two_attributes_that_would_have_one_name_keep_both() -> None:
    """The shell added what Thrift2 had set, before both had one name for it."""
    names = {"METADATA/owner": "me", "owner": "you"}
    family = FamilySchema(b"f", attributes=tuple(sorted(names.items())))
    schema = TableSchema(b"t", {b"f": family})
    told = described(schema)
    again = family_schema(told.columns[0])
    assert dict(again.attributes).items() >= names.items()
