"""What the master refuses when a table is created or altered, and that the message names it."""

from dataclasses import replace

import pytest

from hbtable.errors import InvalidRequest, LimitExceeded
from hbtable.master.tables.schema_check import check_properties, check_schema, check_split_rows
from hbtable.model.schema import FamilySchema, TableSchema

FAMILY = FamilySchema(b"f")
GOOD = TableSchema(b"t", {b"f": FAMILY})


def with_family(**changes):
    return replace(GOOD, families={b"f": replace(FAMILY, **changes)})


def test_a_plain_table_is_fine():
    check_schema(GOOD)
    check_schema(with_family(ttl_seconds=1, max_versions=1, compression="ZSTD", bloom="ROWCOL"))


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (TableSchema(b"t"), "table t must have at least one column family"),
        (with_family(max_versions=0), "at least 1 version, not 0"),
        (with_family(min_versions=4), "between 0 and 3"),
        (with_family(ttl_seconds=0), "at least 1 second"),
        (with_family(compression="RAR"), "RAR is none of NONE, GZ, SNAPPY, LZ4, BZIP2, ZSTD$"),
        (with_family(bloom="ALL"), "ALL is none of"),
        (TableSchema(b"default:t", {b"f": FAMILY}), "not canonical"),
        (TableSchema(b"t", {b"g": FAMILY}), "under another name"),
    ],
)
def test_what_is_refused(schema, message):
    with pytest.raises(InvalidRequest, match=message):
        check_schema(schema)


def test_split_rows_are_sorted_and_each_there_once():
    assert check_split_rows(GOOD, [b"b", b"a"]) == [b"a", b"b"]
    with pytest.raises(InvalidRequest, match="given twice"):
        check_split_rows(GOOD, [b"a", b"b", b"a"])
    with pytest.raises(InvalidRequest, match="empty split row"):
        check_split_rows(GOOD, [b""])


def many(count):
    return tuple((f"a{number:05d}", "v") for number in range(count))


def test_attributes_are_counted_over_the_table_and_its_families():
    check_schema(replace(GOOD, attributes=many(500), families={b"f": replace(FAMILY, attributes=many(500))}))
    with pytest.raises(LimitExceeded, match="table t and its families have 1001 attributes, at most 1000 can be"):
        check_schema(replace(GOOD, attributes=many(500), families={b"f": replace(FAMILY, attributes=many(501))}))


def test_families_are_counted():
    families = {b"f%d" % number: FamilySchema(b"f%d" % number) for number in range(301)}
    with pytest.raises(InvalidRequest, match="table t has 301 column families, at most 300 can be"):
        check_schema(replace(GOOD, families=families))


def test_properties_of_a_namespace_are_counted():
    check_properties(b"n", dict(many(1000)))
    with pytest.raises(LimitExceeded, match="namespace n has 1001 attributes, at most 1000 can be"):
        check_properties(b"n", dict(many(1001)))
