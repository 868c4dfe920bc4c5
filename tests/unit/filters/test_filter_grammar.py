"""Texts to expressions: HBase's own parser cases restated (docs/contract.md: filter language), and what is refused."""

import pytest

from hbtable.errors import BadFilter
from hbtable.filters import arguments, grammar
from hbtable.filters import expression as ex
from hbtable.filters.expression import All, AnyOf, Comparison, Skip, While
from hbtable.filters.grammar import MAX_DEPTH, parse

A, B, C = ex.Prefix(b"a"), ex.FirstKeyOnly(), ex.KeyOnly()
TEXT = {"A": b"PrefixFilter('a')", "B": b"FirstKeyOnlyFilter()", "C": b"KeyOnlyFilter()"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"KeyOnlyFilter()", ex.KeyOnly()),
        (b"KeyOnlyFilter(TRUE)", ex.KeyOnly(True)),
        (b" FirstKeyOnlyFilter( ) ", ex.FirstKeyOnly()),
        (b" PrefixFilter('row' ) ", ex.Prefix(b"row")),
        (b" ColumnPrefixFilter('qualifier' ) ", ex.ColumnPrefix((b"qualifier",))),
        (b" MultipleColumnPrefixFilter('q1', 'q2' ) ", ex.ColumnPrefix((b"q1", b"q2"))),
        (b" ColumnCountGetFilter(4)", ex.ColumnCountGet(4)),
        (b" PageFilter(4)", ex.Page(4)),
        (b"PageFilter(9223372036854775807)", ex.Page(2**63 - 1)),
        (b"ColumnPaginationFilter(4, 6)", ex.ColumnPagination(4, 6)),
        (b"InclusiveStopFilter ('row 3')", ex.InclusiveStop(b"row 3")),
        (b"TimestampsFilter(9223372036854775806, 6)", ex.Timestamps(frozenset({6, 2**63 - 2}))),
        (b"TimestampsFilter()", ex.Timestamps(frozenset())),
        (b"RowFilter ( =,   'binary:regionse')", ex.RowKey(Comparison("=", "binary", b"regionse"))),
        (b"FamilyFilter(>=, 'binaryprefix:pre')", ex.Family(Comparison(">=", "binaryprefix", b"pre"))),
        (b"QualifierFilter(=, 'regexstring:pre*')", ex.Qualifier(Comparison("=", "regexstring", b"pre*"))),
        (b"ValueFilter(!=, 'substring:a:b')", ex.Value(Comparison("!=", "substring", b"a:b"))),
        (b"ColumnRangeFilter('abc', true, 'xyz', false)", ex.ColumnRange(b"abc", True, b"xyz", False)),
        (
            b"DependentColumnFilter('family', 'qualifier', true, =, 'binary:abc')",
            ex.DependentColumn(b"family:qualifier", True, Comparison("=", "binary", b"abc")),
        ),
        (b"DependentColumnFilter('f' 'q')", ex.DependentColumn(b"f:q")),
        (
            b"SingleColumnValueFilter ('f', 'q', >=, 'binary:a', true, false)",
            ex.SingleColumnValue(b"f:q", Comparison(">=", "binary", b"a"), True, False),
        ),
        (
            b"SingleColumnValueExcludeFilter ('f', 'q', <, 'binaryprefix:a')",
            ex.SingleColumnValue(b"f:q", Comparison("<", "binaryprefix", b"a"), exclude=True),
        ),
        (
            b"ColumnValueFilter ('f', 'q', <, 'binaryprefix:value')",
            ex.ColumnValue(b"f:q", Comparison("<", "binaryprefix", b"value")),
        ),
        (b"InclusiveStopFilter ('row''3')", ex.InclusiveStop(b"row'3")),
        (b"InclusiveStopFilter ('row''3''')", ex.InclusiveStop(b"row'3'")),
        (b"InclusiveStopFilter ('''')", ex.InclusiveStop(b"'")),
        (b"PrefixFilter('\x00\xff)(')", ex.Prefix(b"\x00\xff)(")),
    ],
)
def test_single_filters(text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (" (A AND  B)", All((A, B))),
        ("(A)AND  B", All((A, B))),
        ("A AND B AND C", All((A, B, C))),
        ("A OR B OR SKIP C", AnyOf((A, B, Skip(C)))),
        ("A AND B OR C", AnyOf((All((A, B)), C))),
        ("A OR B AND C", AnyOf((A, All((B, C))))),
        ("(A OR B AND C)", AnyOf((A, All((B, C))))),
        ("(A AND SKIP B)", All((A, Skip(B)))),
        ("(A OR B) AND C", All((AnyOf((A, B)), C))),
        (" A AND  SKIP B OR C", AnyOf((All((A, Skip(B))), C))),
        ("SKIP(A)", Skip(A)),
        ("WHILE SKIP A", While(Skip(A))),
        ("((A))", A),
        ("\tA\tOR\tB\t", AnyOf((A, B))),
    ],
)
def test_operators(shape, expected):
    text = shape.encode().replace(b"OR", b"\x01").replace(b"AND", b"\x02").replace(b"SKIP", b"\x03")
    for name in "ABC":
        text = text.replace(name.encode(), TEXT[name])
    assert parse(text.replace(b"\x01", b"OR").replace(b"\x02", b"AND").replace(b"\x03", b"SKIP")) == expected


