"""Tablet and table records survive the round trip; damage and newer formats are told apart."""

from dataclasses import replace

import pytest

from hbtable.encoding import table_record, tablet_record
from hbtable.encoding.sealed import seal, unseal
from hbtable.encoding.varint import encode_bytes, encode_text
from hbtable.errors import Corruption, UnsupportedFormat
from hbtable.model.range_delete import RangeDelete
from hbtable.model.ranges import RowRange
from hbtable.model.schema import FamilySchema, TableSchema
from hbtable.model.table import TableRecord, TableState
from hbtable.model.tablet import GoneTablet, LogRef, MergesInto, SSTableRef, TabletRecord

FILES = (
    ("\udcff\udc80group", (SSTableRef("tables/16/1.sst", 2**40, 2**32 - 1, 1, 2**62, 7),)),
    ("plain", (SSTableRef("a", 0, 0, 0, 0, 0), SSTableRef("b", 1, 2, 3, 4, 5))),
)
LEFT = TabletRecord(16, 20, RowRange(b"", b"m\x00\xff"), 1_700_000_000_000, "s1", 3, FILES, (LogRef("s1", 9),))
TABLET = TabletRecord(
    16, 21, RowRange(b"m\x00\xff", b""), 1_700_000_000_001, "s2", 4, FILES, (LogRef("s1", 9), LogRef("s2", 0)), LEFT
)
TABLE = TableRecord(
    17,
    TableState.DISABLING,
    TableSchema(
        b"ns:caf\xc3\xa9",
        {
            b"z": FamilySchema(b"z"),
            b"\xfe a": FamilySchema(b"\xfe a", 5, 2, 60, "GZ", "ROWCOL", True, True, 4096, "fast", True),
        },
        version=300,
        split_bytes=2**33,
    ),
)


MARKED = replace(LEFT, merges_into=MergesInto(b"", 2**40, 0))
ABSORBING = replace(LEFT, absorbs=b"m\x00")
WITHHELD = replace(TABLET, withheld_millis=1_700_000_000_003)
RANGES = (RangeDelete(b"a", b"b\x00", 0), RangeDelete(b"k", b"", 2**63 - 1))


def deleted(record):
    """The record, with ranges deleted of some of its SSTables."""
    files = tuple(
        (group, tuple(replace(ref, deleted=RANGES[: number % 3]) for number, ref in enumerate(refs, 1)))
        for group, refs in record.files
    )
    return replace(record, files=files, left=record.left and deleted(record.left))


GONE = GoneTablet(16, 20, LEFT.range, 2**33, 1_700_000_000_002)


@pytest.mark.parametrize(
    "record",
    [
        *(TABLET, LEFT, MARKED, ABSORBING, WITHHELD, TabletRecord(0, 1, RowRange(), 0)),
        *map(deleted, (TABLET, LEFT, MARKED, ABSORBING, WITHHELD)),
        replace(TABLET, left=deleted(LEFT)),
    ],
)
def test_a_tablet_record_comes_back_equal_and_encodes_to_the_same_bytes(record):
    data = tablet_record.encode(record)
    assert tablet_record.decode(data) == record
    assert tablet_record.encode(tablet_record.decode(data)) == data


def test_only_merges_need_the_second_format_and_what_is_gone_is_no_tablet():
    assert [tablet_record.encode(record)[1] for record in (TABLET, LEFT, MARKED, ABSORBING)] == [1, 1, 2, 2]
    data = tablet_record.encode_gone(GONE)
    assert tablet_record.decode_row(data, "x") == GONE
    assert tablet_record.decode_row(tablet_record.encode(MARKED), "x") == MARKED
    with pytest.raises(Corruption, match="tablet 20 is gone"):
        tablet_record.decode(data)
    for form in (b"\x00", b"\x04"):
        with pytest.raises(UnsupportedFormat, match="form of a tablet record"):
            tablet_record.decode_row(seal(tablet_record.KIND, 2, form + tablet_record.encode(LEFT)[6:]), "x")


def test_the_third_format_is_of_withheld_tablets_alone_which_no_merge_has():
    assert tablet_record.encode(WITHHELD)[1] == 3
    assert tablet_record.encode(replace(WITHHELD, withheld_millis=0))[1] == 1
    for merging in (MARKED, ABSORBING):
        with pytest.raises(ValueError, match="cannot be withheld"):
            tablet_record.encode(replace(merging, withheld_millis=5))


def test_the_fourth_format_is_of_tablets_with_deleted_ranges_alone():
    for record in (TABLET, LEFT, MARKED, ABSORBING, WITHHELD):
        with_ranges = tablet_record.encode(deleted(record))
        assert with_ranges[1] == tablet_record.RANGES_VERSION > tablet_record.encode(record)[1]
        inner = tablet_record.encode(record)
        assert with_ranges[6:].startswith(bytes((inner[1],)))
        assert inner[6:] in with_ranges


