"""The answer to a client of HBase's Thrift that came to the port of the roles.

It is the IOError that nearly all of HBase's calls declare. happybase cannot show the text of an undeclared exception:
its user would read `<exception str() failed>`. Roles speak the binary protocol among themselves; a client that speaks
the compact one is answered in it (thrift/compact_reader.py shows its layout).
"""

from typing import Final

from hbtable.rpc.codec import calls
from hbtable.switches import switches
from hbtable.thrift import compact_reader
from hbtable.thrift.binary_writer import write
from hbtable.thrift.message import MessageReader, MessageWriter
from hbtable.thrift.shapes import TEXT, Field, Struct
from hbtable.thrift.wire import EXCEPTION, REPLY, UNKNOWN_METHOD, Malformed

_ANSWER: Final = Struct([Field(1, "io", Struct([Field(1, "message", TEXT, None)]), None)])
_DECLARES_NOTHING: Final = (b"", b"getThriftServerType")
"""`""`: which call it is has not arrived whole."""
COMPACT_CALL: Final = b"\x82\x21"
"""The first bytes of a call in the compact protocol; no message of a role begins like that."""
_COMPACT_VERSION: Final = 1
_FIRST_TEXT: Final = b"\x18"
"""A struct's first field, if it is text."""
_FIRST_STRUCT: Final = b"\x1c"
_NEXT_I32: Final = b"\x15"
_STOP: Final = b"\x00"


def is_named_by_hbase(name: bytes) -> bool:
    """Calls between roles have no capitals in their names; of HBase's all but a handful do."""
    return name != name.lower()


@switches
def refusal(name: bytes, sequence: int, text: str) -> bytes:
    """The frame."""
    if name in _DECLARES_NOTHING:
        return calls.failure(name, sequence, UNKNOWN_METHOD, text)
    out = MessageWriter()
    write(_ANSWER, ((text,),), out)
    return calls.foreign_reply(name, sequence, b"".join(out.pieces))


@switches
def compact_refusal(data: bytes, text: str) -> bytes:
    """The message, without a frame. `data`: a call, as far as it has arrived."""
    try:
        name, _, sequence = compact_reader.read_call(MessageReader(data))
    except Malformed:
        name, sequence = b"", 0
    written = _FIRST_TEXT + _with_length(text.encode())
    if name in _DECLARES_NOTHING:
        kind, body = EXCEPTION, written + _NEXT_I32 + _varint(UNKNOWN_METHOD << 1)
    else:
        kind, body = REPLY, _FIRST_STRUCT + written + _STOP
    head = bytes((COMPACT_CALL[0], kind << 5 | _COMPACT_VERSION)) + _varint(sequence) + _with_length(name)
    return head + body + _STOP


def _with_length(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
