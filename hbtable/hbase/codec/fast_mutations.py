r"""Lists of mutations, decoded straight from memory in the shape that every Thrift library writes.

    Mutation       02 0001 isDelete | 0b 0002 length column | 0b 0003 length value (absent at will) | 02 0004 log | 00
    BatchMutation  0b 0001 length row | 0f 0002 0c count Mutation... | 00

Anything else, and anything that has not arrived completely, ends the list early: the careful reader takes over, also
where rows have very many mutations, between which it lets others have their turn. A length that reaches beyond the end
is noticed at the byte behind it.
"""

import struct
from typing import Final

_MUTATION: Final = struct.Struct(">I3sI").unpack_from
_STRING: Final = struct.Struct(">3sI").unpack_from
_LENGTH: Final = struct.Struct(">I").unpack_from
_LIST: Final = struct.Struct(">4sI").unpack_from
_END: Final = struct.Struct(">IB").unpack_from
_ROW: Final = b"\x0b\x00\x01"
_VALUE: Final = b"\x0b\x00\x03"
_ONE_PUT: Final = b"\x0f\x00\x02\x0c\x00\x00\x00\x01\x02\x00\x01\x00\x0b\x00\x02"
"""A list of one mutation which is no delete, up to the length of its column."""
_MUTATIONS_AT_ONCE: Final = 1024
"""Of one row, or of rows together that are more than a put each."""
_LOGGED: Final = b"\x02\x00\x04\x01\x00\x00"
"""The ends of a mutation that goes to the log, and of the batch behind it."""


def fast_mutations(data: bytes, position: int, count: int) -> tuple[list[object], int]:
    """Up to `count` mutations as (is_delete, column, value, write_to_log), and the position behind the last one:
    fewer where one is unusual or not there completely."""
    found: list[object] = []
    try:
        for _ in range(count):
            one, position = _mutations(data, position, 1)
            found += one
    except (IndexError, struct.error):
        pass
    return found, position


def fast_batches(data: bytes, position: int, count: int) -> tuple[list[object], int]:
    """Up to `count` batches, each as a RowPut where it is one, else as (row, mutations), and the position behind the
    last one, as fast_mutations."""
    found: list[object] = []
    here = position
    several = 0  # mutations, of rows that are more than a put
    column = before_value = b""  # of the last put, and all from its row to the length of its value
    try:
        for _ in range(count):
            mark, length = _STRING(data, here)
            if mark != _ROW:
                break
            start = here + 7
            here = start + length
            row = data[start:here]
            # The usual batch: one put, mostly into the column of the one before it. A cut that reaches beyond the end
            # is not followed by the two ends.
            as_before = before_value and data.startswith(before_value, here)
            if not as_before and data.startswith(_ONE_PUT, here):
                start = here + len(_ONE_PUT) + 4
                stop = start + _LENGTH(data, start - 4)[0]
                column, before_value = data[start:stop], data[here : stop + 3]
                as_before = before_value.endswith(_VALUE)
                if not as_before:
                    before_value = b""
            if as_before:
                start = here + len(before_value) + 4
                stop = start + _LENGTH(data, start - 4)[0]
                if data.startswith(_LOGGED, stop):
                    found.append((row, column, data[start:stop]))
                    here = position = stop + 6
                    continue
            mark, length = _LIST(data, here)
            if mark != b"\x0f\x00\x02\x0c":
                break
            several += length
            if several > _MUTATIONS_AT_ONCE:
                break
            mutations, here = _mutations(data, here + 8, length)
            if data[here]:
                break
            here += 1
            found.append((row, mutations))
            position = here
    except (IndexError, struct.error):
        pass
    return found, position


def _mutations(data: bytes, position: int, count: int) -> tuple[list[object], int]:
    """All of them, or IndexError or struct.error."""
    found: list[object] = []
    for _ in range(count):
        flag, mark, length = _MUTATION(data, position)
        if flag & 0xFFFFFFFE != 0x02000100 or mark != b"\x0b\x00\x02":
            raise IndexError
        start = position + 11
        position = start + length
        column = data[start:position]
        value: bytes | None = None
        if data[position] == 11:
            mark, length = _STRING(data, position)
            if mark != b"\x0b\x00\x03":
                raise IndexError
            start = position + 7
            position = start + length
            value = data[start:position]
        log, stop = _END(data, position)
        if log & 0xFFFFFFFE != 0x02000400 or stop:
            raise IndexError
        position += 5
        found.append((flag & 1, column, value, log & 1))
    return found, position
