"""JSON is read as a type of Arrow with the value that stands there, or it is refused."""

import json
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pytest

from hbtable.arrow.decoding import Undecodable, decoder

NOT: Final = object()
"""What is none of the type."""
Oracle = Callable[[Any], object]


def whole(low: int, high: int) -> Oracle:
    def of(value: Any) -> object:
        if type(value) is float and (value != value // 1 or abs(value) >= 2**53):
            return NOT
        return int(value) if type(value) in (int, float) and low <= value < high else NOT

    return of


def rounded(code: str, most_whole: int) -> Oracle:
    def of(value: Any) -> object:
        if type(value) not in (int, float) or (type(value) is int and abs(value) > most_whole) or abs(value) == 1e400:
            return NOT
        try:
            return struct.unpack(code, struct.pack(code, value))[0]
        except OverflowError:
            return NOT

    return of


def kind(wanted: type, made: Callable[[Any], object] = lambda value: value) -> Oracle:
    return lambda value: made(value) if type(value) is wanted else NOT


def pairs(given: dict[str, Any]) -> object:
    return list(given.items()) if set(map(type, given.values())) <= {int} else NOT


LEAVES: Final[list[tuple[pa.DataType, Oracle]]] = [
    *((type, whole(-(2 ** (type.bit_width - 1)), 2 ** (type.bit_width - 1)))
      for type in (pa.int8(), pa.int16(), pa.int32(), pa.int64())),
    *((type, whole(0, 2**type.bit_width)) for type in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())),
    *((type, whole(-(2**63), 2**63))
      for unit in ("s", "ms", "us", "ns") for type in (pa.timestamp(unit), pa.duration(unit))),
    *((type, whole(-(2**31), 2**31)) for type in (pa.date32(), pa.time32("s"), pa.time32("ms"))),
    *((type, whole(-(2**63), 2**63)) for type in (pa.date64(), pa.time64("us"), pa.time64("ns"))),
    (pa.float16(), rounded(">e", 2**11)), (pa.float32(), rounded(">f", 2**24)), (pa.float64(), rounded(">d", 2**53)),
    (pa.bool_(), kind(bool)),
    *((type, kind(str)) for type in (pa.string(), pa.large_string(), pa.string_view())),
    *((type, kind(str, str.encode)) for type in (pa.binary(), pa.large_binary(), pa.binary_view())),
    (pa.dictionary(pa.int8(), pa.string()), kind(str)),
    (pa.dictionary(pa.int8(), pa.int64()), whole(-(2**63), 2**63)),
    (pa.decimal128(38, 0), kind(int, lambda given: Decimal(given) if abs(given) < 10**38 else NOT)),
    (pa.list_(pa.string()), kind(list, lambda given: given if set(map(type, given)) <= {str} else NOT)),
    (pa.list_(pa.int64()), kind(list, lambda given: given if set(map(type, given)) <= {int} else NOT)),
    (pa.struct([("a", pa.int64())]),
     kind(dict, lambda given: {"a": given.get("a")} if type(given.get("a")) in (int, type(None)) else NOT)),
    (pa.map_(pa.string(), pa.int64()), lambda given: [] if given == [] else kind(dict, pairs)(given)),
]  # fmt: skip
TEXTS: Final = (
    *("true", "false", "0", "1", "-1", "127", "128", "255", "65504", "2049", "16777217", "9007199254740993"),
    *("2147483648", "18446744073709551615", "18446744073709551616", "1" + "0" * 40),
    *("0.0", "-0.0", "2.0", "2.75", "-0.5", "0.1", "65519.0", "65520.0", "1e19", "3.4e38", "1e39", "1e308", "1e400"),
    *('""', '"abc"', '"5"', '"true"', '"2020-01-01"', "[]", '["a"]', '["a", "b"]', "[1]", "[2.75]", "[[1]]", "[{}]"),
    *("{}", '{"a": 1}', '{"a": 2.75}', '{"a": "x"}', '{"b": 1}', '{"a": []}', '{"key": "a", "value": 1}'),
)  # fmt: skip
"""Each kind of JSON but null, with the numbers at which some type ends."""
AROUND: Final[dict[str, tuple[Callable[[pa.DataType], pa.DataType], str, Callable[[pa.Array], pa.Array]]]] = {
    "list": (pa.list_, "[%s]", lambda made: made.flatten()),
    "behind another": (pa.list_, "[null, %s]", lambda made: made.flatten()[1:]),
    "large list": (lambda type: pa.struct([("in", pa.large_list(type))]), '{"in": [%s]}',
                   lambda made: made.field("in").flatten()),
    "list of one": (lambda type: pa.list_(pa.list_(type, 1)), "[[%s]]", lambda made: made.flatten().flatten()),
    "struct": (lambda type: pa.struct([("in", type)]), '{"in": %s}', lambda made: made.field("in")),
    "map": (lambda type: pa.map_(pa.string(), type), '{"in": %s}', lambda made: made.items),
    "map of pairs": (lambda type: pa.map_(pa.string(), type), '[{"key": "in", "value": %s}]', lambda made: made.items),
}  # fmt: skip


