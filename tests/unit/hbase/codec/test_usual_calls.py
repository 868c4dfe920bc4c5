"""Calls on a row that are compared with one learned before have the arguments that decoding finds in the same bytes."""

import random
from collections.abc import Iterator
from typing import Any, Final

import pytest
from thriftpy2.protocol.cybin import TCyBinaryProtocol
from thriftpy2.transport.memory import TCyMemoryBuffer

from hbtable.hbase.codec.interface import ThriftInterface, ThriftMethod
from hbtable.hbase.codec.usual_calls import UsualCalls
from hbtable.runtime.memory_budget import MemoryBudget
from hbtable.thrift.binary_reader import read_arguments
from hbtable.thrift.message_input import MessageInput
from hbtable.thrift.wire import WireError
from tests.harness.interfaces import interface

IDL: Final = interface("hbase")
BOTH: Final = ThriftInterface()
BOTH.offer_thrift2()
HOT: Final = ("getRow", "getRowWithColumns", "get", "getVer", "mutateRow", "mutateRows", "deleteAll", "atomicIncrement")


class Whole:
    """A stream that gives all it has, and then the end."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def recv(self, most: int) -> bytes:
        data, self.data = self.data, b""
        return data

    def sendall(self, data: bytes) -> None: ...
    def settimeout(self, seconds: float | None) -> None: ...
    def close(self) -> None: ...


def written(name: str, **values: Any) -> bytes:
    buffer = TCyMemoryBuffer()
    getattr(IDL.Hbase, name + "_args")(**values).write(TCyBinaryProtocol(buffer))
    return bytes(buffer.getvalue())


def read(method: ThriftMethod, data: bytes) -> object:
    """(arguments, what follows them), or the error's type."""
    source = MessageInput(
        Whole(data), 1 << 20, 1.0, lambda: None, MemoryBudget(1 << 30, lambda _: None, lambda: 0.0), lambda: 0.0
    )
    source.begin()
    try:
        return read_arguments(source, method), source.data[source.position :]
    except (WireError, ValueError) as error:
        return type(error)


def some_call(name: str, chance: random.Random) -> bytes:
    row, column = chance.choice((b"r", b"row2", b"", b"\x0b\x00\x02")), chance.choice((b"f:q", b"f:longer", b"f"))
    put = IDL.Mutation(column=column, value=chance.choice((b"v", b"", b"v" * 300)))
    odd = IDL.Mutation(isDelete=chance.random() < 0.5, column=column, value=None, writeToWAL=chance.random() < 0.5)
    values: dict[str, Any] = {
        "tableName": chance.choice((b"t", b"t", b"t", b"table2")),
        "row": row,
        "attributes": chance.choice(({}, {}, {}, None, {b"k": b"v"})),
    }
    if name == "mutateRow":
        values["mutations"] = chance.choice(([put],) * 6 + ([odd], [put, put], [], None))
    elif name == "mutateRows":
        del values["row"]
        one = IDL.BatchMutation(row, chance.choice(([put],) * 6 + ([odd], [put, put], [], None)))
        values["rowBatches"] = chance.choice(([one],) * 6 + ([one, one], [], None))
    elif name == "getRowWithColumns":
        values["columns"] = chance.choice((None, None, [], [column]))
    elif name != "getRow":
        values["column"] = column
    if name == "atomicIncrement":
        del values["attributes"]
        values["value"] = chance.choice((1, 1, -5))
    if name == "getVer":
        values["numVersions"] = chance.choice((1, 1, 3))
    return written(name, **values)


def changed(data: bytes, chance: random.Random) -> bytes:
    """As a hostile or broken client would send it."""
    at, to = sorted((chance.randrange(len(data)), chance.randrange(len(data))))
    return chance.choice((
        data[:at],
        data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :],
        data[:at] + data[at:to] + data[at:],
        data[:at] + data[to:],
        data[:-1] + data,
        data + b"next",
    ))  # fmt: skip


def calls(name: str, chance: random.Random) -> Iterator[bytes]:
    for _ in range(200):
        data = some_call(name, chance)
        yield changed(data, chance) if chance.random() < 0.4 else data


