"""What is shown of a schema is done with its files: what would not be is refused, or shown as it is done."""

from dataclasses import replace

import pytest

from hbtable.errors import InvalidRequest
from hbtable.master.tables.file_settings_check import check_file_settings
from hbtable.model.file_settings import families_as_done
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.tablet.layout import LocalityGroupLayout


def table(*families, **options):
    return TableSchema(b"t", {family.name: family for family in families}, **options)


def family(name, group="", **options):
    return FamilySchema(name, locality_group=group, **options)


LZO = table(family(b"f", compression="LZO"))
UNLIKE = table(family(b"f", "one"), family(b"g", "one", compression="SNAPPY", block_bytes=2048), family(b"h"))


def test_lzo_is_refused_and_the_message_names_what_there_is():
    message = (
        "column family f of table t: compression LZO is not available; there is NONE, GZ, SNAPPY, LZ4, BZIP2, ZSTD"
    )
    for old in (None, table(family(b"f")), table(family(b"f", compression="GZ"))):
        with pytest.raises(InvalidRequest) as refused:
            check_file_settings(old, LZO)
        assert str(refused.value) == message


def test_of_several_wrong_families_the_first_by_name_is_named():
    with pytest.raises(InvalidRequest, match="column family f of table t: compression LZO"):
        check_file_settings(None, table(family(b"g", compression="LZO"), family(b"f", compression="LZO")))


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("compression", "SNAPPY", "COMPRESSION NONE and SNAPPY"),
        ("block_bytes", 2048, "BLOCKSIZE 65536 and 2048"),
        ("bloom", "ROWCOL", "BLOOMFILTER NONE and ROWCOL"),
        ("in_memory", True, "IN_MEMORY False and True"),
        ("block_cache", True, "BLOCKCACHE False and True"),
    ],
)
def test_families_of_one_group_ask_for_the_same(option, value, words):
    other = family(b"g", "one", **{option: value})
    for old in (None, table(family(b"f", "one")), table(family(b"f", "one"), replace(other, locality_group=""))):
        with pytest.raises(InvalidRequest, match=f"families f and g of table t .* locality group one, .* for {words};"):
            check_file_settings(old, table(family(b"f", "one"), other))
    check_file_settings(None, table(family(b"f", "one", **{option: value}), other))
    check_file_settings(None, table(family(b"f"), other))


@pytest.mark.parametrize("group", ["", "METADATA/", "CONFIGURATION/"])
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("ENCRYPTION", "AES", "column family f of table t: ENCRYPTION is not available, hbtable encrypts no files"),
        ("ENCRYPTION_KEY", "k", "column family f of table t: ENCRYPTION_KEY is not available"),
        ("COMPRESSION_COMPACT", "GZ", "COMPRESSION_COMPACT GZ is not the family's COMPRESSION NONE"),
        ("COMPRESSION_COMPACT_MAJOR", "GZ", "COMPRESSION_COMPACT_MAJOR GZ is not"),
        ("COMPRESSION_COMPACT_MINOR", "GZ", "COMPRESSION_COMPACT_MINOR GZ is not"),
    ],
)
def test_an_attribute_that_promises_what_is_not_done_is_refused(group, name, value, words):
    """Taken and shown, ENCRYPTION would make people believe that their data is encrypted."""
    asking = table(family(b"f", attributes=((group + name, value),)))
    for old in (None, table(family(b"f")), table(family(b"g"))):
        with pytest.raises(InvalidRequest, match=words):
            check_file_settings(old, asking)
    # A table that an older version made goes on, and shows what is done.
    check_file_settings(asking, replace(asking, version=2, split_bytes=9))
    assert families_as_done(asking)[b"f"].attributes == ()
    check_file_settings(asking, replace(asking, version=2, families=families_as_done(asking)))


@pytest.mark.parametrize("name", ["ENCRYPTION", "ENCRYPTION_KEY"])
def test_a_table_that_asks_for_encryption_is_refused(name):
    asking = table(family(b"f"), attributes=((name, "AES"),))
    for old in (None, table(family(b"f"))):
        with pytest.raises(InvalidRequest, match=f"^table t: {name} is not available, hbtable encrypts no files"):
            check_file_settings(old, asking)
    check_file_settings(asking, replace(asking, version=2, split_bytes=9))


def test_a_compression_of_compactions_may_be_that_of_the_family():
    same = family(b"f", compression="GZ", attributes=(("COMPRESSION_COMPACT", "gz"), ("OWN", "x")))
    check_file_settings(None, table(same))
    assert families_as_done(table(same))[b"f"] == same
    with pytest.raises(InvalidRequest, match="COMPRESSION_COMPACT gz is not the family's COMPRESSION NONE"):
        check_file_settings(table(same), table(replace(same, compression="NONE")))


@pytest.mark.parametrize("value", ["abc", "-1", "1.5", "1 day", "9" * 19, "\u0663", ""])
def test_a_period_of_major_compactions_is_a_number(value):
    name = "hbase.hregion.majorcompaction"
    for asking in (
        table(family(b"f"), attributes=((name, value),)),
        table(family(b"f", attributes=(("CONFIGURATION/" + name, value),))),
    ):
        with pytest.raises(InvalidRequest, match=f"{name} .* is no number of milliseconds"):
            check_file_settings(None, asking)
        check_file_settings(asking, replace(asking, version=2, split_bytes=9))
    check_file_settings(None, table(family(b"f"), attributes=((name, "0"),)))


def test_options_that_are_not_of_files_may_differ():
    check_file_settings(None, table(family(b"f", "one"), family(b"g", "one", max_versions=1, ttl_seconds=9)))


def test_a_table_of_an_older_version_goes_on_as_it_is():
    check_file_settings(LZO, replace(LZO, version=2, split_bytes=9))
    check_file_settings(UNLIKE, table(*UNLIKE.families.values(), family(b"i"), version=2))
    with pytest.raises(InvalidRequest):
        check_file_settings(UNLIKE, table(*UNLIKE.families.values(), family(b"i", "one"), version=2))


def test_what_is_done_with_a_table_of_an_older_version_is_shown():
    assert families_as_done(LZO)[b"f"].compression == "NONE"
    shown = families_as_done(UNLIKE)
    assert [(shown[name].compression, shown[name].block_bytes) for name in (b"f", b"g", b"h")] == [
        ("SNAPPY", 2048),
        ("SNAPPY", 2048),
        ("NONE", 65536),
    ]
    for schema in (LZO, UNLIKE):
        layout = LocalityGroupLayout(schema)
        for key in layout.keys:
            done = layout.sstable_options(key)
            for one in layout.families(key):
                assert families_as_done(schema)[one.name].compression == done.compression
                assert families_as_done(schema)[one.name].block_bytes == done.block_bytes
    check_file_settings(UNLIKE, replace(UNLIKE, families=shown, version=2))
