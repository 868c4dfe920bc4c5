"""Thrift on the wire: kinds of values and of messages, and what may be wrong with them."""

from typing import Final

STOP: Final = 0
BOOL: Final = 2
BYTE: Final = 3
DOUBLE: Final = 4
I16: Final = 6
I32: Final = 8
I64: Final = 10
STRING: Final = 11
STRUCT: Final = 12
MAP: Final = 13
SET: Final = 14
LIST: Final = 15

CALL: Final = 1
REPLY: Final = 2
EXCEPTION: Final = 3
ONEWAY: Final = 4

UNKNOWN_METHOD: Final = 1
INTERNAL_ERROR: Final = 6
PROTOCOL_ERROR: Final = 7

STRICT: Final = b"\x80\x01\x00"
"""The first bytes of a message of the binary protocol; its type follows."""

MAX_DEPTH: Final = 16
"""The most levels to which structs and containers may nest; the interfaces themselves need six."""

LONGEST_NAME_BYTES: Final = 256


class WireError(Exception):
    """The bytes of a peer are wrong. The message goes to the peer and into the log."""


class Malformed(WireError):
    """The bytes are not Thrift: nothing after them can be trusted, so the connection is closed."""


class MessageTooLarge(WireError):
    """The message is, or says it is, larger than the limit. It was not read."""


class EndOfStream(WireError):
    """The peer went away in the middle of a message."""


Call = tuple[bytes, int, int]
"""The head of a message: (method name, message type, sequence number)."""


def name_length(length: int) -> int:
    """`length` itself. Malformed when no method's name is that long: what follows is no Thrift call."""
    if length > LONGEST_NAME_BYTES:
        raise Malformed(f"a method name of {length} bytes is no Thrift call")
    return length
