"""Seeded calls of every method of Thrift1 and Thrift2 in every encoding: valid, lying in their structure, damaged."""

import itertools
import random
from typing import Any, NamedTuple

from tests.harness import wire_trees
from tests.harness.interfaces import interface
from tests.harness.wire_trees import BOOL, I32, I64, KINDS, LIST, MAP, SET, STRING, STRUCT, Node

_SERVICES: tuple[Any, Any] = (
    interface("hbase").Hbase,
    interface("hbase2").THBaseService,
)
_TABLE_NAMES = ("tableName", "table", "tableNameOrRegionName", "qualifier")
"""Of arguments and fields. `qualifier` is that of Thrift2's TTableName as well: then it is a table."""
_BINARY, _TEXT = 18, 11
LENGTHS = (2**31, 2**31 - 1, 2**32 - 1, -1, -(2**31), 2**24, 67108865, 65536, 1, 0)
"""Announced in place of true ones."""


class Form(NamedTuple):
    """How a client talks."""

    protocol: str
    framed: bool

    @property
    def compact(self) -> bool:
        return self.protocol == "compact"


FORMS = [Form(protocol, framed) for protocol in ("binary", "compact") for framed in (False, True)]
LOOSE = [Form("loose", False), Form("loose", True)]


class Method(NamedTuple):
    """A method of one service. Of its arguments none may be set: both services have a `get`."""

    name: str
    fields: dict[int, tuple[Any, ...]]

    @property
    def drops(self) -> bool:
        """Whether it makes, changes or drops what other calls need."""
        return self.name in _DROPPING


_DROPPING = frozenset(
    {
        "createTable", "deleteTable", "disableTable", "enableTable", "truncateTable", "modifyTable", "addColumnFamily",
        "deleteColumnFamily", "modifyColumnFamily",
    }
)  # fmt: skip


def methods() -> list[Method]:
    return [
        Method(name, getattr(service, name + "_args").thrift_spec)
        for service in _SERVICES
        for name in service.thrift_services
    ]


def encode(form: Form, name: bytes, arguments: Node, sequence: int = 1, message_type: int = 1) -> bytes:
    """The whole message, frame included."""
    if form.compact:
        body = wire_trees.compact(name, arguments, sequence, message_type)
    else:
        body = wire_trees.binary(name, arguments, sequence, form.protocol == "binary", message_type)
    return framed(body) if form.framed else body


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


_PAGE_FILTER = b"\n*org.apache.hadoop.hbase.filter.PageFilter\x12\x02\b\x03"
"""As Java's client serializes PageFilter(3)."""


