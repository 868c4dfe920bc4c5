"""An Arrow column made of the bytes of a column's values: of None, where a row has no value, null is made.

Numbers are big-endian, as HBase's `Bytes.toBytes` and hbtable's counters write them, times and dates so the numbers
that Arrow keeps of them. A boolean is one byte, false when it is 0. Text is UTF-8. Lists, structs and maps are JSON.
"""

import json
import sys
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import types as kinds

from hbtable.arrow.json_types import Check, NamedFloat, check_of
from hbtable.encoding.number_codes import NUMBER_CODES
from hbtable.errors import WrongType
from hbtable.model import names
from hbtable.model.values import shown

Values = Sequence[bytes | None]
Decode = Callable[[Values], pa.Array]
"""Raises Undecodable."""


class Undecodable(Exception):
    """The value at this place does not hold what its column's type wants."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at
        self.why = why


def _name(column: str) -> str:
    return names.shown(column.encode("utf-8", "backslashreplace"))


def decoder(column: str, type: pa.DataType) -> Decode:
    """WrongType names a column whose type there is no reading for."""
    if not isinstance(type, pa.DataType):
        raise WrongType(
            f"the type of column {_name(column)} is {shown(type)}, and has to be a type of pyarrow, as pyarrow.int64()"
        )
    if isinstance(type, pa.DictionaryType):
        decode = decoder(column, type.value_type)
        return lambda values: indexed(decode(values), type)
    if str(type) in NUMBER_CODES:
        return lambda values: _numbers(values, type)
    if kinds.is_timestamp(type) or kinds.is_duration(type) or kinds.is_time(type) or kinds.is_date(type):
        whole = pa.int32() if type.bit_width == 32 else pa.int64()
        return lambda values: _numbers(values, whole).view(type)
    if kinds.is_boolean(type):
        return _booleans
    if kinds.is_binary(type) or kinds.is_large_binary(type) or kinds.is_binary_view(type):
        return lambda values: pa.array(values, type)
    if kinds.is_fixed_size_binary(type):
        return lambda values: _of_one_width(values, type)
    if kinds.is_string(type) or kinds.is_large_string(type) or kinds.is_string_view(type):
        return lambda values: _texts(values, type)
    if kinds.is_list(type) or kinds.is_struct(type) or kinds.is_map(type):
        hook = _single_keys if _has_map(type) else None
        load, check = _loader(hook), check_of(type)
        return lambda values: _json(values, type, load, check)
    raise WrongType(
        f"the type of column {_name(column)} is {type}, which no bytes are read as; read it as pyarrow.binary() and "
        "convert it"
    )


def _loader(hook: Callable[[list[tuple[str, Any]]], Any] | None) -> Callable[[bytes], Any]:
    """As json.loads, which makes a decoder for each value: that takes twice as long as to decode a short one."""
    decode = json.JSONDecoder(parse_constant=NamedFloat, object_pairs_hook=hook).decode
    return lambda value: decode(value.decode(json.detect_encoding(value), "surrogatepass"))


def _numbers(values: Values, type: pa.DataType) -> pa.Array:
    width = type.bit_width // 8
    present = [value for value in values if value is not None]
    _check_widths(values, present, width, str(type))
    numbers = array(NUMBER_CODES[str(type)])
    numbers.frombytes(b"".join(present))
    if sys.byteorder == "little":
        numbers.byteswap()
    dense = pa.Array.from_buffers(type, len(numbers), [None, pa.py_buffer(numbers)])
    return dense if len(present) == len(values) else _with_nulls(dense, values)


def _check_widths(values: Values, present: list[bytes], width: int, name: str) -> None:
    if set(map(len, present)) <= {width}:
        return
    for at, value in enumerate(values):
        if value is not None and len(value) != width:
            raise Undecodable(at, f"it has {len(value)} bytes, and {name} has {width}")


def _with_nulls(dense: pa.Array, values: Values) -> pa.Array:
    places: list[int | None] = []
    count = 0
    for value in values:
        places.append(None if value is None else count)
        count += value is not None
    return dense.take(pa.array(places, pa.int64()))


def _booleans(values: Values) -> pa.Array:
    _check_widths(values, [value for value in values if value is not None], 1, "bool")
    return pa.array([None if value is None else value != b"\0" for value in values], pa.bool_())


def _of_one_width(values: Values, type: pa.DataType) -> pa.Array:
    width = type.bit_width // 8
    _check_widths(values, [value for value in values if value is not None], width, str(type))
    return pa.array(values, type)


def _texts(values: Values, type: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, pa.binary()).cast(type)
    except pa.ArrowInvalid:
        for at, value in enumerate(values):
            try:
                (value or b"").decode()
            except UnicodeDecodeError as error:
                raise Undecodable(at, f"it is no UTF-8 from byte {error.start} on") from None
        raise


def indexed(values: pa.Array, type: pa.DictionaryType) -> pa.Array:
    """Undecodable: there are more values than its numbers."""
    try:
        return values.cast(type)
    except pa.ArrowInvalid:
        index, signed = type.index_type, kinds.is_signed_integer(type.index_type)
        most = 1 << (index.bit_width - signed)
        seen: set[object] = set()
        for at, one in enumerate(values):
            seen.add(one)
            if len(seen) > most + (None in seen):
                raise Undecodable(
                    at, f"more than {most} values of a batch are different, and {index} is too small to number them"
                ) from None
        raise


def _has_map(type: pa.DataType) -> bool:
    inner = [type.field(number).type for number in range(type.num_fields)]
    return bool(kinds.is_map(type)) or any(map(_has_map, inner))


def _single_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"it has the key {next(key for key in keys if keys.count(key) > 1)!r} twice")
    return found


def _json(values: Values, type: pa.DataType, load: Callable[[bytes], Any], check: Check) -> pa.Array:
    decoded: list[Any] = []
    for at, value in enumerate(values):
        try:
            decoded.append(None if value is None else load(value))
        except (ValueError, RecursionError) as error:  # of UTF-8, too
            raise Undecodable(at, f"it is no JSON: {error}") from None

    def made(of: list[Any]) -> pa.Array:
        check(of)
        return pa.array(of, type)

    try:
        return made(decoded)
    except (ValueError, TypeError, OverflowError, RecursionError):
        for at, one in enumerate(decoded):
            try:
                made([one])
            except (ValueError, TypeError, OverflowError, RecursionError) as error:
                raise Undecodable(at, f"its JSON is no {type}: {error}") from None
        raise
