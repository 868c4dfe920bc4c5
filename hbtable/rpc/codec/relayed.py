"""The messages of calls that are passed on as they came (services.RelayService), read and written in one go.

For each of them a client of another server waits, and what they hold is small: with a reader and a writer for each
field a call took twice as long. The bytes are those of thrift/tabletserver.thrift, in the order of the fields; in any
other shape the careful reader takes over.

    call      0b 0001 length incarnation   0a 0002 tablet   0b 0003 length message   [0a 0064 wait]   00
    answer    0b 0000 length answer   00
"""

import struct
from typing import Final

from hbtable.thrift.wire import I64, STOP, STRING

_STRING: Final = struct.Struct(">BHI")
_TABLET_AND_STRING: Final = struct.Struct(">BHqBHI")
_NUMBER: Final = struct.Struct(">BHq")
_LENGTH: Final = struct.Struct(">I").pack
_STOP: Final = b"\0"
_MOST_BYTES: Final = 1 << 20
"""A larger message is put together and taken apart in parts."""


def call(head: bytes, sequence: int, to: bytes, tablet_id: int, message: bytes, wait_field: int, wait: int) -> bytes:
    """The frame of a call. struct.error. `wait`: 0: none is sent."""
    begin = _STRING.pack(STRING, 1, len(to)) + to
    middle = _TABLET_AND_STRING.pack(I64, 2, tablet_id, STRING, 3, len(message))
    end = _NUMBER.pack(I64, wait_field, wait) + _STOP if wait else _STOP
    size = len(head) + 4 + len(begin) + len(middle) + len(message) + len(end)
    return b"".join((_LENGTH(size), head, _LENGTH(sequence), begin, middle, message, end))


def called(data: bytes, position: int, wait_field: int) -> tuple[bytes, int, bytes, int] | None:
    """(incarnation, tablet, message, wait) of the call whose fields begin at `position`. None: they are to be read one
    by one."""
    if len(data) > _MOST_BYTES:
        return None
    try:
        kind, field, length = _STRING.unpack_from(data, position)
        start = position + 7
        stop = start + length
        to = data[start:stop]
        kind2, field2, tablet_id, kind3, field3, length = _TABLET_AND_STRING.unpack_from(data, stop)
        start = stop + 18
        stop = start + length
        if (kind, field, kind2, field2, kind3, field3) != (STRING, 1, I64, 2, STRING, 3):
            return None
        message, wait = data[start:stop], 0
        if data[stop] == I64:
            kind, field, wait = _NUMBER.unpack_from(data, stop)
            stop += 11
            if field != wait_field:
                return None
        return (to, tablet_id, message, wait) if data[stop] == STOP else None
    except (IndexError, struct.error):
        return None


def answer(head: bytes, sequence: int, made: bytes) -> bytes:
    """The frame of an answer."""
    begin = _STRING.pack(STRING, 0, len(made))
    return b"".join((_LENGTH(len(head) + 12 + len(made)), head, _LENGTH(sequence), begin, made, _STOP))


def answered(data: bytes, position: int) -> bytes | None:
    """The answer in the message whose fields begin at `position`. None: it is an error, or has a cost with it."""
    if len(data) > _MOST_BYTES:
        return None
    try:
        kind, field, length = _STRING.unpack_from(data, position)
        stop = position + 7 + length
        return data[position + 7 : stop] if (kind, field, data[stop]) == (STRING, 0, STOP) else None
    except (IndexError, struct.error):
        return None
