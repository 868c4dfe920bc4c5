"""METADATA's row keys sort as tablets do; records tile a table, also while a split is completed."""

import dataclasses

import pytest

from hbtable.errors import Corruption
from hbtable.metadata import layout
from hbtable.metadata.tiling import standing, verify_tiling
from hbtable.model.ranges import RowRange
from hbtable.model.tablet import MergesInto, TabletRecord


def tablet(tablet_id, start, stop, table_id=16, left=None):
    return TabletRecord(table_id, tablet_id, RowRange(start, stop), 1, left=left)


def test_the_first_key_for_a_row_finds_the_tablet_that_holds_it():
    ends = [b"\x00", b"a", b"a\x00", b"m", b"\xff", b"\xff\xff", b""]
    keys = [layout.tablet_key(16, end) for end in ends]
    assert keys == sorted(keys)
    for row in (b"", b"\x00", b"Z", b"a", b"a\x00", b"b", b"m", b"\xff", b"\xff\xff", b"\xff\xff\xff"):
        found = next(end for end, key in zip(ends, keys, strict=True) if key >= layout.first_key_for(16, row))
        assert found == next(end for end in ends if not end or row < end)


def test_the_tablet_before_a_bound_is_the_one_that_reaches_it():
    ends = [b"a", b"m", b""]
    keys = [layout.tablet_key(16, end) for end in ends]
    for stop, expected in ((b"a", b"a"), (b"a\x00", b"m"), (b"m", b"m"), (b"n", b""), (b"", b"")):
        assert (
            next(end for end, key in zip(ends, keys, strict=True) if key >= layout.first_key_before(16, stop))
            == expected
        )


def test_tables_do_not_mix_and_metadatas_own_rows_come_first():
    for key in (layout.tablet_key(16, b"\xff" * 9), layout.tablet_key(16, b"")):
        assert layout.tablet_rows(16).holds(key)
        assert layout.EVERY_USER_TABLET.holds(key)
        assert not layout.tablet_rows(17).holds(key)
        assert not layout.ROOT_RANGE.holds(key)
    assert layout.ROOT_RANGE.holds(layout.tablet_key(0, layout.tablet_key(2**32 - 1, b"")))
    assert not layout.EVERY_USER_TABLET.holds(layout.table_key(b"t"))
    assert not layout.EVERY_USER_TABLET.holds(layout.namespace_key(b"t"))
    assert layout.EVERY_USER_TABLET.holds(layout.tablet_key(2**32 - 1, b""))
    verify_tiling([layout.first_root_record(1), layout.first_metadata_record(1)])


def test_a_tiled_table_passes_also_in_the_middle_of_a_split():
    verify_tiling([tablet(1, b"", b"")])
    verify_tiling([tablet(1, b"", b"g"), tablet(2, b"g", b"")])
    left = tablet(3, b"g", b"m")
    right = tablet(4, b"m", b"", left=left)
    assert list(standing([tablet(1, b"", b"g"), right])) == [tablet(1, b"", b"g"), left, right]
    verify_tiling([tablet(1, b"", b"g"), right])


def test_a_tiled_table_passes_also_in_the_middle_of_a_merge():
    marked = dataclasses.replace(tablet(1, b"", b"g"), merges_into=MergesInto(b"m", 9, 0))
    right, rest = tablet(2, b"g", b"m"), tablet(3, b"m", b"")
    verify_tiling([marked, right, rest])
    merged = dataclasses.replace(tablet(9, b"", b"m"), absorbs=b"g")
    assert list(standing([marked, merged, rest])) == [merged, rest]
    verify_tiling([marked, merged, rest])
    with pytest.raises(Corruption, match="two tablets cover"):
        verify_tiling([marked, dataclasses.replace(merged, tablet_id=10), rest])


def test_a_left_child_whose_own_row_stands_is_not_taken_from_the_embedding():
    newer = tablet(9, b"g", b"m")
    right = tablet(4, b"m", b"", left=tablet(3, b"g", b"m"))
    assert list(standing([newer, right])) == [newer, right]


@pytest.mark.parametrize(
    "records, message",
    [
        ([], "no tablet"),
        ([tablet(1, b"a", b"")], "no tablet covers rows from b'' to b'a'"),
        ([tablet(1, b"", b"g")], "no tablet covers the rows from b'g' to the end"),
        ([tablet(1, b"", b"g"), tablet(2, b"h", b"")], "no tablet covers rows from b'g' to b'h'"),
        ([tablet(1, b"", b"g"), tablet(2, b"f", b"")], "two tablets cover rows from b'f' to b'g'"),
        ([tablet(1, b"", b""), tablet(2, b"f", b"")], "follows tablet 1"),
        ([tablet(1, b"", b"g"), tablet(2, b"g", b"g"), tablet(3, b"g", b"")], "empty range"),
    ],
)
def test_holes_overlaps_and_missing_ends_are_named(records, message):
    with pytest.raises(Corruption, match=message):
        verify_tiling(records)
