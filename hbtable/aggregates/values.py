"""Bytes as numbers, many at a time."""

import re
import struct
from collections.abc import Sequence
from math import isinf
from typing import Final

from hbtable.encoding.number_codes import NUMBER_CODES

Number = int | float

_MOST_DIGITS: Final = 64
_NUMBER: Final = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")
_WHOLE: Final = re.compile(rb"[+-]?\d+")


class NoNumber(Exception):
    """A value that is not of its type."""

    def __init__(self, value: bytes, why: str) -> None:
        super().__init__(why)
        self.value = value
        self.why = why


def numbers(values: Sequence[bytes], read_as: str) -> Sequence[Number]:
    """NoNumber names the first that is none."""
    if read_as == "number":
        return [_of_text(value) for value in values]
    code = NUMBER_CODES[read_as]
    width = struct.calcsize(">" + code)
    if not set(map(len, values)) <= {width}:
        wrong = next(value for value in values if len(value) != width)
        raise NoNumber(wrong, f"it has {len(wrong)} bytes, and {read_as} has {width}")
    return struct.unpack(f">{len(values)}{code}", b"".join(values))


def _of_text(value: bytes) -> Number:
    if len(value) > _MOST_DIGITS:
        raise NoNumber(value, f"it has {len(value)} bytes, and a number as text has at most {_MOST_DIGITS}")
    if _WHOLE.fullmatch(value):
        return int(value)
    if _NUMBER.fullmatch(value):
        number = float(value)
        if isinf(number):
            raise NoNumber(value, "it is too large for a float of 64 bits")
        return number
    raise NoNumber(value, "it is no decimal number in UTF-8")
