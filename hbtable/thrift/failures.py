"""The content of an EXCEPTION, Thrift's TApplicationException: a call is not known, or could not even begin."""

from typing import Final

from hbtable.thrift.binary_writer import write
from hbtable.thrift.message import MessageWriter
from hbtable.thrift.shapes import Binary, Field, Struct, ValueType
from hbtable.thrift.wire import I32


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _data(text: str) -> bytes:
    return text.encode("utf-8", "replace")


APPLICATION_EXCEPTION: Final = Struct(
    [Field(1, "message", Binary(_text, _data), None), Field(2, "type", ValueType(I32), None)]
)


def encode_failure(message: str, code: int) -> bytes:
    out = MessageWriter()
    write(APPLICATION_EXCEPTION, (message, code), out)
    return b"".join(out.pieces)
