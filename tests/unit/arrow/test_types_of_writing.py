"""What `types=` makes of values, against plain Python: for each value, each type of its field and each type that is
asked for, what is stored means the same, or the write is refused."""

import math
import struct
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from hbtable.arrow.writing import mutations_of
from hbtable.errors import InvalidRequest, WrongType, WrongValue
from hbtable.shell.transfer.parquet_values import values_of

PARIS = "Europe/Paris"
NUMBERS = [0, 1, 5, -1, 300, 2048, 70_000, 2**24, 2**53 - 1, 2**53 + 1, 1_234_567_890_123_456_789, 2**63]
FLOATS = [0.0, 1.0, 5.0, 1.5, -2.0, 1e300, -math.inf, math.nan, 2.0**24, 2.0**53 - 1, 2.0**53, 1234567890123456789.0]
TIMES = [datetime(2026, 11, 28, hour, minute) for hour, minute in [(0, 0), (15, 30), (23, 0)]]  # noqa: DTZ001
WHOLE = [pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()]
EXACT_BELOW = {pa.float16(): 2**11, pa.float32(): 2**24, pa.float64(): 2**53}
"""From here on a number of this type may be another one that was rounded."""
STAMPS = [pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, PARIS)]
OTHER_TIMES = [pa.date32(), pa.date64(), pa.time32("s"), pa.time64("us"), pa.duration("s"), pa.duration("us")]
FRACTIONS = ["0.1", "-2.5", "16777217.5", "9007199254740993.25", "1" + "0" * 30, "1" + "0" * 22]
TEXTS = ["1e300", "-1e16", "1e30", "9007199254740993.0", "9.007199254740993e15", "1.7976931348623157e+308", "1e400"]
SOURCES = [
    *product([pa.decimal128(38, 0), pa.decimal128(38, 2), pa.decimal256(70, 3)], map(Decimal, [*NUMBERS, *FRACTIONS])),
    *product([pa.string(), pa.large_string(), pa.binary()], [*map(str, NUMBERS), *FRACTIONS, *TEXTS]),
    *product([pa.int64(), pa.uint64(), pa.int32()], NUMBERS),
    *product(EXACT_BELOW, FLOATS),
    *product([pa.bool_()], [True, False]),
    *product(STAMPS, TIMES),
    *product([pa.date32(), pa.date64()], [date(2026, 11, 28)]),
    *product([pa.time32("s"), pa.time64("us")], [time(15, 30)]),
    *product([pa.duration("s"), pa.duration("us")], [timedelta(seconds=90), timedelta(microseconds=1)]),
]
WANTED = [*WHOLE, pa.float32(), pa.float64(), pa.bool_(), *STAMPS, *OTHER_TIMES]


def written(values: pa.Array, wanted: pa.DataType | None) -> list[bytes]:
    batch = pa.record_batch({"id": [str(at) for at in range(len(values))], "f:x": values})
    made = list(mutations_of(batch, "id", None, {"f:x": wanted}, 1))
    return [mutation.operations[0][4] for mutation in made]


def plain(value: pa.Scalar) -> Any:
    """Times as their moment: of a day its beginning, and of what has no zone that in UTC."""
    found = value.as_py()
    if isinstance(found, datetime):
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    if isinstance(found, date):
        return datetime(found.year, found.month, found.day, tzinfo=UTC)
    if isinstance(found, (str, bytes)):
        return Decimal(found if isinstance(found, str) else found.decode())
    return float(found) if pa.types.is_floating(value.type) else found


def read(stored: bytes, wanted: pa.DataType, is_number: bool) -> Any:
    """A time that was made of a number: the number of its units."""
    if wanted == pa.bool_():
        return stored != b"\0"
    if is_number and pa.types.is_temporal(wanted):
        return int.from_bytes(stored, "big", signed=True)
    return plain(pa.Array.from_buffers(wanted, 1, [None, pa.py_buffer(stored[::-1])])[0])


