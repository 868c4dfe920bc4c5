"""Puts made of record batches: the other direction of decoding.py, with the same bytes for each type."""

import json
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyarrow import types as kinds

from hbtable.arrow.converting import converter, is_bytes, is_list, is_text, spelled_out
from hbtable.arrow.field_names import column_of
from hbtable.client.columns import Key, full
from hbtable.client.given import bytes_of, members
from hbtable.encoding.number_codes import NUMBER_CODES
from hbtable.errors import WrongType, WrongValue
from hbtable.model.mutation import PUT, Operation, RowMutation
from hbtable.model.values import shown

Encode = Callable[[pa.Array], Sequence[bytes | None]]
Targets = Mapping[str, Key] | Iterable[str] | None
"""Columns by the fields that they are made of; or the fields, whose names are columns. None: all of them."""


Types = Mapping[Any, pa.DataType | None] | None
"""By column, what to_arrow() is to read it as; None, or not there: what its field is."""


class _Field(NamedTuple):
    """A field of the batches, and the column that it becomes."""

    place: int
    name: str
    family: bytes
    qualifier: bytes
    encode: Encode


def batches_of(given: object) -> Iterator[pa.RecordBatch]:
    """Whatever has record batches, as a table, a reader, a frame of Polars or an iterable of them. InvalidRequest."""
    if hasattr(given, "__arrow_c_stream__"):
        yield from _imported(pa.RecordBatchReader.from_stream, given)
    elif hasattr(given, "__arrow_c_array__"):
        yield _imported(pa.record_batch, given)
    elif isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping)):
        for one in given:
            if not hasattr(one, "__arrow_c_stream__") and not hasattr(one, "__arrow_c_array__"):
                raise WrongType(f"'batches' has {shown(one)}, a {type(one).__name__}, and has to have record batches")
            yield from batches_of(one)
    else:
        kind = type(given).__name__
        raise WrongType(f"'batches' {shown(given)} is {kind}, and has to be record batches: a reader, a table, a frame")


def _imported(make: Callable[[object], Any], given: object) -> Any:
    try:
        return make(given)
    except pa.ArrowException as error:
        raise WrongValue(f"the {type(given).__name__} is no table of Arrow: {error}") from None


def mutations_of(
    batch: pa.RecordBatch, row: str, columns: Targets, types: Types, timestamp: int
) -> Iterator[RowMutation]:
    """A put for each record; a null is no cell, and a record of nulls alone no put. InvalidRequest names the field, and
    what is wrong with it, before the first one is made."""
    place = _place(batch.schema, row)
    fields = _fields(batch.schema, row, columns, types)
    keys = _encoded(encoder_of(row, batch.schema.field(place).type), batch.column(place), row, None)
    made = [(one, _encoded(one.encode, batch.column(one.place), one.name, keys)) for one in fields]
    for number, key in enumerate(keys):
        if not key:
            raise WrongValue(f"record {number} has no row: field {row!r} is {'null' if key is None else 'empty'} there")
    for number, key in enumerate(keys):
        operations: list[Operation] = []
        for one, values in made:
            value = values[number]
            if value is not None:
                operations.append((PUT, one.family, one.qualifier, timestamp, value))
        if operations and key:
            yield RowMutation(key, operations)


# ---------------------------------------------------------------- which fields


def _fields(schema: pa.Schema, row: str, columns: Targets, types: Types) -> list[_Field]:
    targets = _targets(schema, row, columns)
    wanted = _wanted(types)
    fields: list[_Field] = []
    for name, column in targets.items():
        place = _place(schema, name)
        family, qualifier = full(column)
        if any((one.family, one.qualifier) == (family, qualifier) for one in fields):
            raise WrongValue(f"column {shown(family + b':' + qualifier)} is made of two fields")
        encode = _converted(name, schema.field(place).type, wanted.pop((family, qualifier), None))
        fields.append(_Field(place, name, family, qualifier, encode))
    if wanted:
        family, qualifier = next(iter(wanted))
        raise WrongValue(f"'types' has column {shown(family + b':' + qualifier)}, of which the batches have no field")
    return fields


def _wanted(types: Types) -> dict[tuple[bytes, bytes], pa.DataType | None]:
    if types is None:
        return {}
    if not isinstance(types, Mapping):
        raise WrongType(f"'types' {shown(types)} has to be a dict with a type of Arrow for each column")
    for column, type in types.items():
        if type is not None and not isinstance(type, pa.DataType):
            raise WrongType(f"the type of column {shown(column)} is {shown(type)}, and has to be one of pyarrow's")
    return {full(column): type for column, type in types.items()}


def _targets(schema: pa.Schema, row: str, columns: Targets) -> dict[str, Key]:
    if isinstance(columns, Mapping):
        return dict(columns)
    names = [name for name in schema.names if name != row] if columns is None else members("columns", columns)
    for name in names:
        if not isinstance(name, str):
            raise WrongType(f"the field {shown(name)} is {type(name).__name__}, and has to be text")
        if ":" not in name:
            raise WrongValue(f"field {name!r} names no column: say which, columns={{{name!r}: 'family:qualifier'}}")
    return {name: _named_for(schema, name) for name in names}


def _named_for(schema: pa.Schema, name: str) -> bytes:
    try:
        return column_of(schema.field(_place(schema, name)))
    except WrongValue as error:
        raise WrongValue(f"{error}: say which, columns={{{name!r}: b'family:qualifier'}}") from None