class Messages:
    """`tables`: what calls that read and write name; `others`: what calls that create and drop tables name.
    The same seed gives the same messages."""

    def __init__(self, seed: int, tables: list[bytes], others: list[bytes]) -> None:
        self.chance = random.Random(seed)
        self._tables = tables
        self._others = others
        self._methods = methods()

    # ---------------------------------------------------------------- valid

    def call(self) -> tuple[bytes, Node]:
        method = self.chance.choice(self._methods)
        return method.name.encode(), self.arguments(method)

    def arguments(self, method: Method) -> Node:
        fields = []
        for field, one in sorted(method.fields.items()):
            if self.chance.random() < 0.97:
                fields.append((field, self._field(one, self._others if method.drops else self._tables)))
        return Node(STRUCT, fields)

    def _field(self, spec: tuple[Any, ...], tables: list[bytes]) -> Node:
        if spec[1] in _TABLE_NAMES and _kind(spec[0]) == STRING and self.chance.random() < 0.9:
            return Node(STRING, self.chance.choice(tables))
        return self._value((spec[0], spec[2]) if len(spec) > 3 else spec[0], spec[1], tables)

    def _value(self, spec: Any, name: str, tables: list[bytes]) -> Node:
        chance = self.chance
        kind, detail = spec if isinstance(spec, tuple) else (spec, None)
        if kind in (_BINARY, _TEXT, STRING):
            return Node(STRING, self._bytes(name))
        if kind == LIST:
            items = [self._value(detail, name, tables) for _ in range(chance.choice((0, 1, 1, 2, 3, 40)))]
            return Node(LIST, items, (_kind(detail), 0))
        if kind == MAP:
            pairs = [(self._value(detail[0], name, tables), self._value(detail[1], name, tables))] * chance.choice(
                (0, 0, 0, 1)
            )
            return Node(MAP, pairs, (_kind(detail[0]), _kind(detail[1])))
        if kind == STRUCT:
            wanted = [(field, one) for field, one in sorted(detail.thrift_spec.items()) if self._is_sent(one[1])]
            return Node(STRUCT, [(field, self._field(one, tables)) for field, one in wanted])
        if kind == BOOL:
            return Node(BOOL, chance.random() < 0.5)
        limits = {I32: 2**31, I64: 2**63}.get(kind, 128)
        return Node(kind, chance.choice((0, 1, 2, 3, 100, -1, limits - 1, -limits)))

    def _is_sent(self, field: str) -> bool:
        """A filter is wrong most of the time, and then nothing else of its call is looked at."""
        return self.chance.random() < (0.3 if field in ("filterString", "filterBytes") else 0.9)

    def _bytes(self, name: str) -> bytes:
        chance = self.chance
        if name in ("family", "qualifier", "ns"):
            return chance.choice((b"f", b"g", b"a", b"default", b"none", b"f:", b"", chance.randbytes(3)))
        if name in ("filterBytes", "colFamTimeRangeMap"):
            return chance.choice((_PAGE_FILTER, _PAGE_FILTER[:-1], b"f", b"g", chance.randbytes(30)))
        if name in ("column", "columns", "columnName", "name"):
            return chance.choice((b"f:a", b"f:b", b"f:", b"f", b"none:x", b"", b":", b"f:" + chance.randbytes(4)))
        if name == "filterString":
            return chance.choice((b"PrefixFilter('r')", b"PageFilter(2)", b"(((", b"KeyOnlyFilter() AND", b""))
        if name in ("row", "rows", "startRow", "stopRow", "startAndPrefix"):
            return chance.choice((b"r%02d" % chance.randrange(50), b"", b"\xff\x00", chance.randbytes(3)))
        return chance.choice((b"", b"v", b"NONE", chance.randbytes(8), chance.randbytes(300)))

    # ---------------------------------------------------------------- lies in the structure

    def lie(self, node: Node, depth: int = 0) -> Node:
        """`node` with one thing wrong somewhere."""
        chance = self.chance
        if node.kind == STRUCT and node.value and chance.random() < 0.7:
            place = chance.randrange(len(node.value))
            field, inner = node.value[place]
            return node.but(value=[*node.value[:place], (field, self.lie(inner, depth + 1)), *node.value[place + 1 :]])
        if node.kind == LIST and node.value and chance.random() < 0.5:
            place = chance.randrange(len(node.value))
            return node.but(
                value=[*node.value[:place], self.lie(node.value[place], depth + 1), *node.value[place + 1 :]]
            )
        choice = chance.randrange(5)
        if choice == 0 and node.kind in (STRING, LIST, MAP, SET):
            return node.but(announced=chance.choice(LENGTHS))
        if choice == 1 and node.kind == STRUCT:
            unknown = (chance.choice((9, 15, 200, 32767, 65535, 0)), self.anything(2))
            return node.but(value=[*node.value, unknown, *node.value])
        if choice == 2 and node.kind == LIST:
            wrong = chance.choice(KINDS)
            return node.but(inner=(wrong, 0)) if chance.random() < 0.5 else self.list_of(wrong)
        if choice == 3:
            return nested(chance.choice((LIST, STRUCT, MAP, SET)), chance.choice((3, 15, 17, 60)))
        return self.anything(3)

    def list_of(self, kind: int) -> Node:
        return Node(LIST, [self.anything(1, kind) for _ in range(self.chance.randrange(5))], (kind, 0))

    def anything(self, depth: int, kind: int = 0) -> Node:
        """A random value of a random kind."""
        chance = self.chance
        kind = kind or chance.choice(KINDS)
        if depth <= 0 and kind in (STRUCT, MAP, LIST, SET):
            return Node(kind, [], (STRING, STRING))
        if kind == STRING:
            return Node(STRING, chance.randbytes(chance.randrange(20)))
        if kind == STRUCT:
            return Node(STRUCT, [(chance.randrange(1, 20), self.anything(depth - 1)) for _ in range(3)])
        if kind == MAP:
            first, second = chance.choice(KINDS), chance.choice(KINDS)
            pairs = [(self.anything(depth - 1, first), self.anything(depth - 1, second)) for _ in range(2)]
            return Node(MAP, pairs, (first, second))
        if kind in (LIST, SET):
            inner = chance.choice(KINDS)
            return Node(kind, [self.anything(depth - 1, inner) for _ in range(3)], (inner, 0))
        return Node(kind, chance.choice((0, 1, -1)) if kind != BOOL else chance.random() < 0.5)

    # ---------------------------------------------------------------- damage in the bytes

    def damage(self, message: bytes) -> bytes:
        """Bits flipped, bytes replaced, cut out, doubled, or cut off."""
        chance = self.chance
        data = bytearray(message)
        for _ in range(chance.choice((1, 1, 1, 2, 8))):
            place = chance.randrange(len(data)) if data else 0
            choice = chance.randrange(6)
            if choice == 0 and data:
                data[place] ^= 1 << chance.randrange(8)
            elif choice == 1 and data:
                data[place] = chance.choice((0, 1, 0x7F, 0x80, 0x82, 0xFF, 11, 12, 13, 15))
            elif choice == 2:
                data[place : place + 4] = (chance.choice(LENGTHS) & 0xFFFFFFFF).to_bytes(4, "big")
            elif choice == 3:
                del data[place : place + chance.randrange(1, 9)]
            elif choice == 4:
                data[place:place] = data[place : place + chance.randrange(1, 30)]
            else:
                data[place:place] = chance.randbytes(chance.randrange(1, 9))
        return bytes(data)


