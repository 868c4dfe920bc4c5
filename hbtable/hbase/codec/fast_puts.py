r"""Lists of Thrift2's puts of one cell each, decoded straight from memory in the shape that Thrift libraries write.

    TPut           0b 0001 length row | 0f 0002 0c count TColumnValue... | 0d 0005 0b 0b 00000000 (absent at will) | 00
    TColumnValue   0b 0001 length family | 0b 0002 length qualifier | 0b 0003 length value | 00

Anything else, and anything that has not arrived completely, ends the list early: the careful reader takes over.
"""

import struct
from typing import Final

from hbtable.hbase.codec.thrift2_structs import TColumnValue, TPut

_STRING: Final = struct.Struct(">3sI").unpack_from
_LENGTH: Final = struct.Struct(">I").unpack_from
_FIRST: Final = b"\x0b\x00\x01"
_SECOND: Final = b"\x0b\x00\x02"
_VALUE: Final = b"\x0b\x00\x03"
_ONE_CELL: Final = b"\x0f\x00\x02\x0c\x00\x00\x00\x01"
_END: Final = b"\x00\x00"
"""The ends of the cell and of the put."""
_NO_ATTRIBUTES: Final = b"\x00\x0d\x00\x05\x0b\x0b\x00\x00\x00\x00\x00"
"""The same, with an empty map of attributes in between."""


def fast_puts(data: bytes, position: int, count: int) -> tuple[list[object], int]:
    """Up to `count` puts, and the position behind the last one: fewer where one is unusual or not there completely."""
    found: list[object] = []
    here = position
    family = qualifier = before_value = b""  # of the last put; the last is all from its row to the length of its value
    try:
        for _ in range(count):
            mark, length = _STRING(data, here)
            if mark != _FIRST:
                break
            start = here + 7
            here = start + length
            row = data[start:here]
            if not before_value or not data.startswith(before_value, here):
                column = _column(data, here)
                if column is None:
                    break
                family, qualifier, stop = column
                before_value = data[here:stop]
            # A length that reaches beyond the end is noticed here: neither end follows.
            start = here + len(before_value) + 4
            here = start + _LENGTH(data, start - 4)[0]
            if data.startswith(_END, here):
                attributes, stop = None, here + len(_END)
            elif data.startswith(_NO_ATTRIBUTES, here):
                attributes, stop = dict[bytes, bytes](), here + len(_NO_ATTRIBUTES)
            else:
                break
            found.append(TPut(row, [TColumnValue(family, qualifier, data[start:here])], None, attributes))
            here = position = stop
    except struct.error:
        pass
    return found, position


def _column(data: bytes, position: int) -> tuple[bytes, bytes, int] | None:
    """(family, qualifier, the position of the length of the value) of a list of one cell."""
    if not data.startswith(_ONE_CELL, position):
        return None
    mark, length = _STRING(data, position + len(_ONE_CELL))
    start = position + len(_ONE_CELL) + 7
    stop = start + length
    second, length = _STRING(data, stop)
    end = stop + 7 + length
    if mark != _FIRST or second != _SECOND or not data.startswith(_VALUE, end):
        return None
    return data[start:stop], data[stop + 7 : end], end + len(_VALUE)
