"""What readers see, case by case (docs/contract.md: data model)."""

import pytest

from hbtable.encoding.cell_key import FLAG_TTL, cell_key
from hbtable.merge.rules import FamilyRules, rules_of
from hbtable.merge.visibility import KnownColumns, only_cell, rows
from hbtable.model.cell import MAX_TIMESTAMP
from hbtable.model.mutation import DELETE_COLUMN, DELETE_FAMILY, DELETE_FAMILY_VERSION, DELETE_VERSION, PUT
from hbtable.model.schema import FamilySchema, TableSchema


def put(qualifier: bytes, timestamp: int, value: bytes, sequence: int = 1, row: bytes = b"r", ttl: int | None = None):
    if ttl is None:
        return cell_key(row, b"f", qualifier, timestamp, PUT, sequence), value
    return cell_key(row, b"f", qualifier, timestamp, PUT, sequence, FLAG_TTL), ttl.to_bytes(8, "big") + value


def marker(kind: int, qualifier: bytes, timestamp: int, sequence: int = 9):
    return cell_key(b"r", b"f", qualifier, timestamp, kind, sequence), b""


def read(pairs, *, rule=None, columns=None, min_ts=0, max_ts=MAX_TIMESTAMP, max_versions=99, now=0):
    rules = {b"f": rule or FamilyRules(3)}
    return list(rows([sorted(pairs)], rules, columns, min_ts, max_ts, max_versions, now))


def test_versions_come_newest_first_up_to_the_familys_limit():
    pairs = [put(b"q", ts, b"%d" % ts) for ts in (1, 2, 3, 4)]
    assert read(pairs) == [(b"r", [(b"f:q", 4, b"4"), (b"f:q", 3, b"3"), (b"f:q", 2, b"2")])]
    assert read(pairs, max_versions=1) == [(b"r", [(b"f:q", 4, b"4")])]


def test_the_later_put_of_a_timestamp_replaces_the_earlier():
    assert read([put(b"q", 5, b"old", 1), put(b"q", 5, b"new", 2)]) == [(b"r", [(b"f:q", 5, b"new")])]


@pytest.mark.parametrize(
    ("kind", "qualifier", "left"),
    [
        (DELETE_FAMILY, b"", {b"f:": [3], b"f:q": [3]}),
        (DELETE_FAMILY_VERSION, b"", {b"f:": [3, 1], b"f:q": [3, 1]}),
        (DELETE_COLUMN, b"q", {b"f:": [3, 2, 1], b"f:q": [3]}),
        (DELETE_VERSION, b"q", {b"f:": [3, 2, 1], b"f:q": [3, 1]}),
        (DELETE_COLUMN, b"", {b"f:": [3], b"f:q": [3, 2, 1]}),
    ],
)
def test_each_marker_masks_its_own(kind, qualifier, left):
    pairs = [put(q, ts, b"v") for q in (b"", b"q") for ts in (1, 2, 3)]
    ((_, cells),) = read([*pairs, marker(kind, qualifier, 2)])
    assert [(column, ts) for column, ts, _ in cells] == [(column, ts) for column in left for ts in left[column]]


def test_a_family_marker_counts_though_only_another_column_is_asked_for_and_its_time_is_out_of_range():
    pairs = [put(b"", 9, b"e"), put(b"q", 5, b"v"), put(b"q", 7, b"w"), marker(DELETE_FAMILY, b"", 6)]
    wanted = {b"f": frozenset({b"q"})}
    assert read(pairs, columns=wanted, max_versions=1) == [(b"r", [(b"f:q", 7, b"w")])]
    assert read(pairs, columns=wanted, max_ts=6) == []


def test_a_put_written_after_an_equal_or_newer_marker_stays_masked_unless_the_family_orders_by_sequence():
    pairs = [marker(DELETE_COLUMN, b"q", 5, sequence=1), put(b"q", 5, b"v", sequence=2)]
    assert read(pairs) == []
    by_sequence = FamilyRules(3, new_version_behavior=True)
    assert read(pairs, rule=by_sequence) == [(b"r", [(b"f:q", 5, b"v")])]


