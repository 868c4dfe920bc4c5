"""Every protocol, framed or not, in any pieces, gives the same call; the hand-built answers equal thriftpy2's."""

from typing import Any

import pytest

from hbtable.hbase.codec.answers import BinaryDialect, CompactDialect, Objects, answer_kind
from hbtable.hbase.codec.binary_answers import SortedRows
from hbtable.hbase.codec.interface import ThriftInterface
from hbtable.model.cell import SERVER_TIME
from hbtable.model.mutation import DELETE_COLUMN, PUT
from tests.harness.planted_bugs import is_found
from tests.harness.tiers import quick_first

ROWS = [
    (b"", [(b"f:", 0, b"")]),
    (b"r\xff\x00", [(b"f:a", 2**63 - 1, b"v" * 300), (b"g:b", 5, b"\x00")]),
    (b"empty", []),
]
VALUES = {
    "void": [None],
    "bool": [True, False],
    "i32": [0, -5, 2**31 - 1],
    "i64": [0, -(2**63), 2**63 - 1],
    "text": ["", "caf\u00e9"],
    "names": [[], [b"a", b"\xff"]],
    "flags": [{}, {b"a": True, b"b": False}],
    "cells": [[], [(b"f:a", 1, b"x"), (b"f:a", 0, b"")]],
    "rows": [[], ROWS, SortedRows(ROWS)],
}


@pytest.fixture(scope="module")
def interface() -> ThriftInterface:
    return ThriftInterface()


def written(name: str, sequence: int, result: Any) -> bytes:
    from thriftpy2.protocol.cybin import TCyBinaryProtocol
    from thriftpy2.transport.memory import TCyMemoryBuffer

    buffer = TCyMemoryBuffer()
    codec: Any = TCyBinaryProtocol(buffer)
    codec.write_message_begin(name, 2, sequence)
    result.write(codec)
    return buffer.getvalue()


def test_hand_built_answers_are_those_of_the_library(interface: ThriftInterface) -> None:
    dialect, objects = BinaryDialect(interface, strict=True), Objects(interface)
    for method in interface.methods.values():
        for value in VALUES.get(answer_kind(method.name), []):
            expected = written(method.name, 77, objects.result(method, value))
            assert dialect.reply(method, 77, value) == expected, method.name


@pytest.mark.parametrize("protocol", ["binary", "compact"])
def test_columns_go_out_in_signed_byte_order(gateway: Any, connect: Any, protocol: str) -> None:
    client = connect(gateway, protocol)
    for column in (b"f:a", b"f:", b"f:\xff", b"f:\x80x", b"f:\x80", b"f:\x00"):
        put = [client.thrift.Mutation(column=column, value=b"v")]
        client.call("mutateRow", tableName=b"t", row=b"r", mutations=put)
    (row,) = client.call("getRow", tableName=b"t", row=b"r")
    assert list(row.columns) == [b"f:", b"f:\x80", b"f:\x80x", b"f:\xff", b"f:\x00", b"f:a"]


def test_compact_answers_have_no_negative_number(interface: ThriftInterface) -> None:
    dialect = CompactDialect(interface)
    assert dialect.reply(interface.methods[b"compact"], -1, None)


@pytest.mark.parametrize("piece_bytes", [0, 1, 7, 64])
@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("protocol", ["binary", "loose", "compact"])
def test_the_same_call_in_every_form(gateway: Any, connect: Any, protocol: str, framed: bool, piece_bytes: int) -> None:
    client = connect(gateway, protocol, framed, piece_bytes)
    mutation = client.thrift.Mutation
    client.call(
        "mutateRows",
        tableName=b"t",
        rowBatches=[
            client.thrift.BatchMutation(
                b"r%d" % number,
                [
                    mutation(column=b"f:a", value=b"v" * number),
                    mutation(column=b"f:none"),
                    mutation(isDelete=True, column=b"g:b", writeToWAL=False),
                ],
            )
            for number in range(40)
        ],
        attributes={b"_ttl": (5000).to_bytes(8, "big")},
    )
    assert [mutation.row for mutation in gateway.table.mutations] == [b"r%d" % number for number in range(40)]
    last = gateway.table.mutations[-1]
    assert last.operations == [
        (PUT, b"f", b"a", SERVER_TIME, b"v" * 39),
        (PUT, b"f", b"none", SERVER_TIME, b""),
        (DELETE_COLUMN, b"g", b"b", SERVER_TIME, b""),
    ]
    assert last.ttl_millis == 5000
    assert not last.skip_log

    rows = client.call("getRowWithColumns", tableName=b"t", row=b"r3", columns=[b"f:a", b"g"], attributes={})
    assert rows[0].row == b"r3"
    assert rows[0].columns[b"f:a"].value == b"vvv"
    assert gateway.table.specs[-1].columns == {b"f": frozenset({b"a"}), b"g": None}


