"""Names of tables, namespaces and families: canonical forms and messages that name the offence."""

import pytest

from hbtable.errors import InvalidRequest
from hbtable.model import names


@pytest.mark.parametrize(
    "given, canonical",
    [
        (b"t", b"t"),
        (b"default:t", b"t"),
        (b"ns_1:t", b"ns_1:t"),
        (b"hbase:meta", b"hbase:meta"),
        (b"_a.b-c_1", b"_a.b-c_1"),
        ("café".encode(), "café".encode()),
        ("٣日".encode(), "٣日".encode()),
        (b"zookeeper1", b"zookeeper1"),
        (b"x" * 255, b"x" * 255),
    ],
)
def test_legal_table_names_have_one_canonical_form(given, canonical):
    assert names.parse(given) == canonical


@pytest.mark.parametrize(
    "given, message",
    [
        (b"", "may not be empty"),
        (b"a b", r"has ' ' at position 1"),
        (b"a/b", r"has '/' at position 1"),
        (b"a$", r"has '\$' at position 1"),
        (b"a:b:c", r"has ':' at position 1"),
        ("a€".encode(), "has '€' at position 1"),
        (b".a", r"may not begin with '\.'"),
        (b"-a", "may not begin with '-'"),
        (b"ns:.a", r"may not begin with '\.'"),
        (b"ab\xff", "not UTF-8: byte 0xff at position 2"),
        (b"ns:", "nothing after the namespace"),
        (b":t", "namespace name may not be empty"),
        (b"n-s:t", r"has b'-' at position 1"),
        ("né:t".encode(), "position 1"),
        (b"zookeeper", "zookeeper"),
        (b"ns:zookeeper", "zookeeper"),
        (b"zookeeper:t", "zookeeper"),
        (b"x" * 256, "at most 255 bytes, this one has 256"),
    ],
)
def test_illegal_table_names_are_refused_with_the_reason(given, message):
    with pytest.raises(InvalidRequest, match=message):
        names.parse(given)


def test_a_canonical_name_splits_into_namespace_and_name():
    assert names.split(b"t") == (b"default", b"t")
    assert names.split(b"ns:t") == (b"ns", b"t")
    assert names.is_system(b"hbase:x")
    assert not names.is_system(b"hbase")


@pytest.mark.parametrize("family", [b"f", b"1", b"a b", b"\xff\x80", b"a.b", b"recovered", b"f" * 255])
def test_legal_families(family):
    names.check_family(family)


@pytest.mark.parametrize(
    "family, message",
    [
        (b"", "may not be empty"),
        (b".f", "may not begin"),
        (b"a\x00b", "control character"),
        (b"a\x7f", "control character"),
        (b"a:", "has ':' at position 1"),
        (b"a/b", "has '/' at position 1"),
        (b"a\\b", "at position 1"),
        (b"recovered.edits", "recovered.edits"),
        (b"f" * 256, "at most 255 bytes"),
    ],
)
def test_illegal_families_are_refused_with_the_reason(family, message):
    with pytest.raises(InvalidRequest, match=message):
        names.check_family(family)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"t", "t"),
        (b"a\xff", "a\\xff"),
        (b"f" * 255, "f" * 255),
        (b"", ""),
        (b"f" * 40_000, "f" * 255 + "... (of 40,000 bytes)"),
    ],
)
def test_what_is_no_name_is_shown_all_the_same(name: bytes, shown: str) -> None:
    assert names.shown(name) == shown
