"""What the audit says of each administrative method: nothing that it names may be lost."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from hbtable.hbase import audit_words
from hbtable.hbase.admin.structs import AdminGrant
from hbtable.hbase.audit import UNHEARD, AuditTrail
from hbtable.hbase.audit_words import ADMIN, THRIFT1, THRIFT2, Words, about
from hbtable.hbase.codec.interface import ThriftInterface, ThriftMethod
from hbtable.hbase.codec.thrift2_structs import TNamespaceDescriptor, TTableDescriptor, TTableName
from hbtable.hbase.codec.thrift_structs import AccessControlEntity
from hbtable.thrift.shapes import ValueType
from hbtable.thrift.wire import BOOL, LIST, MAP, SET, STRING, STRUCT

SETTINGS = {
    *("compression", "bloom", "bloomFilterType", "localityGroup", "state", "attributes", "configuration"),
    *("splitRows", "splitKeys"),
}
"""How a table is made, and rows, of which the line has no more than their number."""


def services() -> list[tuple[str, dict[bytes, ThriftMethod], Words, Any]]:
    interface = ThriftInterface()
    return [
        ("thrift1", interface.methods, THRIFT1, interface.thrift.Hbase),
        ("thrift2", interface.thrift2_methods, THRIFT2, interface.thrift2.THBaseService),
        ("admin", interface.admin_methods, ADMIN, interface.admin_thrift.HbtableAdmin),
    ]


HEARD = [
    pytest.param(method, words, service, id=f"{name}-{method.name}")
    for name, methods, words, service in services()
    for method in methods.values()
    if method.name not in UNHEARD
]


def argument_names(method: ThriftMethod, service: Any) -> list[str]:
    return [entry[1] for entry in getattr(service, method.name + "_args").thrift_spec.values()]


class Filling:
    """Makes values of a type, each other than all before it, and notes those that a line may not lose."""

    def __init__(self) -> None:
        self.named: list[str] = []
        self._numbers = itertools.count(10001)

    def value(self, shape: ValueType, name: str) -> Any:
        if shape.kind == STRING:
            text = f"v{next(self._numbers)}"
            if name not in SETTINGS:
                self.named.append(text)
            return text if shape.convert is not None else text.encode()
        if shape.kind == STRUCT:
            assert shape.layout is not None
            return shape.layout.make(*(self.value(field.shape, field.name) for field in shape.layout.fields))
        if shape.kind in (LIST, SET):
            assert shape.element is not None
            return [self.value(shape.element, name)]
        if shape.kind == MAP:
            assert shape.key is not None
            assert shape.element is not None
            return {self.value(shape.key, name): self.value(shape.element, name)}
        if shape.kind == BOOL:
            return True
        number = next(self._numbers)
        if "tablet" in name:
            self.named.append(str(number))
        return number


def leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inside in value.items():
            yield key
            yield from leaves(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from leaves(inside)
    else:
        yield str(value)


@pytest.mark.parametrize(("method", "words", "service"), HEARD)
def test_a_line_loses_nothing_that_a_call_names(method: ThriftMethod, words: Words, service: Any) -> None:
    filling, lines = Filling(), list[str]()
    names = argument_names(method, service)
    values = [filling.value(field.shape, name) for field, name in zip(method.layout.fields, names, strict=True)]
    method.call = lambda *_: None
    AuditTrail(lines.append, lambda: 0).watch([method], words)
    method.call(*values)
    (line,) = map(json.loads, lines)
    assert bool(line.get("on")) is bool(names)
    parts = [part for leaf in leaves(line.get("on", {})) for part in leaf.split(":")]
    assert [name for name in filling.named if name not in parts] == []


class Lacking(Filling):
    """Leaves the field out that is made as number `lacks`."""

    def __init__(self, lacks: int) -> None:
        super().__init__()
        self._left = lacks

    def value(self, shape: ValueType, name: str) -> Any:
        self._left -= 1
        return None if self._left == -1 else super().value(shape, name)

    @property
    def is_done(self) -> bool:
        """There was no such field."""
        return self._left >= 0


@pytest.mark.parametrize(("method", "words", "service"), HEARD)
def test_a_call_that_lacks_a_field_leaves_a_line_as_well(method: ThriftMethod, words: Words, service: Any) -> None:
    """What is missing of a struct is refused by the call, which the audit must not keep from saying so."""
    names = argument_names(method, service)
    method.call = lambda *_: None
    lines = list[str]()
    AuditTrail(lines.append, lambda: 0).watch([method], words)
    for lacks in itertools.count():
        filling = Lacking(lacks)
        values = [filling.value(field.shape, name) for field, name in zip(method.layout.fields, names, strict=True)]
        if filling.is_done:
            break
        method.call(*values)
        assert len(lines) == lacks + 1


@pytest.mark.parametrize(("method", "words", "service"), HEARD)
def test_every_argument_has_a_word(method: ThriftMethod, words: Words, service: Any) -> None:
    assert len(words[method.name]) == len(argument_names(method, service))
    method.call = lambda *_: None
    lines = list[str]()
    AuditTrail(lines.append, lambda: 0).watch([method], words)
    method.call(*(None for _ in words[method.name]))
    assert "on" not in json.loads(lines[0])


def test_words_are_for_methods_that_there_are() -> None:
    for _, methods, words, _ in services():
        assert {name.encode() for name in words} <= set(methods)


@pytest.mark.parametrize(
    ("grant", "said"),
    [
        (("ann", "R", b"", b"t", b"f", b"a"), {"table": "t", "family": "f", "column": "a"}),
        (("ann", "R", b"", b"n9:pay", b"f", b""), {"table": "n9:pay", "family": "f", "column": ""}),
        (("ann", "R", b"n9"), {"namespace": "n9"}),
        (("ann", "R"), {"scope": "everywhere"}),
    ],
)
def test_a_grant_says_to_whom_what_and_where(grant: Any, said: Any) -> None:
    given = AdminGrant(*grant)
    assert about(ADMIN, "adminGrant", [given, False]) == {"holder": "ann", "rights": "R", **said, "replace": False}
    assert about(ADMIN, "adminRevoke", [given]) == {"holder": "ann", "rights": "R", **said}
    assert about(ADMIN, "adminRevoke", [given._replace(actions="")]) == {"holder": "ann", "rights": "all", **said}


def test_thrift1_says_its_scope_in_words() -> None:
    entity = AccessControlEntity("ann", 1, "RW", None, "n9")
    said = {"holder": "ann", "rights": "RW", "scope": "namespace", "namespace": "n9"}
    assert about(THRIFT1, "grant", [entity]) == said
    assert about(THRIFT1, "revoke", [entity._replace(scope=7)])["scope"] == "none that there is: 7"


def test_thrift2_keeps_the_namespace() -> None:
    name = TTableName(b"n9", b"pay")
    for method in ("deleteTable", "disableTable", "enableTable", "truncateTable"):
        assert about(THRIFT2, method, [name]) == {"table": "n9:pay"}
    assert about(THRIFT2, "createTable", [TTableDescriptor(name), [b"m"]]) == {
        "table": "n9:pay",
        "families": [],
        "split rows": 1,
    }
    assert about(THRIFT2, "createNamespace", [TNamespaceDescriptor("n9")]) == {"namespace": "n9"}


def test_what_is_cut_says_so() -> None:
    assert audit_words.shown("x" * 201) == "x" * 200 + "..."
    assert audit_words.shown(list(range(20)))[-1] == "... and 12 more"  # type: ignore[index]
    assert audit_words.shown({str(number): 1 for number in range(20)})["..."] == 12  # type: ignore[index,call-overload]