def test_structs_and_their_defaults(every_client: Any) -> None:
    thrift = every_client.thrift
    families = [
        thrift.ColumnDescriptor(name=b"a:"),
        thrift.ColumnDescriptor(
            name=b"b", maxVersions=1, compression="gz", inMemory=True, bloomFilterType="ROW", blockCacheEnabled=True,
            timeToLive=60,
        ),
    ]  # fmt: skip
    every_client.call("createTable", tableName=b"new", columnFamilies=families)
    described = every_client.call("getColumnDescriptors", tableName=b"new")
    assert list(described) == [b"a:", b"b:"]
    a, b = described[b"a:"], described[b"b:"]
    assert (a.name, a.maxVersions, a.timeToLive, a.blockCacheEnabled) == (b"a:", 3, 2147483647, False)
    assert (b.maxVersions, b.inMemory, b.timeToLive, b.blockCacheEnabled) == (1, True, 60, True)
    assert every_client.call("getThriftServerType") == 1
    names = every_client.call("getTableNamesWithIsTableEnabled")
    assert names == {b"t": True, b"new": True}


def test_fields_of_newer_clients_are_skipped(gateway: Any, client: Any) -> None:
    message = client.encode("getRow", tableName=b"t", row=b"r")
    extra = (
        b"\x0c\x00\x63"  # field 99, a struct
        b"\x0f\x00\x01\x0c\x00\x00\x00\x01\x0b\x00\x01\x00\x00\x00\x01x\x00"
        b"\x0d\x00\x02\x0b\x08\x00\x00\x00\x01\x00\x00\x00\x01k\x00\x00\x00\x07"
        b"\x04\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x04\x01\x00"
    )
    assert client.decode(gateway.talk(message[:-1] + extra + b"\x00").sent, "getRow") == []


def test_a_field_of_another_kind_is_skipped(gateway: Any, client: Any) -> None:
    """A Thrift2 client's `get` sends a struct where this interface has the row."""
    message = client.encode("get", tableName=b"t")
    wrong = b"\x0c\x00\x02\x0b\x00\x01\x00\x00\x00\x01r\x00"
    with pytest.raises(Exception, match=r"no column|no row"):
        client.decode(gateway.talk(message[:-1] + wrong + b"\x00").sent, "get")


def test_an_unknown_method_leaves_the_connection_usable(gateway: Any, client: Any) -> None:
    unknown = client.encode("getRow", tableName=b"t", row=b"r").replace(b"getRow", b"gotRow")
    known = client.encode("getRow", tableName=b"t", row=b"r")
    sent = gateway.talk(unknown, known).sent
    end = sent.index(b"\x80\x01\x00\x02")
    assert b"Invalid method name: 'gotRow'" in sent[:end]
    assert client.decode(sent[end:], "getRow") == []


def test_a_method_of_a_service_that_is_not_offered_is_unknown(gateway: Any, client: Any) -> None:
    sent = gateway.talk(client.encode("getRow").replace(b"\x06getRow", b"\x0bputMultiple")).sent
    assert b"Invalid method name: 'putMultiple'" in sent


