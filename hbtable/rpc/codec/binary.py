"""Thrift's binary protocol over one message in memory, driven by shapes (model.py has the structs).

    struct   { kind (1), field id (2), value } ..., 00        list, set   kind (1), count (4), elements
    string   length (4), bytes                                map         kind, kind, count (4), keys and values
    bool and byte 1, i64 8; integers big-endian

Nothing read is trusted: lengths and counts are checked against the bytes that are there before memory is taken, unknown
fields are skipped to a bounded depth (a newer peer sends them). IndexError, struct.error and ValueError mean broken
bytes; `decode` makes Corruption of them.

thriftpy2 is not used. It is no slower (a thousand rows there and back through its objects 2.3 ms, here 2.5), but it
makes room for any length that a message claims, nests without a bound, and lets no other task run before it is done.
"""

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, Protocol, final

from hbtable.errors import Corruption
from hbtable.switches import switches

STOP: Final = 0
BOOL: Final = 2
BYTE: Final = 3
I64: Final = 10
STRING: Final = 11
STRUCT: Final = 12
MAP: Final = 13
SET: Final = 14
LIST: Final = 15

_DEPTH: Final = 16
_ELEMENTS_AT_ONCE: Final = 2000
"""Elements handled between two pauses, a millisecond or two."""
_TURN: Final = 64
_FIXED: Final = {BOOL: 1, BYTE: 1, 4: 8, 6: 2, 8: 4, I64: 8}

_U32: Final = struct.Struct(">I")
_I64: Final = struct.Struct(">q")
_U16: Final = struct.Struct(">H")
_LIST: Final = struct.Struct(">BI")
_MAP: Final = struct.Struct(">BBI")


def _no_pause() -> None:
    return


@final
class MessageReader:
    """A message being decoded. `pause` lets other tasks run between many elements."""

    __slots__ = ("_elements", "_pause", "data")

    def __init__(self, data: bytes, pause: Callable[[], None] = _no_pause) -> None:
        self.data = data
        self._pause = pause
        self._elements = 0

    def count(self, elements: int, position: int) -> None:
        """Announces a container at `position`. ValueError when the message is too short for it."""
        if elements > len(self.data) - position:
            raise ValueError(f"{elements} elements in {len(self.data) - position} bytes")

    def elements(self, kind: int, position: int) -> tuple[int, int]:
        """The head of a list or a set of this kind: how many there are, and where the first is. ValueError when they
        are of another kind; an empty list may say anything."""
        found, count = _LIST.unpack_from(self.data, position)
        if found != kind and count:
            raise ValueError(f"elements of kind {found} where {kind} belongs")
        self.count(count, position + 5)
        return count, position + 5

    @switches
    def turn(self, elements: int) -> None:
        """*Switches* now and then."""
        self._elements += elements
        if self._elements >= _ELEMENTS_AT_ONCE:
            self._elements = 0
            self._pause()


@final
class MessageWriter:
    """A message being encoded, in pieces."""

    __slots__ = ("_elements", "_pause", "pieces")

    def __init__(self, pause: Callable[[], None] = _no_pause) -> None:
        self.pieces: list[bytes] = []
        self._pause = pause
        self._elements = 0

    @switches
    def turn(self, elements: int) -> None:
        """*Switches* now and then."""
        self._elements += elements
        if self._elements >= _ELEMENTS_AT_ONCE:
            self._elements = 0
            self._pause()


class Shape(Protocol):
    """The type of a value: how it is written and read."""

    kind: int

    def write(self, value: Any, out: MessageWriter) -> None: ...
    def read(self, source: MessageReader, position: int) -> tuple[Any, int]:
        """(value, position behind it)."""


@final
class Integer:
    """i64."""

    kind = I64

    def write(self, value: Any, out: MessageWriter) -> None:
        out.pieces.append(_I64.pack(value))

    def read(self, source: MessageReader, position: int) -> tuple[Any, int]:
        return _I64.unpack_from(source.data, position)[0], position + 8


@final
class Boolean:
    """bool."""

    kind = BOOL

    def write(self, value: Any, out: MessageWriter) -> None:
        out.pieces.append(b"\1" if value else b"\0")

    def read(self, source: MessageReader, position: int) -> tuple[Any, int]:
        return source.data[position] != 0, position + 1