def test_ranges_of_nothing_that_the_record_has_are_damage_and_unknown_records_refused():
    plain = encode_bytes(tablet_record.encode(LEFT)[6:])
    one = b"\x01" + encode_text("other.sst") + b"\x01" + encode_bytes(b"a") + encode_bytes(b"b") + b"\x05"
    for body in (b"\x01" + plain + one + b"\x00", b"\x01" + plain + b"\x00" + one, b"\x01" + plain + b"\x00"):
        with pytest.raises(Corruption):
            tablet_record.decode(seal(tablet_record.KIND, 4, body))
    gone = tablet_record.encode_gone(GONE)[6:]
    with pytest.raises(Corruption):
        tablet_record.decode_row(seal(tablet_record.KIND, 4, b"\x02" + encode_bytes(gone) + b"\x00\x00"), "x")
    for version in (0, 4, 5):
        with pytest.raises(UnsupportedFormat, match="version of a tablet record"):
            tablet_record.decode(seal(tablet_record.KIND, 4, bytes((version,)) + plain + b"\x00\x00"))


def test_a_table_record_comes_back_equal_whatever_the_order_of_its_families():
    data = table_record.encode(TABLE)
    assert table_record.decode(data) == TABLE
    families = TABLE.schema.families
    turned = TableSchema(TABLE.schema.name, dict(reversed(families.items())), 300, 2**33)
    assert table_record.encode(TableRecord(17, TableState.DISABLING, turned)) == data


@pytest.mark.parametrize(
    "codec, record",
    [
        (tablet_record, TABLET),
        (tablet_record, MARKED),
        (tablet_record, WITHHELD),
        (tablet_record, deleted(TABLET)),
        (table_record, TABLE),
    ],
)
def test_every_flipped_bit_and_every_cut_is_damage(codec, record):
    data = codec.encode(record)
    for index in range(len(data)):
        for bit in (1, 128):
            damaged = bytearray(data)
            damaged[index] ^= bit
            with pytest.raises(Corruption, match="METADATA row"):
                codec.decode(bytes(damaged), "METADATA row x")
        with pytest.raises(Corruption):
            codec.decode(data[:index])
    with pytest.raises(Corruption):
        codec.decode(data + b"\x00")


@pytest.mark.parametrize("codec, record", [(tablet_record, TABLET), (table_record, TABLE)])
def test_a_sealed_body_that_makes_no_sense_is_damage(codec, record):
    body = codec.encode(record)[6:]
    for wrong in (b"", body[:-1], body + b"\x00", b"\xff" * 30):
        with pytest.raises(Corruption):
            codec.decode(seal(codec.KIND, 1, wrong))


@pytest.mark.parametrize(
    "codec, newest", [(tablet_record, tablet_record.RANGES_VERSION), (table_record, table_record.VERSION)]
)
def test_a_newer_format_is_refused_with_a_message(codec, newest):
    newer = newest + 1
    with pytest.raises(UnsupportedFormat, match=f"format {newer} of a newer hbtable; this one reads {newest} at most"):
        codec.decode(seal(codec.KIND, newer, b"who knows"))


def test_attributes_survive_and_only_they_need_the_second_format():
    family = FamilySchema(b"f", attributes=(("KEEP_DELETED_CELLS", "TRUE"), ("METADATA/k", "v")))
    schema = TableSchema(b"t", {b"e": FamilySchema(b"e"), b"f": family}, attributes=(("READONLY", "true"),))
    record = TableRecord(16, TableState.ENABLED, schema)
    data = table_record.encode(record)
    assert data[1] == 2
    assert table_record.decode(data) == record
    assert table_record.encode(TABLE)[1] == 1


def test_the_third_format_is_written_only_when_a_family_was_added_to_a_table():
    families = {name: FamilySchema(name, added_in=added_in) for name, added_in in ((b"e", 0), (b"f", 300), (b"g", 7))}
    record = TableRecord(16, TableState.ENABLED, TableSchema(b"t", families, 301))
    data = table_record.encode(record)
    assert data[1] == 3
    assert table_record.decode(data) == record
    with pytest.raises(Corruption):
        table_record.decode(seal(table_record.KIND, 3, data[6:-1]))
    without = replace(record, schema=replace(record.schema, families={b"e": families[b"e"]}))
    assert table_record.encode(without)[1] == 1


def test_a_record_of_another_kind_is_damage():
    with pytest.raises(Corruption, match="b'N' where b'T' belongs"):
        tablet_record.decode(table_record.encode(TABLE))
    assert unseal(seal(b"X", 1, b"body"), b"X", 1, "p") == (1, b"body")