def plain(made: pa.Array) -> object:
    """The value as Python has it; of times the number."""
    if pa.types.is_temporal(made.type):
        made = made.view(pa.int32() if made.type.bit_width == 32 else pa.int64())
    return made.to_pylist()[0]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(("leaf", "oracle"), LEAVES, ids=lambda one: str(one) if isinstance(one, pa.DataType) else "")
def test_json_is_of_the_type_or_refused(leaf: pa.DataType, oracle: Oracle, around: str) -> None:
    of, written, taken = AROUND[around]
    decode = decoder("f:a", of(leaf))
    for text in TEXTS:
        expected = oracle(json.loads(text))
        values = [b"null", (written % text).encode()]
        if expected is NOT:
            with pytest.raises(Undecodable) as refused:
                print(str(leaf), text, decode(values))
            assert refused.value.at == 1
            assert refused.value.why.startswith(f"its JSON is no {of(leaf)}: ")
        else:
            found = plain(taken(decode(values).slice(1)))
            assert (type(found), found) == (type(expected), expected), (str(leaf), text)


@pytest.mark.parametrize(("leaf", "oracle"), LEAVES, ids=lambda one: str(one) if isinstance(one, pa.DataType) else "")
def test_null_is_of_every_type(leaf: pa.DataType, oracle: Oracle) -> None:
    for of, written, _ in AROUND.values():
        made = decoder("f:a", of(leaf))([b"null", (written % "null").encode()])
        assert made[0].as_py() is None


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("type", [pa.float16(), pa.float32(), pa.float64()], ids=str)
def test_what_python_writes_of_floats_that_are_not_finite_is_read(type: pa.DataType, name: str) -> None:
    (made,) = decoder("f:a", pa.list_(type))([f"[{name}]".encode()]).flatten().to_pylist()
    assert repr(made) == repr(float(name))


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ('"abc"', pa.list_(pa.string())),
        ('{"a": 1}', pa.list_(pa.string())),
        ("[]", pa.struct([("a", pa.int64())])),
        ("5", pa.map_(pa.string(), pa.int64())),
        ('[["a", 1]]', pa.map_(pa.string(), pa.int64())),
        ('[{"key": "a", "value": 1, "more": 2}]', pa.map_(pa.string(), pa.int64())),
        ('[{"key": 5, "value": 1}]', pa.map_(pa.string(), pa.int64())),
        ('{"5": 1}', pa.map_(pa.int64(), pa.int64())),
    ],
    ids=str,
)
def test_another_kind_than_the_outermost_is_refused(text: str, type: pa.DataType) -> None:
    with pytest.raises(Undecodable, match="its JSON is no "):
        decoder("f:a", type)([text.encode()])
