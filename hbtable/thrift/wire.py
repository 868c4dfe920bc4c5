"""Thrift on the wire: kinds of values, kinds of messages, and how a struct is laid out.

A struct of the interface is decoded into a plain tuple (thrift_structs.py), the arguments of a call into a list indexed
by field id - 1, with None where nothing was sent. Both protocols' readers work from the same layouts.
"""

from collections.abc import Callable
from typing import Final, final

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
TEXT: Final = 16
"""Not a kind on the wire: a STRING that is decoded as UTF-8."""

CALL: Final = 1
REPLY: Final = 2
EXCEPTION: Final = 3
ONEWAY: Final = 4

UNKNOWN_METHOD: Final = 1
INTERNAL_ERROR: Final = 6
PROTOCOL_ERROR: Final = 7

_LONGEST_NAME_BYTES: Final = 256

MAX_DEPTH: Final = 16
"""How deep structs and containers may nest; the interface itself needs five."""

FastList = Callable[[bytes, int, int], tuple[list[object], int]]
"""(data, position, count) -> (elements, position behind them). Fewer than `count` where the next one is not there
completely, or not in the usual shape."""


class WireError(Exception):
    """The bytes of a client are wrong. The message goes to the client and into the log."""


class Malformed(WireError):
    """The bytes are not Thrift: nothing after them can be trusted, so the connection is closed."""


class MessageTooLarge(WireError):
    """The message is, or says it is, larger than the limit. It was not read."""


class EndOfStream(WireError):
    """The client went away in the middle of a message."""


Call = tuple[bytes, int, int]
"""The head of a message: (method name, message type, sequence number)."""


def name_length(length: int) -> int:
    """`length` itself. Malformed when no method's name is that long: what follows is no Thrift call."""
    if length > _LONGEST_NAME_BYTES:
        raise Malformed(f"a method name of {length} bytes is no Thrift call")
    return length


@final
class ValueType:
    """The type of a value: `kind`, and for containers and structs what is inside."""

    __slots__ = ("element", "key", "kind", "layout")

    def __init__(
        self,
        kind: int,
        key: "ValueType | None" = None,
        element: "ValueType | None" = None,
        layout: "StructLayout | None" = None,
    ) -> None:
        self.kind = kind
        self.key = key
        self.element = element
        self.layout = layout

    @property
    def wire_kind(self) -> int:
        return STRING if self.kind == TEXT else self.kind


@final
class StructLayout:
    """How a struct is decoded: its fields by id as (shape, index), the values of absent fields, and what to
    make of the values.

    `fast_list`, where there is one, decodes a list of this struct from contiguous bytes of the usual shape.
    """

    __slots__ = ("defaults", "empty", "fast_list", "fields", "make")

    def __init__(
        self,
        fields: dict[int, tuple[ValueType, int]],
        defaults: list[object],
        make: Callable[[list[object]], object],
        fast_list: FastList | None = None,
    ) -> None:
        self.fields = fields
        self.defaults = defaults
        self.make = make
        self.empty = make(defaults.copy())
        """What a struct without fields is: one object for all, as they cost a byte each on the wire."""
        self.fast_list = fast_list


class CallLayout:
    """The arguments of a call, with what the fast way of reading them needs at hand."""

    __slots__ = ("fast_list", "kinds", "layout", "list_kind")

    def __init__(self, fields: dict[int, ValueType]) -> None:
        highest = max(fields, default=0)
        self.layout = StructLayout(
            {field: (shape, field - 1) for field, shape in fields.items()}, [None] * highest, tuple
        )
        self.kinds = tuple(fields[field].wire_kind if field in fields else 0 for field in range(highest + 1))
        """Wire kind by field id; 0 where there is no such field."""
        elements = [shape.element for shape in fields.values() if shape.kind == LIST and shape.element is not None]
        inner = elements[0].layout if elements else None
        self.fast_list = inner.fast_list if inner is not None else None
        self.list_kind = elements[0].wire_kind if elements else 0
        """Wire kind of the elements of its lists (no method has lists of two kinds); 0 without any."""