@pytest.mark.parametrize(
    ("text", "words", "position"),
    [
        (b"", "Incorrect Filter String", 0),
        (b"  ", "Incorrect Filter String", 0),
        (b"()", "Incorrect Filter String", 1),
        (b"(KeyOnlyFilter()", "Mismatched parenthesis", 0),
        (b"((KeyOnlyFilter())", "Mismatched parenthesis", 0),
        (b"KeyOnlyFilter())", "Mismatched parenthesis", 15),
        (b"KeyOnlyFilter() junk", "Incorrect Filter String", 16),
        (b"KeyOnlyFilter() ANDFirstKeyOnlyFilter()", "Incorrect Filter String", 16),
        (b"KeyOnlyFilter()\n", "Incorrect Filter String", 15),
        (b"FuzzyRowFilter('a')", "Filter Name FuzzyRowFilter not supported", 0),
        (b"KeyOnlyFilter() AND keyOnlyFilter()", "Filter Name keyOnlyFilter not supported", 20),
        (b"('a')", "Incorrect Filter Name", 1),
        (b"PrefixFilter", "Incorrect Filter Name", 0),
        (b"PrefixFilter('a'", "Incorrect argument list", 16),
        (b"PrefixFilter('a)", "Incorrect argument list", 13),
        (b"PrefixFilter('a'b)", "Incorrect argument list", 16),
        (b"ColumnPaginationFilter(1,,2)", "Incorrect argument list", 25),
        (b"KeyOnlyFilter() AND", "an AND needs two filters", 19),
        (b"KeyOnlyFilter() OR AND KeyOnlyFilter()", "an AND needs two filters", 19),
        (b"OR KeyOnlyFilter()", "an OR needs two filters", 0),
        (b"SKIP", "a SKIP wraps a filter", 4),
        (b"KeyOnlyFilter() OR WHILE ", "a WHILE wraps a filter", 25),
        (b"RowFilter ('>>' , 'binary:region')", "Invalid compare operator", 11),
        (b"RowFilter (=>, 'binary:region')", "Invalid compare operator", 11),
        (b"SingleColumnValueFilter('f1','a','=','binary:1')", "Invalid compare operator", 33),
        (b"RowFilter(=, 'regionse')", "Incorrect comparator", 13),
        (b"RowFilter (>= , 'binaryoperator:region')", "Incorrect comparatorType", 16),
        (b"RowFilter (>= 'regexstring:pre*')", "can only be used with EQUAL and NOT_EQUAL", 11),
        (b"RowFilter (= 'regexstring:(')", "Incorrect comparator", 13),
        (b"KeyOnlyFilter ('')", "Incorrect Boolean Expression", 15),
        (b"ColumnRangeFilter('a', yes, 'b', true)", "Incorrect Boolean Expression", 23),
        (b"PageFilter('123')", "Byte Array should only contain digits", 11),
        (b"ColumnPaginationFilter(4, 12a)", "Byte Array should only contain digits", 26),
        (b"ColumnCountGetFilter(2147483648)", "Integer Argument too large", 21),
        (b"TimestampsFilter(9223372036854775808, 6)", "Long Argument too large", 17),
        (b"PageFilter(" + b"9" * 100_000 + b")", "Long Argument too large", 11),
        (b"TimestampsFilter(-45, 6)", "Incorrect filter string TimestampsFilter(-45, 6)", 17),
        (b"FirstKeyOnlyFilter('')", "Incorrect filter string FirstKeyOnlyFilter('')", 0),
        (b"PrefixFilter(row)", "Incorrect filter string PrefixFilter(row)", 13),
        (b"MultipleColumnPrefixFilter()", "Incorrect filter string MultipleColumnPrefixFilter()", 0),
        (b"MultipleColumnPrefixFilter('a','a')", "Incorrect filter string", 0),
        (b"ColumnRangeFilter('a',true,'b')", "Incorrect filter string", 0),
        (b"\xff\xff", "Incorrect Filter Name", 0),
    ],
)
def test_refusals_name_the_reason_and_the_place(text, words, position):
    with pytest.raises(BadFilter) as refused:
        parse(text)
    assert words in str(refused.value)
    assert f"byte {position}" in str(refused.value) or position == 0
    assert refused.value.position == position


def test_nesting_is_bounded_more_tightly_than_long_chains():
    with pytest.raises(BadFilter, match="inside each other"):
        parse(b"(" * 100_000)
    with pytest.raises(BadFilter, match="inside each other"):
        parse(b"SKIP " * 100_000 + b"KeyOnlyFilter()")
    parse(b"(" * MAX_DEPTH + b"KeyOnlyFilter()" + b")" * MAX_DEPTH)
    assert len(parse(b" OR ".join([b"KeyOnlyFilter()"] * 1000)).members) == 1000


def test_a_filter_that_hbase_has_not_may_decide_cell_by_cell_and_stand_below_skip(monkeypatch):
    own = b"FirstKeyOnlyFilter"  # any that decides so
    monkeypatch.setattr(arguments, "OWN_FILTER_NAMES", arguments.OWN_FILTER_NAMES | {own})
    monkeypatch.setattr(grammar, "OWN_FILTER_NAMES", arguments.OWN_FILTER_NAMES, raising=False)
    assert parse(b"SKIP " + own + b"()") == Skip(ex.FirstKeyOnly())