@final
class Binary:
    """Bytes; `convert` and `unconvert` make something of them and back."""

    kind = STRING

    def __init__(
        self, convert: Callable[[bytes], Any] | None = None, unconvert: Callable[[Any], bytes] | None = None
    ) -> None:
        self._convert = convert
        self._unconvert = unconvert

    def write(self, value: Any, out: MessageWriter) -> None:
        data: bytes = value if self._unconvert is None else self._unconvert(value)
        out.pieces += (_U32.pack(len(data)), data)

    def read(self, source: MessageReader, position: int) -> tuple[Any, int]:
        start = position + 4
        end = start + _U32.unpack_from(source.data, position)[0]
        if end > len(source.data):
            raise ValueError("a length points past the end")
        value = source.data[start:end]
        return (value if self._convert is None else self._convert(value)), end


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _untext(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


INTEGER: Final = Integer()
BOOLEAN: Final = Boolean()
BINARY: Final = Binary()
TEXT: Final = Binary(_text, _untext)
"""UTF-8, and any str comes back as it was: surrogates, which names of families may hold, are written as three bytes."""


@final
class Sequences:
    """A list or a set of one shape; `make` takes the list that was read."""

    def __init__(self, element: Shape, make: Callable[[list[Any]], Any] | None = None, kind: int = LIST) -> None:
        self.kind = kind
        self._element = element
        self._make = make

    def write(self, value: Any, out: MessageWriter) -> None:
        element = self._element
        out.pieces.append(_LIST.pack(element.kind, len(value)))
        write = element.write
        for number, each in enumerate(value, 1):
            write(each, out)
            if not number % _TURN:
                out.turn(_TURN)

    def read(self, source: MessageReader, position: int) -> tuple[Any, int]:
        count, position = source.elements(self._element.kind, position)
        read = self._element.read
        found = []
        for number in range(1, count + 1):
            each, position = read(source, position)
            found.append(each)
            if not number % _TURN:
                source.turn(_TURN)
        return (found if self._make is None else self._make(found)), position


@final
class TextMap:
    """A map of texts to texts."""

    kind = MAP

    def write(self, value: Any, out: MessageWriter) -> None:
        out.pieces.append(_MAP.pack(STRING, STRING, len(value)))
        for key in sorted(value):
            TEXT.write(key, out)
            TEXT.write(value[key], out)

    def read(self, source: MessageReader, position: int) -> tuple[Any, int]:
        key_kind, value_kind, count = _MAP.unpack_from(source.data, position)
        position += 6
        if count and (key_kind, value_kind) != (STRING, STRING):
            raise ValueError("a map of something else than texts")
        source.count(count, position)
        found = {}
        for _ in range(count):
            key, position = TEXT.read(source, position)
            found[key], position = TEXT.read(source, position)
        return found, position


def tuple_of(*parts: Any) -> tuple[Any, ...]:
    return parts


class Required:
    """The default of a field that must be there."""


REQUIRED: Final = Required()


class Field(NamedTuple):
    """A field that equals its default is not written."""

    id: int
    name: str
    shape: Shape
    default: object = REQUIRED


@final
class Struct:
    """Fields in order of their ids. `parts` takes a value apart into theirs, `make` puts it together again; as a rule
    a value is a tuple of them."""

    kind = STRUCT

    def __init__(
        self,
        fields: Sequence[Field],
        make: Callable[..., Any] = tuple_of,
        parts: Callable[[Any], Iterable[Any]] = iter,
    ) -> None:
        self.fields = tuple(fields)
        self._make = make
        self._parts = parts
        self._writes = [(bytes((f.shape.kind,)) + _U16.pack(f.id), f.shape.write, f.default) for f in fields]
        self._places = {(f.shape.kind, f.id): (place, f.shape.read) for place, f in enumerate(fields)}
        self._defaults = [f.default for f in fields]

    def write(self, value: Any, out: MessageWriter) -> None:
        for (head, write, default), part in zip(self._writes, self._parts(value), strict=True):
            if part is default or (default is not REQUIRED and part == default):
                continue
            out.pieces.append(head)
            write(part, out)
        out.pieces.append(b"\0")

    def read(self, source: MessageReader, position: int) -> tuple[Any, int]:
        data = source.data
        values = self._defaults.copy()
        while kind := data[position]:
            place = self._places.get((kind, _U16.unpack_from(data, position + 1)[0]))
            if place is None:
                position = skip(source, kind, position + 3, _DEPTH)
            else:
                values[place[0]], position = place[1](source, position + 3)
        for value in values:
            if value is REQUIRED:
                raise ValueError("a required field is missing")
        return self._make(*values), position + 1


def skip(source: MessageReader, kind: int, position: int, depth: int) -> int:
    """The position behind a value that nobody here knows."""
    data = source.data
    if kind in _FIXED:
        return position + _FIXED[kind]
    if depth == 0:
        raise ValueError("nested too deep")
    if kind == STRING:
        return position + 4 + int(_U32.unpack_from(data, position)[0])
    if kind == STRUCT:
        while inner := data[position]:
            position = skip(source, inner, position + 3, depth - 1)
        return position + 1
    kinds: tuple[int, ...]
    if kind in (LIST, SET):
        element, count = _LIST.unpack_from(data, position)
        kinds, position = (element,), position + 5
    elif kind == MAP:
        key, element, count = _MAP.unpack_from(data, position)
        kinds, position = (key, element), position + 6
    else:
        raise ValueError(f"{kind} is no kind of value")
    source.count(count, position)
    for _ in range(count):
        for each in kinds:
            position = skip(source, each, position, depth - 1)
        source.turn(1)
    return position


@switches
def decode(shape: Shape, source: MessageReader, position: int) -> tuple[Any, int]:
    """(value, position behind it). Corruption when the bytes are not one; UnsupportedFormat for a record of a newer
    hbtable. *Switches* between many elements."""
    try:
        return shape.read(source, position)
    except (IndexError, struct.error, ValueError, OverflowError) as error:
        raise Corruption("a message", position, f"it cannot be decoded: {error}") from error
