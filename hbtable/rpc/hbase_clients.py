"""The answer to a client of HBase's Thrift that came to the port of the roles.

It is the IOError that nearly all of HBase's calls declare. happybase cannot show the text of an undeclared exception:
its user would read `<exception str() failed>`.
"""

from typing import Final

from hbtable.rpc.codec import calls
from hbtable.switches import switches
from hbtable.thrift.binary_writer import write
from hbtable.thrift.message import MessageWriter
from hbtable.thrift.shapes import TEXT, Field, Struct
from hbtable.thrift.wire import UNKNOWN_METHOD

_ANSWER: Final = Struct([Field(1, "io", Struct([Field(1, "message", TEXT, None)]), None)])
_DECLARES_NOTHING: Final = (b"", b"getThriftServerType")
"""`""`: which call it is has not arrived whole."""


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