def means_the_same(before: Any, type: pa.DataType, after: Any, wanted: pa.DataType) -> bool:
    if isinstance(before, float) and pa.types.is_floating(wanted):
        if math.isfinite(before):
            return math.isfinite(after) and abs(after - before) <= abs(before) / 1000
        return str(before) == str(after)
    if isinstance(before, Decimal) and pa.types.is_floating(wanted):
        exact = Decimal(after)
        if abs(before) < EXACT_BELOW[wanted]:
            return abs(exact - before) <= abs(before) / 1000
        digits = len(before.normalize().as_tuple().digits)
        is_text = not pa.types.is_decimal(type)  # 1e300 is no float, and the nearest one is written so
        return before == exact or (is_text and before == Decimal(f"{after:.{digits}g}"))
    if isinstance(before, float):
        return bool(before == after) and abs(before) < EXACT_BELOW[type]
    return bool(before == after)


@pytest.mark.parametrize("wanted", WANTED, ids=str)
def test_what_is_stored_means_the_same(wanted: pa.DataType) -> None:
    kept = 0
    for type, value in SOURCES:
        try:
            array = pa.array([value], type)
        except (pa.ArrowException, ValueError, OverflowError):  # this type has no such value
            continue
        try:
            (stored,) = written(array, wanted)
        except InvalidRequest:
            continue
        before = plain(array[0])
        after = read(stored, wanted, isinstance(before, (int, float, Decimal)))
        assert means_the_same(before, type, after, wanted), f"{type} {before} as {wanted}: {after}"
        kept += 1
    assert kept > 0


PAIRS = pa.map_(pa.string(), pa.float64())
LOST: list[tuple[pa.Array, pa.DataType, str]] = [
    (pa.array([1.0, None, 1234567890123456789.0]), pa.int64(), "'2' .* is double of 9007199254740992 or more"),
    (pa.array([1.0, 2.0**53]), pa.int64(), "'1' .* may be rounded"),
    (pa.array([0.1, 1e300]), pa.float32(), "'1' .*1e.300 is double, and would become inf as float"),
    (pa.array(["inf", "1e400"]), pa.float64(), "'1' .*1e400 is string, and would become inf"),
    (
        pa.array(["1", "9007199254740993"]),
        pa.float64(),
        "'1' .*993 is string, and would become 9007199254740992.0 as",
    ),
    (pa.array([Decimal(1), Decimal(2**24 + 1)]), pa.float32(), "'1' .*16777217 is decimal128.*16777216.0 as float"),
    (pa.array([[Decimal(1)], [Decimal(2**53 + 1)]]), pa.list_(pa.float64()), "'1' .*993 is decimal128"),
    (pa.array([0, 1, 5]), pa.bool_(), "'2' .*5 is int64, and would become"),
    (pa.array([TIMES[0], TIMES[1]], pa.timestamp("ns")), pa.date32(), "'1' .*15:30.* 2026-11-28 as date32"),
    (pa.array([[0.1], [1e300]]), pa.list_(pa.float32()), "'1' .* would become inf"),
    (pa.array([[1.0], None, [2.0**60]]).slice(1), pa.list_(pa.int64()), "'1' .* may be rounded"),
    (pa.array([[("a", 1.0)], [], [("b", 2.0**60)]], PAIRS).slice(1), pa.map_(pa.string(), pa.int64()), "'1' .*rounded"),
    (pa.array([{"a": 0}, {"a": 5}]), pa.struct({"b": pa.int8(), "a": pa.bool_()}), "'1' .*5 is int64"),
]


@pytest.mark.parametrize(("values", "wanted", "message"), LOST, ids=lambda one: str(getattr(one, "type", ""))[:30])
def test_the_row_whose_value_would_be_another_is_named(values: pa.Array, wanted: pa.DataType, message: str) -> None:
    with pytest.raises(WrongValue, match=f"row b{message}"):
        written(values, wanted)