def test_calls_sent_ahead_are_answered_in_order(gateway: Any, client: Any) -> None:
    first = client.encode("getTableNames")
    second = client.encode("getThriftServerType")
    sent = gateway.talk(first + second[:5], second[5:]).sent
    assert sent.index(b"getTableNames") < sent.index(b"getThriftServerType")


@pytest.mark.parametrize("protocol", ["binary", "loose", "compact"])
@pytest.mark.parametrize("framed", [False, True])
def test_a_message_over_the_limit_is_refused_in_kind(
    small_gateway: Any, connect: Any, protocol: str, framed: bool
) -> None:
    client = connect(small_gateway, protocol, framed, piece_bytes=500)
    mutations = [client.thrift.Mutation(column=b"f:a", value=b"v" * 3000)]
    with pytest.raises(client.thrift.IOError, match=r"DoNotRetryIOException: .* limit of 2000"):
        client.call("mutateRow", tableName=b"t", row=b"r", mutations=mutations)
    assert small_gateway.table.mutations == []


def test_a_length_that_cannot_be_is_refused_before_memory_is_taken(gateway: Any) -> None:
    head = b"\x80\x01\x00\x01\x00\x00\x00\x06getRow\x00\x00\x00\x01"
    stream = gateway.talk(head + b"\x0b\x00\x01\x7f\xff\xff\xff", b"x" * 100)
    assert b"over this server's limit" in stream.sent
    assert stream.closed


def test_a_list_of_empty_structs_cannot_blow_up(gateway: Any) -> None:
    head = b"\x80\x01\x00\x01\x00\x00\x00\x09mutateRow\x00\x00\x00\x01"
    stream = gateway.talk(head + b"\x0f\x00\x03\x0c\x7f\xff\xff\xff", b"\x00" * 100)
    assert b"elements" in stream.sent


@pytest.mark.parametrize("protocol", ["binary", "compact"])
def test_structs_nested_without_end_are_cut_off(gateway: Any, connect: Any, protocol: str) -> None:
    client = connect(gateway, protocol)
    message = client.encode("getRow")[:-1]
    nested = b"\x0c\x00\x63" if protocol == "binary" else b"\x9c"
    stream = gateway.talk(message + nested * 1000)
    assert b"nested deeper" in stream.sent


@pytest.mark.parametrize("seed", quick_first(range(200), 50, 50))
def test_rubbish_after_a_header_never_does_more_than_close(gateway: Any, seed: int) -> None:
    import random

    dice = random.Random(seed)
    heads = [
        b"\x80\x01\x00\x01\x00\x00\x00\x0amutateRows\x00\x00\x00\x01",
        b"\x82\x21\x01\x0amutateRows",
        b"\x00\x00\x00\x0amutateRows\x01\x00\x00\x00\x01",
    ]
    kinds = bytes([0, 2, 3, 8, 10, 11, 12, 13, 14, 15, 1, 0, 0, 0, 0xFF])
    body = bytes(dice.choice(kinds) for _ in range(dice.randrange(1, 120)))
    stream = gateway.talk(dice.choice(heads) + body)
    assert stream.closed


@pytest.mark.parametrize("inner", [b"\x0b", b"\x08", b"\x0f"])
def test_a_list_of_another_kind_than_the_interface_says_is_skipped(gateway: Any, inner: bytes) -> None:
    """Strings where structs belong reached the handler as they were."""
    items = {b"\x0b": b"\x00\x00\x00\x01x", b"\x08": b"\x00\x00\x00\x01", b"\x0f": b"\x08\x00\x00\x00\x00"}[inner]
    head = b"\x80\x01\x00\x01\x00\x00\x00\x0dincrementRows\x00\x00\x00\x01"
    sent = gateway.talk(head + b"\x0f\x00\x01" + inner + b"\x00\x00\x00\x01" + items + b"\x00").sent
    assert b"internal" not in sent
    assert sent.endswith(b"\x00\x00\x00\x01\x00")


def test_the_planted_bug_is_found(gateway: Any) -> None:
    is_found("believed", lambda: test_a_length_that_cannot_be_is_refused_before_memory_is_taken(gateway))
