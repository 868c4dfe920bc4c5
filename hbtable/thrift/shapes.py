"""The types of values, as data that both protocols' readers and the writer work from.

A struct becomes whatever its layout makes of the values of its fields, as a rule a tuple; the arguments of a call
become a list indexed by field id - 1, with None where nothing was sent.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, Protocol, final

from hbtable.thrift.message import MessageWriter
from hbtable.thrift.wire import BOOL, I64, LIST, MAP, STRING, STRUCT

FastList = Callable[[bytes, int, int], tuple[list[object], int]]
"""(data, position, count) -> (elements, position behind them). Fewer than `count` where the next one is not there
completely, or not in the usual shape."""
FastWrite = Callable[[Any, MessageWriter], None]
"""The elements of a list, without its head."""


class Required:
    """The default of a field that must be there."""


REQUIRED: Final = Required()


class ValueType:
    """The type of a value: `kind`, and for containers and structs what is inside. `convert` makes of what was read the
    value that it stands for, `unconvert` takes that apart again."""

    __slots__ = ("alternative", "convert", "element", "key", "kind", "layout", "unconvert")

    def __init__(
        self,
        kind: int,
        key: "ValueType | None" = None,
        element: "ValueType | None" = None,
        layout: "StructLayout | None" = None,
        convert: Callable[[Any], Any] | None = None,
        unconvert: Callable[[Any], Any] | None = None,
    ) -> None:
        self.kind = kind
        self.key = key
        self.element = element
        self.layout = layout
        self.convert = convert
        self.unconvert = unconvert
        self.alternative: ValueType | None = None
        """Of an element: what it is in a list of another kind, where a list may be one of two."""


class Field(NamedTuple):
    """A field that equals its default is not written."""

    id: int
    name: str
    shape: ValueType
    default: object = REQUIRED


def tuple_of(*parts: Any) -> tuple[Any, ...]:
    return parts


@final
class StructLayout:
    """Fields in the order in which they are written. `parts` takes a value apart into theirs, `make` puts it together
    again.

    `fast_list`, where there is one, decodes a list of this struct from contiguous bytes of the usual shape, and
    `fast_write` encodes one: structs that come by the thousand must not cost a call for each field.
    """

    __slots__ = (
        "defaults", "empty", "fast_list", "fast_write", "fields", "has_required", "make", "parts", "places", "writes",
    )  # fmt: skip

    def __init__(
        self,
        fields: Sequence[Field],
        make: Callable[..., Any] = tuple_of,
        parts: Callable[[Any], Iterable[Any]] = iter,
        fast_list: FastList | None = None,
        fast_write: FastWrite | None = None,
    ) -> None:
        self.fields = tuple(fields)
        self.make = make
        self.parts = parts
        self.fast_list = fast_list
        self.fast_write = fast_write
        self.places = {field.shape.kind << 16 | field.id: (field.shape, place) for place, field in enumerate(fields)}
        """By kind and field id: a field of another kind is none that is known."""
        self.writes = [
            (bytes((field.shape.kind,)) + field.id.to_bytes(2, "big"), field.shape, field.default) for field in fields
        ]
        self.defaults = [field.default for field in fields]
        self.has_required = any(default is REQUIRED for default in self.defaults)
        self.empty = None if self.has_required else make(*self.defaults)
        """The value of a struct without fields: one object for all, as they cost a byte each on the wire."""


class UsualCall(Protocol):
    """A quicker way through the arguments of most calls of one method."""

    def read(self, data: bytes, position: int, /) -> tuple[list[object], int] | None:
        """The values of the arguments that begin at `position`, as decoding gives them, and where they end. None, or
        struct.error: they have to be decoded."""

    def learn(self, data: bytes, position: int, stop: int, values: list[object], /) -> None:
        """Hears of arguments that had to be decoded."""


class CallLayout:
    """The arguments of a call, with what the fast way of reading them needs at hand."""

    __slots__ = ("fast_list", "kinds", "layout", "list_kind", "usual")

    def __init__(self, shapes: dict[int, ValueType]) -> None:
        highest = max(shapes, default=0)
        nothing = ValueType(0)
        self.layout = StructLayout(
            [Field(field, "", shapes.get(field, nothing), None) for field in range(1, highest + 1)]
        )
        plain = {field: shape.kind for field, shape in shapes.items() if shape.convert is None}
        self.kinds = tuple(plain.get(field, 0) for field in range(highest + 1))
        """Kind by field id; 0 where there is no such field, or one that the fast way does not convert."""
        elements = [shape.element for shape in shapes.values() if shape.kind == LIST and shape.element is not None]
        inner = elements[0].layout if elements else None
        self.fast_list = inner.fast_list if inner is not None else None
        self.list_kind = elements[0].kind if elements else 0
        """Kind of the elements of its lists (no method has lists of two kinds); 0 without any."""
        self.usual: UsualCall | None = None


# ---------------------------------------------------------------- how interfaces written in Python say them


class Struct(ValueType):
    """A struct; the arguments are StructLayout's."""

    __slots__ = ()

    def __init__(
        self,
        fields: Sequence[Field],
        make: Callable[..., Any] = tuple_of,
        parts: Callable[[Any], Iterable[Any]] = iter,
        fast_list: FastList | None = None,
        fast_write: FastWrite | None = None,
    ) -> None:
        super().__init__(STRUCT, layout=StructLayout(fields, make, parts, fast_list, fast_write))

    @property
    def fields(self) -> tuple[Field, ...]:
        assert self.layout is not None
        return self.layout.fields


def Binary(  # noqa: N802 - a kind of ValueType
    convert: Callable[[bytes], Any] | None = None, unconvert: Callable[[Any], bytes] | None = None
) -> ValueType:
    """Bytes; `convert` and `unconvert` make something of them and back."""
    return ValueType(STRING, convert=convert, unconvert=unconvert)


def Sequences(  # noqa: N802 - a kind of ValueType
    element: ValueType, make: Callable[[list[Any]], Any] | None = None, kind: int = LIST
) -> ValueType:
    """A list or a set of one shape; `make` takes the list that was read."""
    return ValueType(kind, element=element, convert=make)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _untext(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _ordered(value: dict[Any, Any]) -> dict[Any, Any]:
    return dict(sorted(value.items()))


INTEGER: Final = ValueType(I64)
BOOLEAN: Final = ValueType(BOOL)
BINARY: Final = ValueType(STRING)
TEXT: Final = Binary(_text, _untext)
"""UTF-8, and any str comes back as it was: surrogates, which names of families may hold, are written as three bytes."""
TEXT_MAP: Final = ValueType(MAP, TEXT, TEXT, unconvert=_ordered)
"""Texts by text, written in order."""