@pytest.mark.parametrize("type", [*STAMPS, *OTHER_TIMES], ids=str)
@pytest.mark.parametrize("wanted", [pa.int64(), pa.int32(), pa.float64()], ids=str)
def test_a_number_without_a_unit_is_no_time(type: pa.DataType, wanted: pa.DataType) -> None:
    for values, to in (
        (pa.array([1], pa.int64()).cast(pa.int32() if type.bit_width == 32 else pa.int64()).view(type), wanted),
        (pa.array([], pa.list_(type)), pa.list_(wanted)),
    ):
        with pytest.raises(WrongType, match=r"'f:x' is .* does not say of which unit .*: give pyarrow\.[a-z0-9]+\("):
            written(values, to)


@pytest.mark.parametrize(
    ("type", "wanted", "message"),
    [
        (pa.struct({"a": pa.int64(), "b": pa.int64()}), pa.struct({"a": pa.int64()}), "does not have each 'b'"),
        (pa.struct([("a", pa.int8()), ("a", pa.int8())]), pa.struct({"a": pa.int64()}), "does not have each 'a'"),
        (pa.list_(pa.struct({"b": pa.int8()})), pa.list_(pa.struct({"a": pa.int8()})), "does not have each 'b'"),
        (pa.timestamp("s"), pa.time32("s"), "whose day"),
    ],
    ids=str,
)
def test_a_type_that_has_less_is_refused(type: pa.DataType, wanted: pa.DataType, message: str) -> None:
    with pytest.raises(WrongType, match=f"'f:x' is .*{message}"):
        written(pa.array([], type), wanted)


@pytest.mark.parametrize("type", [pa.string_view(), pa.binary_view(), pa.large_string(), pa.binary()], ids=str)
def test_values_of_a_dictionary_are_written_whatever_their_kind(type: pa.DataType) -> None:
    """Polars has Categorical and Enum as text of the kind string_view, which Arrow takes from no dictionary."""
    values = pa.array(["5", "6"], pa.string()).cast(type)
    indices = pa.array([1, None, 0, 1], pa.uint32())
    found = pa.DictionaryArray.from_arrays(indices, values)
    keys = list("abcd")
    for given, stored in ((found, [b"6", b"5", b"6"]), (found.slice(1), [b"5", b"6"])):
        for wanted in (None, pa.string(), type, pa.dictionary(pa.int8(), pa.string())):
            assert written(given, wanted) == stored
            batch = pa.record_batch({"row": keys[: len(given)], "f:x": given})
            (cells,) = values_of(batch.schema, ["f:x", "f:x"])(batch)[1:]
            assert [cell for cell in cells if cell is not None] == stored
        assert written(given, pa.int8()) == [bytes([int(one)]) for one in stored]


def test_what_loses_nothing_is_kept() -> None:
    assert written(pa.array([[("k", 1.0)]], PAIRS), pa.map_(pa.string(), pa.int64())) == [b'{"k": 1}']
    assert written(pa.array([{"a": 1}]), pa.struct({"a": pa.int8(), "b": pa.int8()})) == [b'{"a": 1, "b": null}']
    assert written(pa.array([1.0, 2.0, 1.0]).dictionary_encode(), pa.int8()) == [b"\1", b"\2", b"\1"]
    assert written(pa.array(["00012"]), pa.int8()) == [b"\x0c"]
    for given in ("0.1", "1e300", "1" + "0" * 30, "9007199254740992", "1e17", "-inf", Decimal("0.1"), Decimal(2**60)):
        assert written(pa.array([given]), pa.float64()) == [struct.pack(">d", float(given))]
    assert written(pa.array(["a", "b"]), pa.dictionary(pa.int8(), pa.binary())) == [b"a", b"b"]
    night = pa.array([datetime(2026, 11, 28, 1, tzinfo=UTC)], pa.timestamp("s", PARIS)).cast(pa.timestamp("s", PARIS))
    assert written(night, pa.string()) == [b"2026-11-28 02:00:00+0100"]
