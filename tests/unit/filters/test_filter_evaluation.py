"""Rows through filters: what each stage promises where the recordings say little."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hbtable.errors import InvalidRequest
from hbtable.filters.evaluate import start
from hbtable.filters.grammar import parse
from tests.harness.tiers import generated


def scan(text, table, *, is_reversed=False, versions=1, page_rows=0):
    """Rows of `table` ({row: {column: {timestamp: value}}}) that pass, as {row: [(column, timestamp, value)]}."""
    expression = parse(text)
    running = start(expression, is_reversed)
    found = {}
    for place, row in enumerate(sorted(table, reverse=is_reversed)):
        if page_rows and place % page_rows == 0:
            running = start(expression, is_reversed, running.state())
        if running.finished:
            break
        cells = [
            (column, timestamp, table[row][column][timestamp])
            for column in sorted(table[row])
            for timestamp in sorted(table[row][column], reverse=True)
        ]
        if not running.skips_row(row):
            kept = running.apply(row, cells, versions)
            if kept:
                found[row] = kept
    return found


def plain(*rows):
    return {row: {b"f:a": {1: b"1"}, b"f:b": {2: row}, b"g:a": {1: b"3"}} for row in rows}


def columns(found):
    return {row: [column for column, _, _ in cells] for row, cells in found.items()}


def test_a_value_filter_lets_an_older_version_surface():
    table = {b"r": {b"f:q": {3: b"x", 2: b"y", 1: b"y"}}}
    assert scan(b"ValueFilter(=, 'binary:y')", table) == {b"r": [(b"f:q", 2, b"y")]}
    assert scan(b"ValueFilter(=, 'binary:y')", table, versions=9) == {b"r": [(b"f:q", 2, b"y"), (b"f:q", 1, b"y")]}


def test_page_counts_over_the_whole_scan_and_across_its_pages():
    table = plain(b"a", b"b", b"c", b"d")
    for page_rows in (0, 1, 3):
        assert list(scan(b"PageFilter(2)", table, page_rows=page_rows)) == [b"a", b"b"]
    assert scan(b"PageFilter(0)", table) == {}


def test_a_page_before_the_member_that_drops_a_row_is_used_up_by_it():
    table = plain(b"a", b"b", b"c")
    dropping = b"SingleColumnValueFilter('f','b',!=,'binary:a')"
    assert list(scan(b"PageFilter(2) AND " + dropping, table)) == [b"b"]
    assert list(scan(dropping + b" AND PageFilter(2)", table)) == [b"b", b"c"]
    assert list(scan(b"ValueFilter(=,'binary:none') OR RowFilter(!=,'binary:a') AND PageFilter(2)", table)) == [
        b"b",
        b"c",
    ]


def test_column_count_keeps_the_first_columns_of_every_row():
    assert columns(scan(b"ColumnCountGetFilter(2)", plain(b"a", b"b"))) == {
        b"a": [b"f:a", b"f:b"],
        b"b": [b"f:a", b"f:b"],
    }


def test_nested_prefixes_are_all_tried():
    table = {b"r": {b"f:q1": {1: b""}, b"f:q2": {1: b""}}}
    assert columns(scan(b"MultipleColumnPrefixFilter('q','q1')", table)) == {b"r": [b"f:q1", b"f:q2"]}


def test_order_decides_what_a_later_member_of_and_gets_to_see():
    single = b"SingleColumnValueFilter('f','b',=,'binary:a',true,true)"
    assert scan(b"FirstKeyOnlyFilter() AND " + single, plain(b"a")) == {}
    assert columns(scan(single + b" AND FirstKeyOnlyFilter()", plain(b"a"))) == {b"a": [b"f:a"]}


def test_skip_drops_whole_rows_and_does_not_ask_for_the_row_key():
    table = {b"a": {b"f:q": {1: b"0"}, b"f:r": {1: b"1"}}, b"b": {b"f:q": {1: b"1"}}}
    assert list(scan(b"SKIP ValueFilter(!=,'binary:0')", table)) == [b"b"]
    assert list(scan(b"SKIP RowFilter(=,'binary:b')", table)) == [b"a", b"b"]
    assert scan(b"SKIP PrefixFilter('b')", table) == {}
    assert scan(b"SKIP ColumnCountGetFilter(9)", table) == {}


def test_while_ends_the_scan_but_keeps_what_had_passed():
    table = plain(b"a", b"b", b"c")
    assert list(scan(b"WHILE RowFilter(!=,'binary:b')", table)) == [b"a"]
    assert columns(scan(b"WHILE ValueFilter(!=,'binary:b')", table)) == {
        b"a": [b"f:a", b"f:b", b"g:a"],
        b"b": [b"f:a"],
    }
    assert list(scan(b"WHILE RowFilter(!=,'binary:b')", table, page_rows=1)) == [b"a"]


def test_within_skip_a_list_rejects_every_row_behind_a_finished_member():
    table = plain(b"a", b"b", b"c")
    assert scan(b"SKIP (ColumnPrefixFilter('a') AND PageFilter(0))", table) == {}
    keeps = b"ValueFilter(!=,'binary:never')"
    ends = b"(WHILE ValueFilter(!=,'binary:b'))"
    for page_rows in (0, 1):
        found = scan(b"SKIP (" + keeps + b" AND " + ends + b")", table, page_rows=page_rows)
        assert list(found) == [b"a"]  # b ends it, and c is rejected though nothing in it is
    assert list(scan(b"SKIP (" + keeps + b" OR " + ends + b")", table)) == [b"a", b"b", b"c"]


def test_a_reversed_scan_turns_the_bounds_round_inside_while_too():
    table = plain(b"a", b"b", b"c", b"d")
    assert list(scan(b"InclusiveStopFilter('b')", table, is_reversed=True)) == [b"d", b"c", b"b"]
    assert list(scan(b"WHILE InclusiveStopFilter('b')", table, is_reversed=True)) == [b"d", b"c", b"b"]
    running = start(parse(b"PrefixFilter('c')"), True)
    assert [running.skips_row(row) or running.finished for row in (b"d", b"c")] == [True, False]
    assert running.skips_row(b"b")
    assert running.finished


def test_key_only_gives_lengths_and_or_transforms_only_what_its_member_kept():
    table = {b"r": {b"f:a": {1: b"abc"}, b"f:b": {1: b"abcd"}}}
    assert scan(b"KeyOnlyFilter(true)", table)[b"r"][1] == (b"f:b", 1, b"\x00\x00\x00\x04")
    either = b"QualifierFilter(=,'binary:a') OR ColumnPrefixFilter('b') AND KeyOnlyFilter()"
    assert [value for _, _, value in scan(either, table)[b"r"]] == [b"abc", b""]


def test_exclude_leaves_the_tested_column_out_of_the_kept_rows():
    found = scan(b"SingleColumnValueExcludeFilter('f','b',=,'binary:a')", plain(b"a", b"b"))
    assert columns(found) == {b"a": [b"f:a", b"g:a"]}


@pytest.mark.parametrize(
    ("text", "minds"),
    [
        (b"FirstKeyOnlyFilter() AND KeyOnlyFilter()", False),
        (b"SingleColumnValueFilter('f','q',=,'binary:1')", False),
        (b"SingleColumnValueFilter('f','q',=,'binary:1',true,false)", True),
        (b"PrefixFilter('a') OR SKIP ValueFilter(=,'binary:1')", True),
        (b"TimestampsFilter(1)", True),
    ],
)
def test_needs_versions(text, minds):
    assert start(parse(text)).needs_versions is minds


def test_a_state_of_another_filter_is_refused():
    state = start(parse(b"PageFilter(1) AND PageFilter(2)")).state()
    with pytest.raises(InvalidRequest):
        start(parse(b"PageFilter(1)"), state=state)
    with pytest.raises(InvalidRequest):
        start(parse(b"PageFilter(1) AND PageFilter(2)"), state=b"\x80")


ROWS = st.sampled_from([b"", b"\x00", b"a", b"ab", b"ab\x00", b"ab\xff", b"b", b"\xff", b"\xff\xff"])
OPERATORS = st.sampled_from([b"<", b"<=", b"=", b"!=", b">", b">="])
LEAVES = st.one_of(
    st.builds(b"PrefixFilter('%s')".__mod__, ROWS),
    st.builds(b"InclusiveStopFilter('%s')".__mod__, ROWS),
    st.builds(
        lambda op, kind, row: b"RowFilter(%s, '%s:%s')" % (op, kind, row),
        OPERATORS,
        st.sampled_from([b"binary", b"binaryprefix"]),
        ROWS,
    ),
    st.sampled_from(
        [b"PageFilter(2)", b"FirstKeyOnlyFilter()", b"ColumnPaginationFilter(1,1)", b"QualifierFilter(>,'binary:a')"]
    ),
    st.sampled_from([b"SingleColumnValueFilter('f','b',>,'binary:a')", b"FamilyFilter(=,'binary:g')"]),
)
TEXTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda members: b"(" + b" AND ".join(members) + b")", st.lists(inner, min_size=2, max_size=3)),
        st.builds(lambda members: b"(" + b" OR ".join(members) + b")", st.lists(inner, min_size=2, max_size=3)),
        st.builds(b"SKIP %s".__mod__, inner),
        st.builds(b"WHILE %s".__mod__, inner),
    ),
    max_leaves=6,
)


@settings(max_examples=generated(400), deadline=None)
@given(TEXTS, st.booleans(), st.integers(1, 4))
def test_pages_and_fewer_versions_never_change_an_answer(text, is_reversed, page_rows):
    rows = [
        b"\x00",
        b"a",
        b"aa",
        b"ab",
        b"ab\x00",
        b"ab\xff",
        b"abc",
        b"ac",
        b"b",
        b"\xff",
        b"\xff\xff",
        b"\xff\xff\x00",
    ]
    table = {row: {b"f:a": {2: b"1", 1: b"0"}, b"f:b": {2: row, 1: b"z"}, b"g:a": {1: b"3"}} for row in rows}
    expected = scan(text, table, is_reversed=is_reversed)
    assert scan(text, table, is_reversed=is_reversed, page_rows=page_rows) == expected
    expression = parse(text)
    if not start(expression).needs_versions:
        newest = {
            row: {column: {max(cells): cells[max(cells)]} for column, cells in table[row].items()} for row in rows
        }
        assert scan(text, newest, is_reversed=is_reversed) == expected