def _place(schema: pa.Schema, name: object) -> int:
    if not isinstance(name, str):
        raise WrongType(f"the field {shown(name)} is {type(name).__name__}, and has to be text")
    bytes_of("the field", name)
    places = [place for place, one in enumerate(schema.names) if one == name]
    if len(places) != 1:
        found = "two fields" if places else "no field"
        raise WrongValue(f"the batches have {found} {shown(name)}; they have {', '.join(map(repr, schema.names))}")
    return places[0]


# ---------------------------------------------------------------- bytes


class Unwritable(Exception):
    """The value at this place has no bytes."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at


def _encoded(
    encode: Encode, values: pa.Array, field: str, keys: Sequence[bytes | None] | None
) -> Sequence[bytes | None]:
    try:
        return encode(values)
    except Unwritable as error:
        at, why = error.at, str(error)
    except UNREADABLE as error:
        at, why = _first_unreadable(encode, values), str(error)
    where = f"record {at}" if keys is None else f"row {shown(keys[at])}"
    raise WrongValue(f"{where} has a value in field {field!r} that cannot be written: {why}")


UNREADABLE: Final = (pa.ArrowException, ValueError, OverflowError, RecursionError)
"""Errors of Arrow and Python for values that are not what their type says."""


def _first_unreadable(encode: Encode, values: pa.Array) -> int:
    for at in range(len(values)):
        try:
            encode(values.slice(at, 1))
        except (Unwritable, *UNREADABLE):
            return at
    return 0


def _converted(name: str, type: pa.DataType, wanted: pa.DataType | None) -> Encode:
    """Makes values of another type of them first, where nothing is lost by it."""
    if wanted is None or wanted == type:
        return encoder_of(name, type)
    encode, convert = encoder_of(name, wanted), converter(name, type, wanted)
    return lambda values: encode(convert(values))


def encoder_of(name: str, type: pa.DataType) -> Encode:
    """WrongType names a field of whose type no bytes are made. What is returned raises Unwritable, or one of
    UNREADABLE."""
    if isinstance(type, pa.DictionaryType):
        encode = encoder_of(name, type.value_type)
        return lambda values: encode(spelled_out(values))
    if str(type) in NUMBER_CODES:
        return _numbers
    if kinds.is_timestamp(type) or kinds.is_duration(type) or kinds.is_time(type) or kinds.is_date(type):
        whole = pa.int32() if type.bit_width == 32 else pa.int64()
        return lambda values: _numbers(values.view(whole))
    if kinds.is_boolean(type):
        return lambda values: [None if one is None else b"\xff" if one else b"\0" for one in values.to_pylist()]
    if is_text(type):
        return lambda values: [None if one is None else one.encode() for one in values.to_pylist()]
    if is_bytes(type) or kinds.is_null(type):
        return lambda values: values.to_pylist()
    if kinds.is_list(type) or kinds.is_large_list(type) or kinds.is_struct(type) or kinds.is_map(type):
        if (key := _other_key(type)) is not None:
            raise WrongType(
                f"field {name!r} is {type}: keys of JSON are text, not {key}; cast them to pyarrow.string()"
            )
        return lambda values: _json(values, type)
    raise WrongType(f"field {name!r} is {type}, of which no bytes are made; cast it, as to pyarrow.string()")


def _other_key(type: pa.DataType) -> pa.DataType | None:
    """The type of keys of a map in this type that are no text."""
    if kinds.is_map(type):
        return _other_key(type.item_type) if is_text(type.key_type) else type.key_type
    inner = [field.type for field in type] if kinds.is_struct(type) else [type.value_type] if is_list(type) else []
    return next((key for one in inner if (key := _other_key(one)) is not None), None)


_BYTE: Final = 8


def _numbers(values: pa.Array) -> Sequence[bytes | None]:
    width = values.type.bit_width // _BYTE
    data = values.buffers()[1]
    held = memoryview(data)[values.offset * width : (values.offset + len(values)) * width] if data else b""
    numbers = array(NUMBER_CODES[str(values.type)])
    numbers.frombytes(held)
    if sys.byteorder == "little":
        numbers.byteswap()
    joined = numbers.tobytes()
    cut: list[bytes | None] = [joined[at : at + width] for at in range(0, len(joined), width)]
    if values.null_count:
        return [None if is_null else one for one, is_null in zip(cut, values.is_null().to_pylist(), strict=True)]
    return cut


def _json(values: pa.Array, type: pa.DataType) -> Sequence[bytes | None]:
    made: list[bytes | None] = []
    for at, one in enumerate(values):
        try:
            value = _plain(one.as_py(), type)
            made.append(None if value is None else json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
        except (TypeError, *UNREADABLE) as error:
            raise Unwritable(at, f"it is no JSON: {error}") from None
    return made


def _plain(value: Any, type: pa.DataType) -> Any:
    """Maps as JSON has them, also inside of others. ValueError: a key is there twice, and one of its values would be
    lost."""
    if value is None:
        return None
    if kinds.is_map(type):
        found = {key: _plain(one, type.item_type) for key, one in value}
        if len(found) < len(value):
            raise ValueError("a key of a map is there twice")
        return found
    if kinds.is_struct(type):
        return {field.name: _plain(value[field.name], field.type) for field in type}
    if is_list(type):
        return [_plain(one, type.value_type) for one in value]
    return value
