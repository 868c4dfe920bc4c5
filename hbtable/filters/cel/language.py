"""An expression in CEL as the text of a filter has it: its source, and the variables that it may use."""

import re
import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from hbtable.encoding.number_codes import NUMBER_CODES
from hbtable.model.values import shown

SOURCE_BYTES: Final = 4096
MOST_VARIABLES: Final = 64

ROW: Final = "row"
"""Always there: the row key, as bytes."""
PRESENT: Final = "present"
"""Always there: the names of the variables that have a value in the row, as a list of texts."""

TYPES: Final = ("bytes", "string", "json", *NUMBER_CODES)
"""The types as which the bytes of a cell may be read. `string` is UTF-8."""

_NAME: Final = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{0,63}")
_MISSING: Final = 0xFFFF_FFFF
_LENGTH: Final = struct.Struct(">I")


class Variable(NamedTuple):
    """A name of the expression, for the newest version of one column."""

    name: str
    read_as: str
    """One of TYPES."""
    column: bytes


def source_of(text: bytes) -> str:
    """ValueError, saying why, when no expression can be that."""
    if len(text) > SOURCE_BYTES:
        raise ValueError(f"the expression has {len(text)} bytes, the limit is {SOURCE_BYTES}")
    if not text.strip():
        raise ValueError("the expression is empty")
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise ValueError(f"the expression {shown(text)} is not UTF-8") from None


def variables_of(texts: Sequence[bytes]) -> tuple[Variable, ...]:
    """Each of the form b"NAME TYPE FAMILY:QUALIFIER". ValueError, saying why."""
    if len(texts) > MOST_VARIABLES:
        raise ValueError(f"{len(texts)} variables are more than {MOST_VARIABLES}, the limit of an expression")
    found = tuple(map(_variable_of, texts))
    names = [variable.name for variable in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"the variable {name} is given twice")
    return found


def _variable_of(text: bytes) -> Variable:
    name, _, rest = text.partition(b" ")
    read_as, _, column = rest.partition(b" ")
    if not _NAME.fullmatch(name) or not column.find(b":") > 0:
        raise ValueError(f"{shown(text)} is not of the form 'name type family:qualifier'")
    if name.decode() in (ROW, PRESENT):
        raise ValueError(f"the name {name.decode()} is taken: every expression has row and present")
    if read_as.decode("latin-1") not in TYPES:
        raise ValueError(f"the type {shown(read_as)} of the variable {name.decode()} is none of {', '.join(TYPES)}")
    return Variable(name.decode(), read_as.decode(), column)


def packed(row: bytes, values: Sequence[bytes | None]) -> bytes:
    """A row as a worker gets it: the key and the variables' values, None for a missing one."""
    pieces = [_LENGTH.pack(len(row)), row]
    for value in values:
        pieces.append(_LENGTH.pack(_MISSING if value is None else len(value)))
        pieces.append(value or b"")
    return b"".join(pieces)


def in_pieces(row: bytes, values: Sequence[bytes | None]) -> list[bytes]:
    """A row whose values are large, as a worker gets it: as packed(), without a copy."""
    present = bytes(value is not None for value in values)
    return [b"", row, present, *(value or b"" for value in values)]


def from_pieces(pieces: Sequence[bytes]) -> list[memoryview | None] | None:
    """The key and the values of in_pieces(); None when these are rows as packed() makes them, none of which is b""."""
    if not pieces or pieces[0]:
        return None
    _, row, present, *values = pieces
    return [
        memoryview(row),
        *(memoryview(value) if there else None for value, there in zip(values, present, strict=True)),
    ]


def unpacked(packed: bytes) -> list[memoryview | None]:
    """The key and the values of packed(), as parts of it: they may be large."""
    part = memoryview(packed)
    found: list[memoryview | None] = []
    at = 0
    while at < len(part):
        (length,) = _LENGTH.unpack_from(part, at)
        at += _LENGTH.size
        if length == _MISSING:
            found.append(None)
        else:
            found.append(part[at : at + length])
            at += length
    return found