def test_a_masked_or_out_of_range_cell_uses_up_no_version():
    pairs = [put(b"q", ts, b"%d" % ts) for ts in (1, 2, 3)]
    assert read([*pairs, marker(DELETE_VERSION, b"q", 3)], rule=FamilyRules(1)) == [(b"r", [(b"f:q", 2, b"2")])]
    assert read(pairs, rule=FamilyRules(1), max_ts=2) == [(b"r", [(b"f:q", 1, b"1")])]


def test_age_hides_cells_but_min_versions_keeps_the_newest():
    pairs = [put(b"q", ts, b"v") for ts in (1, 2, 3)]
    assert read(pairs, rule=FamilyRules(3, 0, 10), now=12) == [(b"r", [(b"f:q", 3, b"v"), (b"f:q", 2, b"v")])]
    assert read(pairs, rule=FamilyRules(3, 0, 10), now=99) == []
    assert read(pairs, rule=FamilyRules(3, 1, 10), now=99) == [(b"r", [(b"f:q", 3, b"v")])]


def test_a_cells_own_age_hides_it_and_what_it_replaced_and_its_prefix_never_shows():
    pairs = [put(b"q", 5, b"replaced", 1), put(b"q", 5, b"short", 2, ttl=3), put(b"q", 4, b"older", 3)]
    assert read(pairs, now=8, max_versions=1) == [(b"r", [(b"f:q", 5, b"short")])]
    assert read(pairs, now=9, max_versions=1) == [(b"r", [(b"f:q", 4, b"older")])]


def test_the_largest_timestamp_is_within_no_bound():
    assert read([put(b"q", MAX_TIMESTAMP, b"v")]) == [(b"r", [(b"f:q", MAX_TIMESTAMP, b"v")])]


def test_rows_and_qualifiers_with_zero_bytes_come_out_as_they_went_in():
    pairs = [
        put(q, 1, b"v", row=row) for row in (b"a", b"a\x00", b"a\x00\x01", b"a\x01") for q in (b"\x00", b"\x00\x01")
    ]
    found = read(pairs)
    assert [row for row, _ in found] == [b"a", b"a\x00", b"a\x00\x01", b"a\x01"]
    assert all([column for column, _, _ in cells] == [b"f:\x00", b"f:\x00\x01"] for _, cells in found)


def test_rules_of_turns_seconds_into_milliseconds_and_forever_into_none():
    schema = TableSchema(b"t", {b"f": FamilySchema(b"f"), b"g": FamilySchema(b"g", 1, 2, 60)})
    rules = rules_of(schema)
    assert (rules[b"f"].max_versions, rules[b"f"].ttl_millis) == (3, 0)
    assert (rules[b"g"].max_versions, rules[b"g"].min_versions, rules[b"g"].ttl_millis) == (1, 2, 60_000)


@pytest.mark.parametrize("max_versions", [0, 1])
@pytest.mark.parametrize(
    ("pairs", "is_told"),
    [
        ([put(b"q", 5, b"v")], True),
        ([put(b"", 5, b"v")], True),
        ([put(b"q", 5, b"v", row=b"r\x00s")], False),
        ([put(b"q", 5, b"v", ttl=10)], False),
        ([marker(DELETE_COLUMN, b"q", 5)], False),
        ([put(b"q", 5, b"v"), put(b"q", 6, b"w")], False),
    ],
)
@pytest.mark.parametrize("rule", [FamilyRules(3), FamilyRules(3, ttl_millis=10)], ids=["no age", "an age"])
def test_the_only_cell_of_a_row_is_told_as_by_the_general_way_or_not_at_all(pairs, is_told, rule, max_versions):
    row, known, lists = (b"r\x00s" if b"s" in pairs[0][0] else b"r"), KnownColumns(), (sorted(pairs),)
    assert only_cell(lists, row, known) is None, "of a column that no read has met"
    for now in (0, 100):
        found = list(rows(lists, {b"f": rule}, None, 0, MAX_TIMESTAMP, max_versions, now, known=known))
        cell = only_cell(lists, row, known)
        assert (cell is not None) == (is_told and max_versions > 0 and not rule.ttl_millis)
        if cell is not None:
            assert [(row, [cell])] == found
    assert only_cell(iter(lists), row, known) is None, "of a row that may go on"
