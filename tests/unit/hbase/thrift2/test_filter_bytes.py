"""Filters serialized by Java's client say in the filter language what they mean, or are refused."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hbtable.encoding.varint import encode
from hbtable.filters import comparators
from hbtable.filters.expression import Value
from hbtable.filters.grammar import parse
from hbtable.filters.searching import Searches, here
from hbtable.hbase.errors import BadArgument
from hbtable.hbase.thrift2.filter_bytes import as_text

PACKAGE = b"org.apache.hadoop.hbase.filter."


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return bytes((number << 3, value))
    assert len(value) < 1 << 14
    size = bytes((len(value),)) if len(value) < 0x80 else bytes((len(value) & 0x7F | 0x80, len(value) >> 7))
    return bytes((number << 3 | 2,)) + size + value


def named(name: bytes, inner: bytes = b"") -> bytes:
    return field(1, PACKAGE + name) + field(2, inner)


def compare(operator: int, comparator: bytes) -> bytes:
    return field(1, field(1, operator) + field(2, comparator))


BINARY = named(b"BinaryComparator", field(1, field(1, b"it's")))
PREFIX = named(b"BinaryPrefixComparator", field(1, field(1, b"v")))
REGEX = named(b"RegexStringComparator", field(1, b"a.b") + field(2, 34) + field(3, b"UTF-8"))
SUBSTRING = named(b"SubstringComparator", field(1, b"abc"))
COLUMN = field(1, b"f") + field(2, b"q")

FILTERS = {
    b"KeyOnlyFilter()": named(b"KeyOnlyFilter", field(1, 0)),
    b"KeyOnlyFilter(true)": named(b"KeyOnlyFilter", field(1, 1)),
    b"PrefixFilter('ro''w')": named(b"PrefixFilter", field(1, b"ro'w")),
    b"PageFilter(7)": named(b"PageFilter", field(1, 7)),
    b"ColumnPaginationFilter(3,1)": named(b"ColumnPaginationFilter", field(1, 3) + field(2, 1)),
    b"MultipleColumnPrefixFilter('a','b')": named(b"MultipleColumnPrefixFilter", field(1, b"a") + field(1, b"b")),
    b"TimestampsFilter(5,6,300)": named(b"TimestampsFilter", field(1, b"\5\6\xac\2") + field(2, 0)),
    b"RowFilter(>=,'binary:it''s')": named(b"RowFilter", compare(4, BINARY)),
    b"ValueFilter(!=,'binaryprefix:v')": named(b"ValueFilter", compare(3, PREFIX)),
    b"QualifierFilter(=,'regexstring:(?i)a.b')": named(b"QualifierFilter", compare(2, REGEX)),
    b"FamilyFilter(=,'substring:abc')": named(b"FamilyFilter", compare(2, SUBSTRING)),
    b"SingleColumnValueFilter('f','q',=,'binary:it''s',true,false)": named(
        b"SingleColumnValueFilter", COLUMN + field(3, 2) + field(4, BINARY) + field(5, 1) + field(6, 0)
    ),
    b"(QualifierFilter(>=,'binary:a') AND QualifierFilter(<,'binary:c'))": named(
        b"ColumnRangeFilter", field(1, b"a") + field(2, 1) + field(3, b"c") + field(4, 0)
    ),
    b"((RowFilter(>=,'binary:a') AND RowFilter(<=,'binary:b')) OR (RowFilter(>,'binary:x')))": named(
        b"MultiRowRangeFilter",
        field(1, field(1, b"a") + field(2, 1) + field(3, b"b") + field(4, 1)) + field(1, field(1, b"x") + field(2, 0)),
    ),
    b"(FirstKeyOnlyFilter() OR (SKIP PageFilter(1)))": named(
        b"FilterList",
        field(1, 2)
        + field(2, named(b"FirstKeyOnlyFilter"))
        + field(2, named(b"SkipFilter", field(1, named(b"PageFilter", field(1, 1))))),
    ),
}


@pytest.mark.parametrize("text", FILTERS, ids=lambda text: text.decode())
def test_a_filter_of_java_is_said_in_the_filter_language(text: bytes) -> None:
    assert as_text(FILTERS[text]) == text
    parse(text)


def test_what_the_language_cannot_say_is_refused_by_name() -> None:
    with pytest.raises(BadArgument, match="FuzzyRowFilter"):
        as_text(named(b"FuzzyRowFilter"))
    with pytest.raises(BadArgument, match="LongComparator"):
        as_text(named(b"ValueFilter", compare(2, named(b"LongComparator"))))


def regex(pattern: bytes, flags: int, charset: bytes = b"UTF-8", engine: bytes = b"") -> bytes:
    inner = field(1, pattern) + b"\x10" + encode(flags) + field(3, charset) + (field(4, engine) if engine else b"")
    return named(b"ValueFilter", compare(2, named(b"RegexStringComparator", inner)))


UNIX_LINES, CASE_INSENSITIVE, COMMENTS, LITERAL, DOTALL, CANON_EQ, UNICODE_CLASSES = 1, 2, 4, 16, 32, 128, 256


@pytest.mark.parametrize(
    ("pattern", "flags", "found", "passed"),
    [
        (b"a.b", LITERAL, b"xa.by", b"aab"),
        (b"a.b", LITERAL | DOTALL | COMMENTS, b"xa.by", b"aab"),
        (b"A (b)", LITERAL | CASE_INSENSITIVE, b"a (B)", b"a b"),
        (rb"\E\Q.[0]{1}+*?^$|", LITERAL, rb"<\E\Q.[0]{1}+*?^$|>", b"0"),
        (b"a\n'b\xc3\xa9", LITERAL, b"a\n'b\xc3\xa9", b"a\nb"),
        (b"a.b", 0, b"a-b", b"a\nb"),
        (b"a.b", DOTALL, b"a\nb", b"ab"),
        (b"a.b", UNIX_LINES, b"a\rb", b"a\nb"),
    ],
)
def test_a_regular_expression_means_what_its_flags_say(pattern: bytes, flags: int, found: bytes, passed: bytes) -> None:
    for charset, engine in ((b"UTF-8", b""), (b"utf-8", b"JAVA")):
        tree = parse(as_text(regex(pattern, flags, charset, engine)))
        assert isinstance(tree, Value)
        test = comparators.test_of(tree.comparison, Searches(here, lambda: None), lambda row, cells: ())
        assert test(found)
        assert not test(passed)


@pytest.mark.parametrize(
    ("flags", "charset", "engine", "said"),
    [
        (UNICODE_CLASSES | DOTALL, b"UTF-8", b"", "the flag 0x100, which is not supported"),
        (CANON_EQ, b"UTF-8", b"", "the flag 0x80, "),
        (LITERAL | 1 << 20, b"UTF-8", b"", "the flag 0x100000, "),
        (DOTALL, b"ISO-8859-1", b"", "over 'ISO-8859-1'; only UTF-8"),
        (DOTALL, b"UTF-8", b"JONI", "of engine 'JONI'; only JAVA"),
    ],
)
def test_a_regular_expression_of_another_kind_is_refused(flags: int, charset: bytes, engine: bytes, said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        as_text(regex(b"a", flags, charset, engine))


@given(st.binary(max_size=40))
@example(field(1, b"\x80"))  # a packed number that does not end
def test_any_bytes_are_a_filter_or_refused(data: bytes) -> None:
    for serialized in (data, named(b"ColumnValueFilter", data[:40]), named(b"TimestampsFilter", data)):
        try:
            as_text(serialized)
        except BadArgument:
            pass
