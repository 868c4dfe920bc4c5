"""Filters as Python objects: the text that they are, quoted, and refused where it is wrong."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

import hbtable
from hbtable.client.filter_text import Filter
from hbtable.filters.grammar import parse


def test_arguments_are_written_as_the_language_has_them():
    assert Filter("PrefixFilter", "it's").text == b"PrefixFilter('it''s')"
    assert Filter("PageFilter", 5).text == b"PageFilter(5)"
    assert Filter("KeyOnlyFilter", True).text == b"KeyOnlyFilter(true)"
    assert Filter("KeyOnlyFilter").text == b"KeyOnlyFilter()"
    assert Filter("ValueFilter", "!=", "binary:=").text == b"ValueFilter(!=, 'binary:=')"
    assert Filter("PrefixFilter", b"=").text == b"PrefixFilter('=')"
    assert Filter("PrefixFilter", "ü").text == "PrefixFilter('ü')".encode()


def test_filters_are_joined():
    a, b, c = Filter("PrefixFilter", "a"), Filter("KeyOnlyFilter"), Filter("PageFilter", 3)
    assert (a & (b | c)).text == b"(PrefixFilter('a') AND (KeyOnlyFilter() OR PageFilter(3)))"
    assert ((a | b) & c).text == b"((PrefixFilter('a') OR KeyOnlyFilter()) AND PageFilter(3))"
    assert parse((a & b).skip().text) == parse(b"SKIP (PrefixFilter('a') AND KeyOnlyFilter())")
    assert parse(c.while_().text) == parse(b"WHILE PageFilter(3)")
    assert repr(a) == "<filter PrefixFilter('a')>"


@given(st.binary() | st.text().filter(lambda text: text not in ("<", "<=", "=", "!=", ">", ">=")))
def test_every_value_comes_back(value):
    try:
        expected = value if isinstance(value, bytes) else value.encode()
    except UnicodeEncodeError:
        with pytest.raises(hbtable.WrongValue):
            Filter("PrefixFilter", value)
    else:
        assert parse(Filter("PrefixFilter", value).text).prefix == expected


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("NoFilter",), hbtable.BadFilter),
        (("PageFilter", "3"), hbtable.BadFilter),
        (("PageFilter", -3), hbtable.BadFilter),
        (("ValueFilter", "=", "x"), hbtable.BadFilter),
        (("PrefixFilter(", "x"), ValueError),
        (("",), ValueError),
        ((5,), ValueError),
        (("PrefixFilter", None), TypeError),
        (("PrefixFilter", 1.5), TypeError),
    ],
)
def test_mistakes_are_told_at_once(arguments, error):
    with pytest.raises(error):
        Filter(*arguments)


def test_a_filter_is_joined_with_a_filter_only():
    with pytest.raises(TypeError, match="joined with another"):
        _ = Filter("KeyOnlyFilter") & b"PageFilter(3)"
