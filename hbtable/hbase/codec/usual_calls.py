r"""Calls on one row, read by comparing them with one that was read before.

A client mostly makes one kind of call again and again: the same table, the same columns, another row, another value.
What stands around the row and the value is compared then, and not decoded once more:

    0b 0001 length table 0b 0002 | length row | ...                                           a read, a delete
    0b 0001 length table 0b 0002 | length row | 0f 0003 ... column 0b 0003 | length value | 02 ...  mutateRow
    0b 0001 length table 0f 0002 ... 0b 0001 | length row | 0f 0002 ... | length value | 02 ...     mutateRows of a put

Between the bars are bytes of any call; all others are those of the call that was learned, so the call has its other
arguments. A length that reaches beyond what is there is noticed by what has to follow it. Every other call is left to
the reader that decodes (thrift/binary_reader.py).
"""

import struct
from typing import Any, Final, NamedTuple, final

from hbtable.thrift.wire import I32, I64, MAP, STOP, STRING

_LENGTH: Final = struct.Struct(">I").unpack_from
_FIELD: Final = struct.Struct(">BH").unpack_from
_FIXED_BYTES: Final = {I32: 7, I64: 11}
_EMPTY_MAP_BYTES: Final = 9
_LEARNS_AFTER: Final = 16
"""Calls that were other ones. To learn takes as long as to read one, and a client may change between two tables."""
_MOST_BYTES: Final = 1024
"""Of what is kept of a call: names of tables and columns are short."""
_ONE_PUT: Final = b"\x0c\x00\x00\x00\x01\x02\x00\x01\x00\x0b\x00\x02"
"""A list of one mutation which is no delete, behind the list's field, up to the length of its column."""
_ONE_BATCH: Final = b"\x0f\x00\x02\x0c\x00\x00\x00\x01\x0b\x00\x01"
"""A list of one batch, up to the length of its row."""
_LOGGED: Final = b"\x02\x00\x04\x01\x00"
"""The end of a mutation that goes to the log."""
_UNKNOWN: Final = b"\xff"
"""No call begins with it."""


@final
class UsualCalls:
    """The call of one method that was learned last. All connections share it."""

    __slots__ = (
        "_before_row", "_before_row_bytes", "_before_value", "_before_value_bytes", "_column", "_end", "_is_batch",
        "_others", "_values",
    )  # fmt: skip

    def __init__(self) -> None:
        self._before_row = _UNKNOWN
        self._before_row_bytes = 0
        """With the length of the row behind it."""
        self._before_value = b""
        """b"": it is no put."""
        self._before_value_bytes = 0
        self._is_batch = False
        self._column = b""
        self._end = b""
        self._values: list[object] = []
        self._others = _LEARNS_AFTER

    def read(self, data: bytes, position: int) -> tuple[list[object], int] | None:
        """The arguments that begin at `position`, and where they end. None: it is another call, or not all of it is
        there. struct.error in the place of None. Hot."""
        if not data.startswith(self._before_row, position):
            return None
        start = position + self._before_row_bytes
        stop = start + _LENGTH(data, start - 4)[0]
        row = data[start:stop]
        values = self._values.copy()
        values[1] = row
        if self._before_value:
            if not data.startswith(self._before_value, stop):
                return None
            start = stop + self._before_value_bytes
            stop = start + _LENGTH(data, start - 4)[0]
            value = data[start:stop]
            if self._is_batch:
                values[1] = [(row, self._column, value)]
            else:
                values[2] = [(0, self._column, value, 1)]
        end = self._end
        return (values, stop + len(end)) if data.startswith(end, stop) else None

    def learn(self, data: bytes, position: int, stop: int, values: list[object]) -> None:
        """Another call was read, from `position` to `stop`: now and then it becomes the usual one, if it is written as
        above, each field once and in order."""
        self._others += 1
        if self._others < _LEARNS_AFTER:
            return
        self._others = 0
        shape = _shape(values)
        if shape is None:
            return
        # Row and value are compared as well: of a field that is there twice the last one counts, and what stands behind
        # the first would be taken for the end of the call.
        told = shape.before_row + _sized(shape.row)
        if shape.before_value:
            told += shape.before_value + _sized(shape.value)
        if not data.startswith(told, position):
            return
        end = data[position + len(told) : stop]
        behind = shape.behind_value
        if not end.startswith(behind) or not _is_end(end[len(behind) :], shape.last_field):
            return
        if len(shape.before_row + shape.before_value + end) > _MOST_BYTES:
            return
        self._before_row, self._before_row_bytes = shape.before_row, len(shape.before_row) + 4
        self._before_value, self._before_value_bytes = shape.before_value, len(shape.before_value) + 4
        self._column, self._is_batch, self._end = shape.column, type(values[1]) is list, end
        # Each call has its own row and value, which may be large.
        self._values = [None if place == 1 or type(one) is list else one for place, one in enumerate(values)]


class _Shape(NamedTuple):
    """The bytes around the row of a call, and around its value where it is a put; with both, as it was written."""

    before_row: bytes
    row: bytes
    before_value: bytes = b""
    value: bytes = b""
    column: bytes = b""
    behind_value: bytes = b""
    """So a put goes on."""
    last_field: int = 2
    """The field of the call that ends with all these."""


def _shape(values: list[Any]) -> _Shape | None:
    table, row, *others = values
    if type(table) is not bytes:
        return None
    before = b"\x0b\x00\x01%b" % _sized(table)
    lists = [place for place, one in enumerate(values) if type(one) is list]
    if type(row) is bytes and not lists:
        return _Shape(before + b"\x0b\x00\x02", row)
    if lists == [1] and len(row) == 1 and type(row[0]) is tuple and len(row[0]) == 3:  # as fast_batches has a put
        row, column, value = row[0]
        before_value = b"\x0f\x00\x02%b%b\x0b\x00\x03" % (_ONE_PUT, _sized(column))
        return _Shape(before + _ONE_BATCH, row, before_value, value, column, _LOGGED + b"\x00")
    if lists == [2] and type(row) is bytes and len(others[0]) == 1 and type(others[0][0]) is tuple:
        is_delete, column, value, to_log = others[0][0]
        if not is_delete and value is not None and to_log:
            before_value = b"\x0f\x00\x03%b%b\x0b\x00\x03" % (_ONE_PUT, _sized(column))
            return _Shape(before + b"\x0b\x00\x02", row, before_value, value, column, _LOGGED, 3)
    return None  # whoever carries the call out may empty its other lists


def _sized(text: bytes) -> bytes:
    return len(text).to_bytes(4, "big") + text


def _is_end(end: bytes, last: int) -> bool:
    """Whether these are fields behind the `last` one, and the end of the call."""
    position = 0
    try:
        while end[position] != STOP:
            kind, field = _FIELD(end, position)
            if field <= last:
                return False
            last = field
            if kind == STRING:
                position += 7 + _LENGTH(end, position + 3)[0]
            elif kind == MAP and not _LENGTH(end, position + 5)[0]:
                position += _EMPTY_MAP_BYTES
            else:
                position += _FIXED_BYTES[kind]
    except (IndexError, KeyError, struct.error):
        return False
    return position + 1 == len(end)
