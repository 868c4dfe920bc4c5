"""Filters as Java's client serializes them (protocol buffers, HBase's Filter.proto), in the filter language.

Filter { string name = 1; bytes serialized_filter = 2 }, the name being that of a Java class, and in it that class's own
message. What the filter language cannot say is refused.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from hbtable.hbase.errors import BadArgument
from hbtable.model.values import shown

_MAX_DEPTH: Final = 50
_MAX_FILTERS: Final = 1000
_PACKAGE: Final = "org.apache.hadoop.hbase.filter."
_OPERATORS: Final = (b"<", b"<=", b"=", b"!=", b">=", b">")
_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2
_FIXED32: Final = 5
_VARINT_BYTES: Final = 10
"""At most, of a number of 64 bits."""
_LITERAL: Final = 16
_DOTALL: Final = 32
_FLAGS: Final = ((1, "d"), (2, "i"), (4, "x"), (8, "m"), (64, "u"))
_LITERAL_FLAGS: Final = frozenset("iu")
"""Those that mean something beside LITERAL."""
_KNOWN_FLAGS: Final = sum(bit for bit, _ in _FLAGS) | _LITERAL | _DOTALL
_UTF_8: Final = frozenset(("", "UTF-8", "UTF8"))
_JAVA: Final = frozenset(("", "JAVA"))
_SPECIAL: Final = re.compile(rb"[\\^$.|?*+()\[\]{}]")
_COMPARATORS: Final = {"BinaryComparator": b"binary:", "BinaryPrefixComparator": b"binaryprefix:"}

Message = dict[int, list[int | bytes]]


def as_text(serialized: bytes) -> bytes:
    """BadArgument."""
    return _filter(serialized, 0)


def _filter(serialized: bytes, depth: int) -> bytes:
    if depth > _MAX_DEPTH:
        raise BadArgument(f"filterBytes nests filters deeper than {_MAX_DEPTH}")
    outer = _message(serialized)
    name = _text(outer, 1).removeprefix(_PACKAGE)
    inner = _message(_bytes(outer, 2))
    if name in _PLAIN:
        return _PLAIN[name](name.encode(), inner)
    if name == "FilterList":
        return _list(inner, depth)
    if name in ("SkipFilter", "WhileMatchFilter"):
        return b"(%b %b)" % (b"SKIP" if name == "SkipFilter" else b"WHILE", _filter(_bytes(inner, 1), depth + 1))
    raise BadArgument(f"filterBytes holds a {name}, which the filter language cannot say")


def _list(inner: Message, depth: int) -> bytes:
    word = b" AND " if _number(inner, 1, 1) == 1 else b" OR "
    parts = [_filter(one, depth + 1) for one in inner.get(2, ()) if isinstance(one, bytes)]
    if not parts or len(parts) > _MAX_FILTERS:
        raise BadArgument(f"filterBytes holds a FilterList of {len(parts)} filters; there must be 1 to {_MAX_FILTERS}")
    return b"(" + word.join(parts) + b")"


# ---------------------------------------------------------------- one filter each


def _without(name: bytes, _: Message) -> bytes:
    return name + b"()"


def _of_bytes(name: bytes, inner: Message) -> bytes:
    return b"%b(%b)" % (name, _quoted(_bytes(inner, 1)))


def _of_number(name: bytes, inner: Message) -> bytes:
    return b"%b(%d)" % (name, _number(inner, 1))


def _key_only(name: bytes, inner: Message) -> bytes:
    return name + (b"(true)" if _number(inner, 1) else b"()")


def _comparing(name: bytes, inner: Message) -> bytes:
    return b"%b(%b)" % (name, _comparison(_message(_bytes(inner, 1)), 1, 2))


def _prefixes(name: bytes, inner: Message) -> bytes:
    return b"%b(%b)" % (name, b",".join(_quoted(one) for one in inner.get(1, ()) if isinstance(one, bytes)))


def _times(name: bytes, inner: Message) -> bytes:
    found: list[int] = []
    for one in inner.get(1, ()):
        found += _packed(one) if isinstance(one, bytes) else [one]
    return b"%b(%b)" % (name, b",".join(b"%d" % time for time in found))


def _pagination(name: bytes, inner: Message) -> bytes:
    if 3 in inner:
        raise BadArgument("filterBytes holds a ColumnPaginationFilter with a column, which is not supported")
    return b"%b(%d,%d)" % (name, _number(inner, 1), _number(inner, 2))


def _column_range(_: bytes, inner: Message) -> bytes:
    parts = _bounds(b"QualifierFilter", _optional(inner, 1), _number(inner, 2), _optional(inner, 3), _number(inner, 4))
    return parts or b"QualifierFilter(>=,'binary:')"


def _row_ranges(_: bytes, inner: Message) -> bytes:
    ranges = []
    for one in inner.get(1, ()):
        given = _message(one if isinstance(one, bytes) else b"")
        start, stop = _optional(given, 1) or None, _optional(given, 3) or None
        bounds = _bounds(b"RowFilter", start, _number(given, 2, 1), stop, _number(given, 4))
        ranges.append(bounds or b"RowFilter(>=,'binary:')")
    if not ranges or len(ranges) > _MAX_FILTERS // 2:
        raise BadArgument(f"filterBytes holds a MultiRowRangeFilter of {len(ranges)} ranges")
    return b"(" + b" OR ".join(ranges) + b")"


def _bounds(name: bytes, low: bytes | None, with_low: int, high: bytes | None, with_high: int) -> bytes:
    parts = []
    if low is not None:
        parts.append(b"%b(%b,%b)" % (name, b">=" if with_low else b">", _quoted(b"binary:" + low)))
    if high is not None:
        parts.append(b"%b(%b,%b)" % (name, b"<=" if with_high else b"<", _quoted(b"binary:" + high)))
    return b"(" + b" AND ".join(parts) + b")" if parts else b""


def _single_column(name: bytes, inner: Message) -> bytes:
    if name == b"SingleColumnValueExcludeFilter":
        inner = _message(_bytes(inner, 1))
    column = b"%b,%b" % (_quoted(_bytes(inner, 1)), _quoted(_bytes(inner, 2)))
    flags = b"%b,%b" % (_flag(_number(inner, 5)), _flag(_number(inner, 6, 1)))
    return b"%b(%b,%b,%b)" % (name, column, _comparison(inner, 3, 4), flags)


def _column_value(name: bytes, inner: Message) -> bytes:
    column = b"%b,%b" % (_quoted(_bytes(inner, 1)), _quoted(_bytes(inner, 2)))
    return b"%b(%b,%b)" % (name, column, _comparison(inner, 3, 4))


def _dependent(name: bytes, inner: Message) -> bytes:
    column = b"%b,%b,%b" % (_quoted(_bytes(inner, 2)), _quoted(_bytes(inner, 3)), _flag(_number(inner, 4)))
    compare = _message(_bytes(inner, 1))
    if 2 not in compare:
        return b"%b(%b)" % (name, column)
    return b"%b(%b,%b)" % (name, column, _comparison(compare, 1, 2))


_PLAIN: Final[dict[str, Callable[[bytes, Message], bytes]]] = {
    "FirstKeyOnlyFilter": _without,
    "KeyOnlyFilter": _key_only,
    "PrefixFilter": _of_bytes,
    "ColumnPrefixFilter": _of_bytes,
    "InclusiveStopFilter": _of_bytes,
    "PageFilter": _of_number,
    "ColumnCountGetFilter": _of_number,
    "ColumnPaginationFilter": _pagination,
    "MultipleColumnPrefixFilter": _prefixes,
    "TimestampsFilter": _times,
    "ColumnRangeFilter": _column_range,
    "MultiRowRangeFilter": _row_ranges,
    "RowFilter": _comparing,
    "FamilyFilter": _comparing,
    "QualifierFilter": _comparing,
    "ValueFilter": _comparing,
    "SingleColumnValueFilter": _single_column,
    "SingleColumnValueExcludeFilter": _single_column,
    "ColumnValueFilter": _column_value,
    "DependentColumnFilter": _dependent,
}


# ---------------------------------------------------------------- comparisons


def _comparison(inner: Message, operator_field: int, comparator_field: int) -> bytes:
    operator = _number(inner, operator_field)
    if not 0 <= operator < len(_OPERATORS):
        raise BadArgument(f"filterBytes compares by operator {operator}, which the filter language cannot say")
    return b"%b,%b" % (_OPERATORS[operator], _quoted(_comparator(_message(_bytes(inner, comparator_field)))))


def _comparator(outer: Message) -> bytes:
    name = _text(outer, 1).removeprefix(_PACKAGE)
    inner = _message(_bytes(outer, 2))
    if name in _COMPARATORS:
        return _COMPARATORS[name] + _bytes(_message(_bytes(inner, 1)), 1)
    if name == "SubstringComparator":
        return b"substring:" + _bytes(inner, 1)
    if name == "RegexStringComparator":
        return b"regexstring:" + _regex(inner)
    raise BadArgument(f"filterBytes compares by a {name}, which the filter language cannot say")


def _regex(inner: Message) -> bytes:
    """Its pattern, with its flags as the pattern says them itself."""
    flags, charset, engine = _number(inner, 2), _text(inner, 3), _text(inner, 4)
    unknown = flags & ~_KNOWN_FLAGS
    if unknown:
        raise BadArgument(f"filterBytes holds a regular expression with the flag {unknown:#x}, which is not supported")
    if charset.upper() not in _UTF_8:
        raise BadArgument(f"filterBytes holds a regular expression over {shown(charset)}; only UTF-8 is supported")
    if engine.upper() not in _JAVA:
        raise BadArgument(f"filterBytes holds a regular expression of engine {shown(engine)}; only JAVA is supported")
    pattern = _bytes(inner, 1)
    on = "".join(letter for bit, letter in _FLAGS if flags & bit)
    off = "" if flags & _DOTALL else "-s"
    if flags & _LITERAL:
        pattern = _SPECIAL.sub(rb"\\\g<0>", pattern)
        on, off = "".join(letter for letter in on if letter in _LITERAL_FLAGS), ""
    prefix = f"(?{on}{off})" if on or off else ""
    return prefix.encode() + pattern


def _quoted(value: bytes) -> bytes:
    return b"'" + value.replace(b"'", b"''") + b"'"


def _flag(number: int) -> bytes:
    return b"true" if number else b"false"


# ---------------------------------------------------------------- protocol buffers


def _message(data: bytes) -> Message:
    """Fields by number, each in the order in which it came."""
    found: Message = {}
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        kind = key & 7
        value: int | bytes
        if kind == _VARINT:
            value, position = _varint(data, position)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
            value, position = data[position : position + size], position + size
        elif kind == _BYTES:
            size, position = _varint(data, position)
            value, position = data[position : position + size], position + size
        else:
            raise _malformed()
        if position > len(data):
            raise _malformed()
        found.setdefault(key >> 3, []).append(value)
    return found


def _malformed() -> BadArgument:
    return BadArgument("filterBytes is no filter as Java's client serializes it")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    number = 0
    for place, byte in enumerate(data[position : position + _VARINT_BYTES]):
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, position + place + 1
    raise _malformed()


def _packed(data: bytes) -> Sequence[int]:
    found, position = [], 0
    while position < len(data):
        number, position = _varint(data, position)
        found.append(number)
    return found


def _number(found: Message, field: int, default: int = 0) -> int:
    value = found.get(field, (default,))[-1]
    return value if isinstance(value, int) else default


def _optional(found: Message, field: int) -> bytes | None:
    value = found.get(field, (None,))[-1]
    return value if isinstance(value, bytes) else None


def _bytes(found: Message, field: int) -> bytes:
    return _optional(found, field) or b""


def _text(found: Message, field: int) -> str:
    return _bytes(found, field).decode("utf-8", "replace")
