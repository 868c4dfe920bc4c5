"""The bytes of a page's record batches between a server and its client: a stream of Arrow's IPC format.

A server reads values as numbers, booleans and text; those of all other types it sends as they are, and the client does
the rest: it makes lists and structs of JSON, and times of numbers. So nothing that a client sends is read by pyarrow.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import pyarrow as pa
from pyarrow import types as kinds

from hbtable.arrow.decoding import Undecodable, decoder, indexed
from hbtable.arrow.forms import LongForm, Pause, WideColumn, WideForm
from hbtable.errors import HbtableError, InvalidRequest
from hbtable.model.values import shown
from hbtable.switches import switches_if_given

BYTES: Final = "binary"
_TYPES: Final[dict[str, pa.DataType]] = {
    str(type): type
    for type in (
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
        pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.binary(),
    )
}  # fmt: skip
"""The types that a server reads values as, by name."""


# ---------------------------------------------------------------- the server


def read_as(name: str) -> pa.DataType:
    """InvalidRequest."""
    type = _TYPES.get(name)
    if type is None:
        raise InvalidRequest(f"a column is to be read as {shown(name)}, and can be as one of {', '.join(_TYPES)}")
    return type


def make_ready() -> None:
    """To be called once, in a thread: with its first array pyarrow imports pandas, where that is installed, which takes
    a second."""
    pa.array([b""], pa.binary())


@switches_if_given
def sent(form: WideForm | LongForm, batches: Iterator[pa.RecordBatch], pause: Pause) -> list[bytes]:
    """The pieces of the stream, to be joined; of no batch b""."""
    sink = _Pieces()
    writer = None
    for batch in batches:
        writer = writer or pa.ipc.new_stream(cast(Any, sink), form.schema)
        writer.write_batch(batch)
        pause()
    if writer is None:
        return [b""]
    writer.close()
    return sink.pieces


class _Pieces:
    """A file that keeps what is written: pyarrow's own would copy all of it at once in the end."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.closed = False

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]  # a buffer
        self.pieces.append(piece)
        return len(piece)

    def flush(self) -> None:
        """Nothing is kept back."""


# ---------------------------------------------------------------- the client


def asked(column: WideColumn) -> str:
    """The name of what the server is to read the column's values as."""
    return str(_nearest(column.type))


def _nearest(type: pa.DataType) -> pa.DataType:
    if isinstance(type, pa.DictionaryType):
        return _nearest(type.value_type)
    if str(type) in _TYPES:
        return type
    if kinds.is_timestamp(type) or kinds.is_duration(type) or kinds.is_time(type) or kinds.is_date(type):
        return pa.int32() if type.bit_width == 32 else pa.int64()
    if kinds.is_large_string(type) or kinds.is_string_view(type):
        return pa.string()
    return pa.binary()


def received(form: WideForm | LongForm, data: bytes) -> Iterator[pa.RecordBatch]:
    """WrongValue for what only the client can see that it cannot be decoded."""
    if not data:
        return
    try:
        batches = list(pa.ipc.RecordBatchStreamReader(data))
    except (pa.ArrowInvalid, OSError) as error:
        raise HbtableError(f"the server sent record batches that cannot be read: {error}") from error
    for batch in batches:
        yield _finished(form, batch)


def _finished(form: WideForm | LongForm, batch: pa.RecordBatch) -> pa.RecordBatch:
    found = [field.type for field in batch.schema]
    if isinstance(form, LongForm):
        _check(found, [field.type for field in form.schema])
        return pa.RecordBatch.from_arrays(batch.columns, schema=form.schema)
    _check(found, [pa.binary(), *(_nearest(column.type) for column in form.columns)])
    arrays = [batch.column(0)]
    for number, column in enumerate(form.columns):
        try:
            arrays.append(_finish(column.field_name, column.type)(batch.column(number + 1)))
        except Undecodable as error:
            row, value = (batch.column(place).slice(error.at, 1).to_pylist()[0] for place in (0, number + 1))
            raise form.undecodable(number, row, value, error) from None
    return pa.RecordBatch.from_arrays(arrays, schema=form.schema)


def _check(found: list[pa.DataType], expected: list[pa.DataType]) -> None:
    if found != expected:
        raise HbtableError(f"the server sent columns of the types {found}, and was asked for {expected}")


def _finish(name: str, type: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """The rest of the work on a column of the nearest type."""
    nearest = _nearest(type)
    if isinstance(type, pa.DictionaryType):
        inner = _finish(name, type.value_type)
        return lambda array: indexed(inner(array), type)
    if type == nearest:
        return lambda array: array
    if kinds.is_integer(nearest):
        return lambda array: array.view(type)
    if kinds.is_string(nearest) or kinds.is_large_binary(type) or kinds.is_binary_view(type):
        return lambda array: array.cast(type)
    decode = decoder(name, type)
    return lambda array: decode(array.to_pylist())
