"""A required field may be missing in a struct wherever the struct stands: in an argument, a struct, a list or a map."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.campaigns.fuzz import MemoryStream
from tests.harness.canned_gateway import CannedGateway
from tests.harness.interfaces import interface
from tests.harness.wire_answers import EXCEPTION, answers
from tests.harness.wire_mutations import Form, encode
from tests.harness.wire_trees import BOOL, LIST, MAP, STRING, STRUCT, Node

SERVICE: Any = interface("hbase2").THBaseService
OF_BOTH = frozenset(interface("hbase").Hbase.thrift_services)


def parts(spec: tuple[Any, ...]) -> tuple[int, Any]:
    """Kind and what is inside, of a field (kind, name, [inside,] required) or an element (kind, inside)."""
    kind = STRING if spec[0] in (11, 18) else spec[0]
    return kind, spec[2] if len(spec) == 4 else None


def inside(detail: Any) -> tuple[int, Any]:
    kind, more = detail if isinstance(detail, tuple) else (detail, None)
    return STRING if kind in (11, 18) else kind, more


def whole(kind: int, detail: Any) -> Node:
    if kind == STRUCT:
        return Node(STRUCT, [(number, whole(*parts(one))) for number, one in sorted(detail.thrift_spec.items())])
    if kind == LIST:
        element = inside(detail)
        return Node(LIST, [whole(*element)], (element[0], 0))
    if kind == MAP:
        key, value = inside(detail[0]), inside(detail[1])
        return Node(MAP, [(whole(*key), whole(*value))], (key[0], value[0]))
    return Node(kind, b"f" if kind == STRING else kind == BOOL or 1)


def without_one(kind: int, detail: Any) -> Iterator[tuple[str, Node]]:
    """(struct and field, the value without it), once for each place."""
    if kind == STRUCT:
        fields = whole(kind, detail).value
        for place, (number, one) in enumerate(sorted(detail.thrift_spec.items())):
            if one[-1]:
                yield (
                    f"{one[1]}' was not present! Struct: {detail.__name__}",
                    Node(STRUCT, fields[:place] + fields[place + 1 :]),
                )
            for name, inner in without_one(*parts(one)):
                yield name, Node(STRUCT, [*fields[:place], (number, inner), *fields[place + 1 :]])
    elif kind == LIST:
        for name, inner in without_one(*inside(detail)):
            yield name, Node(LIST, [inner], (inner.kind, 0))
    elif kind == MAP:
        for name, inner in without_one(*inside(detail[1])):
            yield name, Node(MAP, [(whole(*inside(detail[0])), inner)], (STRING, inner.kind))


@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("protocol", ["binary", "compact"])
def test_a_required_field_that_is_missing_anywhere_is_named(protocol: str, framed: bool) -> None:
    form = Form(protocol, framed)
    gateway = CannedGateway()
    asked = 0
    for method in SERVICE.thrift_services:
        spec = getattr(SERVICE, method + "_args").thrift_spec
        arguments = [(number, whole(*parts(one))) for number, one in sorted(spec.items())]
        for place, (number, one) in enumerate(sorted(spec.items())):
            for missing, value in without_one(*parts(one)):
                call = Node(STRUCT, [*arguments[:place], (number, value), *arguments[place + 1 :]])
                stream = MemoryStream(iter([encode(form, method.encode(), call)]), 0)
                gateway.serve(stream, ("client", 1))
                received = b"".join(stream.received)
                (answer,) = answers(received, form.compact, form.framed)
                assert b"internal error" not in received, (method, missing, received)
                if method not in OF_BOTH:
                    assert answer.message_type == EXCEPTION, (method, missing, received)
                    assert missing.encode() in received, (method, missing, received)
                asked += 1
    assert asked > 90
