"""Comparators."""

import pytest

from hbtable.filters import comparators
from hbtable.filters.comparators import OPERATORS
from hbtable.filters.expression import Comparison
from hbtable.filters.part_search import finder
from hbtable.filters.searching import Searches, here


def holds(operator, kind, value, part):
    searches = Searches(here, lambda: None)
    return comparators.test_of(Comparison(operator, kind, value), searches, lambda row, cells: ())(part)


@pytest.mark.parametrize("part", [b"", b"a", b"ab", b"abc", b"b", b"\xff"])
def test_binary_compares_unsigned_and_whole(part):
    expected = [part < b"ab", part <= b"ab", part == b"ab", part != b"ab", part > b"ab", part >= b"ab"]
    assert [holds(operator, "binary", b"ab", part) for operator in OPERATORS] == expected


@pytest.mark.parametrize("part", [b"", b"a", b"ab", b"abc", b"b", b"\xff"])
def test_binaryprefix_compares_only_as_many_bytes_as_it_has(part):
    head = part[:2]
    expected = [head < b"ab", head <= b"ab", head == b"ab", head != b"ab", head > b"ab", head >= b"ab"]
    assert [holds(operator, "binaryprefix", b"ab", part) for operator in OPERATORS] == expected


@pytest.mark.parametrize(
    ("value", "part", "found"),
    [
        (b"", b"", True),
        (b"AbC", b"xxaBcxx", True),
        (b"abd", b"abc", False),
        ("É".encode(), "xé".encode(), True),
        (b"\xff", b"a\xfeb", True),
        (b"k", "\u212a".encode(), True),
    ],
)
def test_substring_ignores_case(value, part, found):
    assert holds("=", "substring", value, part) is found
    assert holds("!=", "substring", value, part) is not found


def test_ordering_operators_know_only_found_or_not():
    assert [holds(operator, "substring", b"a", b"a") for operator in OPERATORS] == [
        False,
        True,
        True,
        False,
        False,
        True,
    ]
    assert [holds(operator, "substring", b"a", b"b") for operator in OPERATORS] == [
        True,
        True,
        False,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("pattern", "part", "found"),
    [
        (b"pre*", b"xprx", True),
        (b"^a.b$", b"a\nb", True),
        (b"^.$", "é".encode(), True),
        (b"^.$", b"\xff", True),
        (rb"^\Qa.b\E$", b"a.b", True),
        (rb"^\Qa.b\E$", b"axb", False),
        (rb"^a\Z", b"a\n", True),
        (rb"^a\z", b"a\n", False),
        (rb"^(?<x>a)\p{Digit}[\p{Upper}]$", b"a1B", True),
        (rb"(?i)ABC", b"xabc", True),
        (rb"^\w$", "é".encode(), False),
        (rb"^(\d+\.)+\d+$", b"10.20.30", True),
        (rb"^(row-\d+,)*$", b"row-1,row-22,", True),
        (b"x{3,}", b"xxx", True),
        (b".*x", b"a\nax", True),
        (b".*?x|y", b"ay", True),
    ],
)
def test_patterns_mean_what_they_mean_in_java(pattern, part, found):
    assert finder(pattern)(part) is found
