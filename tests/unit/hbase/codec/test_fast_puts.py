"""The fast way of reading Thrift2's puts gives what the careful one gives, or stops before what it does not know."""

import random
import struct

import pytest

from hbtable.hbase.codec.fast_puts import fast_puts
from hbtable.hbase.codec.thrift2_structs import TColumnValue, TPut
from hbtable.thrift.binary_reader import read_value
from hbtable.thrift.message import MessageReader
from hbtable.thrift.shapes import Field, StructLayout, ValueType
from hbtable.thrift.wire import I32, I64, LIST, MAP, STRING, STRUCT, Malformed

TEXT, NUMBER = ValueType(STRING), ValueType(I64)
CELL = StructLayout(
    [
        Field(1, "family", TEXT, None),
        Field(2, "qualifier", TEXT, None),
        Field(3, "value", TEXT, None),
        Field(4, "timestamp", NUMBER, None),
        Field(5, "tags", TEXT, None),
    ],
    TColumnValue,
)
PUT = ValueType(
    STRUCT,
    layout=StructLayout(
        [
            Field(1, "row", TEXT, None),
            Field(2, "columnValues", ValueType(LIST, element=ValueType(STRUCT, layout=CELL)), None),
            Field(3, "timestamp", NUMBER, None),
            Field(5, "attributes", ValueType(MAP, key=TEXT, element=TEXT), None),
            Field(6, "durability", ValueType(I32), None),
        ],
        TPut,
    ),
)  # neither has a fast list


def text(field: int, value: bytes) -> bytes:
    return struct.pack(">BHI", STRING, field, len(value)) + value


def one_put(choose: random.Random, column: tuple[bytes, bytes]) -> bytes:
    cells = []
    for _ in range(1 if choose.random() < 0.95 else choose.choice((0, 2))):
        fields = [text(1, column[0]), text(2, column[1]), text(3, choose.randbytes(choose.choice((0, 1, 40))))]
        if choose.random() < 0.03:
            fields.append(struct.pack(">BHq", I64, 4, 77))
        if choose.random() < 0.03:
            choose.shuffle(fields)
        cells.append(b"".join(fields) + b"\x00")
    fields = [
        text(1, choose.randbytes(choose.randrange(9))),
        struct.pack(">BHBI", LIST, 2, STRUCT, len(cells)) + b"".join(cells),
    ]
    if choose.random() < 0.03:
        fields.append(struct.pack(">BHq", I64, 3, 78))
    if choose.random() < 0.5:
        fields.append(struct.pack(">BHBBI", MAP, 5, STRING, STRING, 0))
    elif choose.random() < 0.05:
        fields.append(struct.pack(">BHBBI", MAP, 5, STRING, STRING, 1) + b"\x00\x00\x00\x01a\x00\x00\x00\x01b")
    if choose.random() < 0.03:
        fields.append(struct.pack(">BHi", I32, 6, 1))
    return b"".join(fields) + b"\x00"


def check(data: bytes, count: int) -> int:
    """Puts that the fast way gave."""
    found, position = fast_puts(data, 0, count)
    source = MessageReader(data)
    assert found == [read_value(source, PUT) for _ in found]
    assert source.position == position
    return len(found)


@pytest.mark.parametrize("seed", range(60))
def test_puts_cut_or_damaged_anywhere_are_read_as_the_careful_reader_reads_them(seed: int) -> None:
    choose = random.Random(seed)
    columns = [(b"f", b"q"), (b"f", b"q"), (b"f", b""), (b"", b"q"), (b"\x00", b"\x0b\x00\x03")]
    puts = []
    column = columns[0]
    for _ in range(10):
        if choose.random() < 0.3:
            column = choose.choice(columns)
        puts.append(one_put(choose, column))
    data = b"".join(puts)
    check(data, len(puts))
    for cut in choose.sample(range(len(data)), 60):
        assert check(data[:cut], len(puts)) < len(puts)
    for _ in range(200):
        damaged = bytearray(data)
        damaged[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
        check(bytes(damaged), len(puts))


@pytest.mark.parametrize("attributes", [b"", struct.pack(">BHBBI", MAP, 5, STRING, STRING, 0)])
def test_usual_puts_are_read_to_the_last(attributes: bytes) -> None:
    cell = text(1, b"f") + text(2, b"q") + text(3, b"value") + b"\x00"
    put = text(1, b"row") + struct.pack(">BHBI", LIST, 2, STRUCT, 1) + cell + attributes + b"\x00"
    assert check(put * 5, 5) == 5
    assert fast_puts(put * 5, 0, 2)[1] == 2 * len(put)
    with pytest.raises(Malformed):  # the careful reader, which has to be asked for the rest
        read_value(MessageReader(put[:-1]), PUT)
