"""Calls that Thrift1 and Thrift2 both have: which of the two one is, by its arguments, for each name and each field."""

from itertools import product
from typing import Any

import pytest

from hbtable.hbase.codec.either import Either
from hbtable.hbase.codec.interface import ThriftInterface, ThriftMethod
from hbtable.thrift.wire import STRING, STRUCT

SEPARATE = ThriftInterface()
BOTH = ThriftInterface()
BOTH.offer_thrift2()

Field = tuple[int, int]
"""(Thrift kind, field id)."""


def fields(method: ThriftMethod) -> list[Field]:
    return [(field.shape.kind, field.id) for field in method.layout.fields]


SHARED = sorted(name for name, method in BOTH.methods.items() if method.choose is not None)
TELLING = [name for name in SHARED if set(fields(SEPARATE.thrift2_methods[name])) - set(fields(SEPARATE.methods[name]))]


def chosen(name: bytes, values: list[Any], before: ThriftMethod | None = None) -> tuple[bool, list[Any]]:
    """(whether it is Thrift2's, its arguments)."""
    choose = BOTH.methods[name].choose
    assert choose is not None
    method, arguments = choose(values, before)
    assert method in (BOTH.methods[name], BOTH.thrift2_methods[name])
    return method is BOTH.thrift2_methods[name], arguments


def test_hot_calls_are_among_them() -> None:
    assert {b"mutateRow", b"get", b"increment", b"append"} <= set(SHARED)


@pytest.mark.parametrize("name", TELLING)
def test_any_fields_that_are_there_tell_whose_call_it_is(name: bytes) -> None:
    first, second, merged = (
        fields(interface[name]) for interface in (SEPARATE.methods, SEPARATE.thrift2_methods, BOTH.methods)
    )
    assert merged[: len(first)] == first
    assert set(merged) == {*first, *second}
    own = set(second) - set(first)
    structs = {(field.shape.kind, field.id) for field in BOTH.methods[name].layout.fields if field.shape.layout}
    shared_structs = structs & set(first) & set(second)
    assert all(kind == STRUCT for kind, _ in shared_structs)
    for there in product((False, True), repeat=len(merged)):
        for inner in (False, True):
            values: list[Any] = [
                None
                if not is_there
                else Either(f"1 {place}", f"2 {place}", inner)
                if field in shared_structs
                else place
                for place, (field, is_there) in enumerate(zip(merged, there, strict=True))
            ]
            present = {field for field, is_there in zip(merged, there, strict=True) if is_there}
            is_second = bool(present & own) or (inner and bool(present & shared_structs))
            wanted = second if is_second else first
            expected = [
                None
                if field not in present
                else f"{1 + is_second} {merged.index(field)}"
                if field in shared_structs
                else merged.index(field)
                for field in wanted
            ]
            assert chosen(name, values) == (is_second, expected), (there, inner)


@pytest.mark.parametrize("name", sorted(set(SHARED) - set(TELLING)))
def test_without_a_field_to_tell_it_is_as_the_call_before(name: bytes) -> None:
    values: list[Any] = [None] * len(fields(BOTH.methods[name]))
    assert chosen(name, values, None)[0] is False
    assert chosen(name, values, BOTH.methods[b"getTableNames"])[0] is False
    assert chosen(name, values, BOTH.thrift2_methods[b"getTableDescriptor"])[0] is True


LISTS = [
    (name, place)
    for name in SHARED
    for place, field in enumerate(BOTH.methods[name].layout.fields)
    if (element := field.shape.element) is not None and element.alternative is not None
]


@pytest.mark.parametrize(("name", "place"), LISTS)
@pytest.mark.parametrize("is_second", [False, True])
def test_a_list_of_the_other_calls_elements_is_one_without_them(name: bytes, place: int, is_second: bool) -> None:
    """A call with the name of Thrift1's createTable and Thrift2's keys to split at ended in an AttributeError."""
    layout = BOTH.methods[name].layout.fields
    element = layout[place].shape.element
    assert element is not None
    assert element.alternative is not None
    kinds = element.kind, element.alternative.kind
    assert sorted(kinds) == [STRING, STRUCT]
    own = next(number for number in range(len(fields(SEPARATE.methods[name])), len(layout)))
    for elements in ([b"text", b"more"], [("a", "struct")], []):
        values: list[Any] = [None] * len(layout)
        values[place] = list(elements)
        if is_second:
            values[own] = "of the second"
        second, arguments = chosen(name, values)
        assert second == is_second
        fit = not elements or isinstance(elements[0], bytes) == (kinds[is_second] == STRING)
        assert [one for one in arguments if isinstance(one, list)] == [elements if fit else []]


def test_the_list_of_create_table_is_among_them() -> None:
    assert b"createTable" in {name for name, _ in LISTS}