def _kind(spec: Any) -> int:
    kind: int = spec[0] if isinstance(spec, tuple) else spec
    return STRING if kind in (_BINARY, _TEXT) else kind


def nested(kind: int, depth: int) -> Node:
    """A container in a container in a container."""
    node = Node(STRUCT, [])
    for _ in range(depth):
        if kind == STRUCT:
            node = Node(STRUCT, [(1, node)])
        elif kind == MAP:
            node = Node(MAP, [(Node(STRING, b"k"), node)], (STRING, node.kind))
        else:
            node = Node(kind, [node], (node.kind, 0))
    return node


def deep_struct(form: Form, depth: int) -> bytes:
    """A valid head, then `depth` structs within each other, written flat (a tree that deep cannot be walked)."""
    name = b"getTableNames"
    if form.compact:
        body = wire_trees.compact(name, Node(STRUCT, []))[:-1] + b"\x1c" * depth + b"\x00" * (depth + 1)
    else:
        head = wire_trees.binary(name, Node(STRUCT, []), strict=form.protocol == "binary")[:-1]
        body = head + b"\x0c\x00\x01" * depth + b"\x00" * (depth + 1)
    return framed(body) if form.framed else body


def foreign(chance: random.Random) -> bytes:
    """What others send to any port: HTTP, TLS, SASL, SSH, databases' protocols, noise; now and then it is damaged."""
    said = chance.choice(
        (
            b"\x00\x00\x00\x08\x04\xd2\x16" + chance.choice((b"\x2f", b"\x30", b"\x2e", b"\x31")),
            b"\x00\x00\x00\x10\x04\xd2\x16\x2e" + chance.randbytes(8),
            framed_postgresql(
                b"user\0ann\0database\0" + chance.randbytes(chance.randrange(60)).hex().encode() + b"\0\0"
            ),
            b"\x00\x00\x00\x08\x04\xd2\x16\x2f" + framed_postgresql(b"user\0ann\0\0"),
            b"\x00\x00\x00\x2d\x00\x00\x00\x00" + chance.randbytes(41),  # ZooKeeper
            b"\x00\x00\x00\x23\x00\x12\x00\x04" + chance.randbytes(31),  # Kafka
            b"\x00\x00\x00\x20\x0f\xff\x00\x00" + chance.randbytes(28),  # Thrift's header format
            b"\x3a\x00\x00\x00" + chance.randbytes(54),  # MongoDB
            b"\x10\x0c\x00\x04MQTT" + chance.randbytes(8),
            b"AMQP\x00\x00\x09\x01",
            b"\x04\x00\x00\x00\x01\x00\x16\x00",  # Cassandra
            b"GET " + chance.randbytes(chance.randrange(9)) + b"\r\n",
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            b"POST /x HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
            b"POST /x HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
            b"GET /" + b"a" * 70000,
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\n\x80\x01\x00\x01" + chance.randbytes(60),
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n"
            + chance.randbytes(11)
            + b"0\r\n\r\n",
            b'[1,"' + chance.randbytes(9) + b'",1,7,{}]',
            b"HBas\x00\x50" + chance.randbytes(30),
            b"*1\r\n$4\r\nPING\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + chance.randbytes(300),
            b"\x01\x00\x00\x00\x06GSSAPI",
            b"SSH-2.0-OpenSSH_9.9\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"\x00" * chance.randrange(1, 40),
            chance.randbytes(chance.randrange(1, 200)),
        )
    )
    if chance.random() < 0.3:
        place = chance.randrange(len(said))
        said = said[:place] + bytes((chance.randrange(256),)) + said[place + 1 :]
    return said if chance.random() < 0.8 else said[: chance.randrange(1, len(said) + 1)]


def framed_postgresql(parameters: bytes) -> bytes:
    """A StartupMessage."""
    return (len(parameters) + 8).to_bytes(4, "big") + b"\x00\x03\x00\x00" + parameters


def corpus(messages: Messages, form: Form, size: int) -> list[bytes]:
    """Valid calls of every method and calls that lie, from which the rest are made by damage()."""
    found = []
    every = [(method.name.encode(), messages.arguments(method)) for method in methods()]
    for name, arguments in itertools.chain(every, (messages.call() for _ in range(size))):
        chance = messages.chance
        found.append(encode(form, name, arguments, chance.choice((1, 7, -1, 2**31 - 1))))
        found.append(encode(form, name, messages.lie(arguments)))
        if chance.random() < 0.1:
            found.append(encode(form, chance.choice((b"none", b"", b"getMultiple", b"\xff" * 200)), arguments))
            found.append(encode(form, name, arguments, message_type=chance.choice((2, 3, 4, 0))))
    return found
