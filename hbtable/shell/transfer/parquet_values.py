"""The bytes of what stands in the columns of a Parquet file with a record a row.

As Table.to_arrow gives it, and so an export with --types: a field `row` of bytes, and others whose names are columns.
Each value becomes the bytes that it was read from. Other files are named as a CSV is, and are read as one: numbers and
times become text. Bytes and text are what they are, lists, structs and maps become JSON.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa
from pyarrow import types as kinds

from hbtable.arrow.converting import is_bytes, spelled_out
from hbtable.arrow.writing import UNREADABLE, Encode, Unwritable, encoder_of
from hbtable.errors import WrongType
from hbtable.shell.errors import ArgumentError
from hbtable.shell.transfer.records import BadRecord

ROW: Final = "row"
"""The field of rows, as Table.to_arrow names it."""
Values = Callable[[pa.RecordBatch], list[Sequence[bytes | BadRecord | None]]]


def is_as_read(schema: pa.Schema) -> bool:
    """Whether its fields are those of Table.to_arrow."""
    rows = [field for field in schema if field.name == ROW and is_bytes(field.type)]
    return len(rows) == 1 and all(":" in field.name for field in schema if field not in rows)


def values_of(schema: pa.Schema, names: Sequence[str]) -> Values:
    """Returns what makes bytes of each column of a batch; None for a null, and a BadRecord of what has none. `names`:
    of the columns; one without a name is passed over. ArgumentError names a field of another type."""
    encode = encoder_of if is_as_read(schema) else _as_text
    encoders = [
        (field.name, _known(encode, field.name, field.type) if name else _passed_over)
        for field, name in zip(schema, names, strict=True)
    ]
    return lambda batch: [
        _encoded(name, encode, column) for (name, encode), column in zip(encoders, batch.columns, strict=True)
    ]


def _passed_over(values: pa.Array) -> Sequence[bytes | None]:
    return [None] * len(values)


def _known(encode: Callable[[str, pa.DataType], Encode], name: str, type: pa.DataType) -> Encode:
    try:
        return encode(name, type)
    except WrongType as error:
        raise ArgumentError(str(error)) from None


def _as_text(name: str, type: pa.DataType) -> Encode:
    if isinstance(type, pa.DictionaryType):
        encode = _as_text(name, type.value_type)
        return lambda values: encode(spelled_out(values))
    if kinds.is_duration(type):
        raise WrongType(f"field {name!r} is {type}, of which no text is made; cast it, as to pyarrow.int64()")
    if kinds.is_boolean(type):
        return lambda values: _texts(values, lambda one: "true" if one else "false")
    if kinds.is_integer(type) or kinds.is_floating(type) or kinds.is_decimal(type) or kinds.is_temporal(type):
        return lambda values: _texts(values, str)
    if isinstance(type, pa.BaseExtensionType):
        return lambda values: _texts(values, str)
    return encoder_of(name, type)


def _texts(values: pa.Array, text: Callable[[Any], str]) -> Sequence[bytes | None]:
    try:
        found = values.to_pylist()
    except ValueError:  # nanoseconds, of which Python has none
        if len(values) > 1:
            raise
        found = values.cast(pa.string()).to_pylist()
    return [one if one is None or isinstance(one, bytes) else text(one).encode() for one in found]


def _encoded(name: str, encode: Encode, column: pa.Array) -> Sequence[bytes | BadRecord | None]:
    try:
        return encode(column)
    except (Unwritable, *UNREADABLE):
        return [_alone(name, encode, column.slice(at, 1)) for at in range(len(column))]


def _alone(name: str, encode: Encode, value: pa.Array) -> bytes | BadRecord | None:
    try:
        return encode(value)[0]
    except (Unwritable, *UNREADABLE) as error:
        return BadRecord(f"field {name!r} has a value that cannot be written: {error}")