@pytest.mark.parametrize("name", HOT)
@pytest.mark.parametrize("seed", range(2))
def test_any_bytes_are_read_as_by_decoding(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hbtable.hbase.codec.usual_calls._LEARNS_AFTER", 1 + seed)  # each kind of call in its turn
    chance = random.Random(f"{name} {seed}")
    method, decoding = BOTH.methods[name.encode()], ThriftInterface().methods[name.encode()]
    decoding.layout, decoding.usual = method.layout, None
    method.usual = UsualCalls()
    for data in calls(name, chance):
        expected = read(decoding, data)
        assert read(method, data) == expected, data


def text(field: int, content: bytes) -> bytes:
    return b"\x0b" + field.to_bytes(2, "big") + len(content).to_bytes(4, "big") + content


@pytest.mark.parametrize("name", ["get", "getVer", "deleteAll", "atomicIncrement", "mutateRow"])
def test_a_field_that_is_there_twice_teaches_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last one counts. First ones of all lengths make each place behind them stand where the call's end is looked
    for; the second one's content is what follows the row in other people's calls."""
    monkeypatch.setattr("hbtable.hbase.codec.usual_calls._LEARNS_AFTER", 1)
    method, decoding = BOTH.methods[name.encode()], ThriftInterface().methods[name.encode()]
    decoding.layout, decoding.usual = method.layout, None
    known = {entry[1] for entry in getattr(IDL.Hbase, name + "_args").thrift_spec.values()}

    def behind_row(column: bytes, number: int) -> bytes:
        put = IDL.Mutation(column=column, value=b"v")
        values = {"column": column, "value": number, "numVersions": number, "mutations": [put]}
        return written(name, **{key: one for key, one in values.items() if key in known})[:-1]

    end = written(name, **({"attributes": {}} if "attributes" in known else {}))
    mine, theirs = behind_row(b"f:", 7), behind_row(b"f:longqualifier", 1)
    call = text(1, b"t") + text(2, b"row") + theirs + end
    for length in range(len(theirs) + 20):
        method.usual = UsualCalls()
        first = text(1, b"t") + text(2, b"x" * length)
        for rest in (mine + text(2, theirs), text(2, theirs) + mine, mine + text(2, theirs) + mine):
            read(method, first + rest + end)
            assert read(method, call) == read(decoding, call), (length, rest)


@pytest.mark.parametrize("name", [name for name in HOT if name != "mutateRows"])
def test_the_second_call_alike_is_not_decoded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method = BOTH.methods[name.encode()]
    method.usual = UsualCalls()
    others: dict[str, Any] = {
        "mutateRow": {"mutations": [IDL.Mutation(column=b"f:q", value=b"first")], "attributes": {}},
        "getRowWithColumns": {"attributes": {}},
        "getRow": {"attributes": {}},
        "atomicIncrement": {"column": b"f:q", "value": 1},
        "getVer": {"column": b"f:q", "numVersions": 2, "attributes": {}},
    }
    values = others.get(name, {"column": b"f:q", "attributes": {}})
    first = read(method, written(name, tableName=b"t", row=b"one", **values))
    monkeypatch.setattr("hbtable.thrift.binary_reader._fast_arguments", None)
    monkeypatch.setattr("hbtable.thrift.binary_reader._fields", None)
    if name == "mutateRow":
        values["mutations"][0].value = b"second"
    found = read(method, written(name, tableName=b"t", row=b"another", **values) + b"next")
    assert isinstance(first, tuple)
    expected = list(first[0])
    expected[1] = b"another"
    if name == "mutateRow":
        expected[2] = [(0, b"f:q", b"second", 1)]
    assert found == (expected, b"next")


def test_neither_is_the_second_put_that_happybase_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    method = BOTH.methods[b"mutateRows"]
    method.usual = UsualCalls()
    one = IDL.BatchMutation(b"one", [IDL.Mutation(column=b"f:q", value=b"first")])
    first = read(method, written("mutateRows", tableName=b"t", rowBatches=[one], attributes={}))
    monkeypatch.setattr("hbtable.thrift.binary_reader._fast_arguments", None)
    monkeypatch.setattr("hbtable.thrift.binary_reader._fields", None)
    two = IDL.BatchMutation(b"another", [IDL.Mutation(column=b"f:q", value=b"second")])
    found = read(method, written("mutateRows", tableName=b"t", rowBatches=[two], attributes={}) + b"next")
    assert isinstance(first, tuple)
    expected = [*first[0]]
    assert expected[1] == [(b"one", b"f:q", b"first")]
    expected[1] = [(b"another", b"f:q", b"second")]
    assert found == (expected, b"next")


def test_calls_on_one_row_have_it() -> None:
    having = {name.decode() for name, method in BOTH.methods.items() if method.usual is not None}
    assert having >= {
        *HOT,
        "getRowTs",
        "getRowWithColumnsTs",
        "getVerTs",
        "mutateRowTs",
        "mutateRowsTs",
        "deleteAllRow",
    }
    assert not having & {"getRows", "scannerGetList", "exists", "increment"}
