"""The fast way of reading batches gives what the careful one gives, or stops before what it does not know."""

import random
import struct
from typing import Any

import pytest

from hbtable.hbase.codec.fast_mutations import fast_batches
from hbtable.hbase.codec.thrift_structs import Mutation, row_batch
from hbtable.thrift.binary_reader import read_value
from hbtable.thrift.message import MessageReader
from hbtable.thrift.shapes import Field, StructLayout, ValueType
from hbtable.thrift.wire import BOOL, LIST, STRING, STRUCT

TEXT, FLAG = ValueType(STRING), ValueType(BOOL)
MUTATION = StructLayout(
    [
        Field(1, "isDelete", FLAG, False),
        Field(2, "column", TEXT, None),
        Field(3, "value", TEXT, None),
        Field(4, "writeToWAL", FLAG, True),
    ]
)
MUTATIONS = ValueType(LIST, element=ValueType(STRUCT, layout=MUTATION))
BATCH = ValueType(
    STRUCT, layout=StructLayout([Field(1, "row", TEXT, None), Field(2, "mutations", MUTATIONS, None)])
)  # neither has a fast list


def text(field: int, value: bytes) -> bytes:
    return struct.pack(">BHI", STRING, field, len(value)) + value


def flag(field: int, value: int) -> bytes:
    return struct.pack(">BHB", BOOL, field, value)


def one_mutation(choose: random.Random) -> bytes:
    parts = [flag(1, choose.random() < 0.1), text(2, choose.choice((b"f:q", b"f:", b"", b"\x00" * 5)))]
    if choose.random() < 0.9:
        parts.append(text(3, choose.randbytes(choose.choice((0, 1, 300)))))
    if choose.random() < 0.95:
        parts.append(flag(4, choose.random() < 0.9))
    return b"".join(parts) + b"\x00"


def one_batch(choose: random.Random) -> bytes:
    count = choose.choice((1, 1, 1, 1, 0, 2, 3))
    mutations = b"".join(one_mutation(choose) for _ in range(count))
    parts = [text(1, choose.randbytes(choose.randrange(12))), struct.pack(">BHBI", LIST, 2, STRUCT, count) + mutations]
    if choose.random() < 0.03:
        parts.reverse()
    return b"".join(parts) + b"\x00"


def plain(batch: Any) -> tuple[bytes, list[tuple[bool, bytes, bytes, bool]]]:
    if len(batch) == 3:
        row, column, value = batch
        return row, [(False, column, value, True)]
    row, mutations = batch
    assert row_batch(row, [Mutation(*mutation) for mutation in mutations]) == (row, mutations), "a RowPut"
    return row, [(bool(delete), column, value, bool(log)) for delete, column, value, log in mutations]


def read_plain(source: MessageReader) -> tuple[bytes, list[tuple[bool, bytes, bytes, bool]]]:
    row, mutations = read_value(source, BATCH)  # type: ignore[misc]
    return row, [(bool(delete), column, value, bool(log)) for delete, column, value, log in mutations]


def check(data: bytes, count: int) -> int:
    """Batches that the fast way gave."""
    found, position = fast_batches(data, 0, count)
    source = MessageReader(data)
    assert [plain(batch) for batch in found] == [read_plain(source) for _ in found]
    assert source.position == position
    return len(found)


@pytest.mark.parametrize("seed", range(30))
def test_batches_cut_or_damaged_anywhere_are_read_as_the_careful_reader_reads_them(seed: int) -> None:
    choose = random.Random(seed)
    batches = [one_batch(choose) for _ in range(8)]
    data = b"".join(batches)
    check(data, len(batches))
    for cut in choose.sample(range(len(data)), min(len(data), 60)):
        assert check(data[:cut], len(batches)) < len(batches)
    for _ in range(100):
        damaged = bytearray(data)
        damaged[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
        check(bytes(damaged), len(batches))


def test_usual_batches_are_read_to_the_last() -> None:
    put = flag(1, 0) + text(2, b"f:q") + text(3, b"value") + flag(4, 1) + b"\x00"
    batch = text(1, b"row") + struct.pack(">BHBI", LIST, 2, STRUCT, 1) + put + b"\x00"
    assert fast_batches(batch * 3, 0, 3) == ([(b"row", b"f:q", b"value")] * 3, 3 * len(batch))
    assert fast_batches(batch * 3, 0, 2)[1] == 2 * len(batch)
